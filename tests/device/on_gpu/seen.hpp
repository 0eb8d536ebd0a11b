#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

// What there is by the calls that have passed. With the lock of the driver.

struct Allocation {
    std::size_t bytes = 0;
    void* context = nullptr; ///< that was current
};
struct PinnedHere {
    std::size_t bytes = 0;
    void* context = nullptr;
    bool is_registered = false; ///< or allocated so
};
struct Opened {
    int times = 0;
    void* context = nullptr;
};
struct Seen {
    std::map<std::uint64_t, Allocation> allocations;
    std::map<std::uint64_t, Opened> imports;
    std::map<std::uintptr_t, PinnedHere> pinned;
    std::map<void*, void*> events, streams, modules; ///< and their contexts
    std::set<std::uint64_t> synchronous;             ///< by their numbers
};
/// There until the process has ended.
Seen& seen();

/// Of this thread, as the driver tells; nullptr: none. Without the lock.
void* context_now();
/// It is over, and with it all that it had.
void forget(const void* context);
/// A short piece that was freed and is kept, to be found again (memory.cpp), was in it.
void forget_kept(const void* context);
