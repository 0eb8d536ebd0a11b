#pragma once

#include <cstddef>
#include <cstdint>

// Memory of the host that is pinned. With the lock of the driver.

enum class Reach { none, all, part };
/// How much of it lies in what was pinned at once.
Reach reach_of(const char* begin, std::size_t bytes);

struct PinnedRange {
    const char* begin = nullptr; ///< nullptr: the address is not pinned
    std::size_t bytes = 0;
    void* context = nullptr;
};
PinnedRange pinned_range(std::uint64_t address);
