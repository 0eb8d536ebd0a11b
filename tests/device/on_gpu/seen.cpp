#include "tests/device/on_gpu/seen.hpp"

#include "tests/device/on_gpu/real.hpp"

#include <algorithm>
#include <mutex>

Seen& seen() {
    static auto* const all = new Seen;
    return *all;
}

void* context_now() {
    void* context = nullptr;
    return REAL(cuCtxGetCurrent)(&context) == success ? context : nullptr;
}

void forget(const void* context) {
    const auto is_of_context = [&](const auto& one) { return one.second.context == context; };
    const auto is_in_context = [&](const auto& one) { return one.second == context; };
    Seen& all = seen();
    std::erase_if(all.allocations, is_of_context);
    std::erase_if(all.imports, is_of_context);
    std::erase_if(all.pinned, is_of_context);
    std::erase_if(all.events, is_in_context);
    std::erase_if(all.streams, is_in_context);
    std::erase_if(all.modules, is_in_context);
    forget_kept(context);
}

// What only a driver can know stays 0: copies under way, memory that is freed too early or while
// others have it open, what is pinned and gone, or copied by a fork.
extern "C" __attribute__((visibility("default"))) StandInCounts stand_in_counts() {
    const std::lock_guard lock(driver_mutex());
    const Seen& all = seen();
    // Of two devices that are one, each has what is in the context of both.
    const std::uint64_t names = is_one_device() ? 2 : 1;
    StandInCounts now = counts();
    now.events = all.events.size();
    now.streams = names * all.streams.size();
    now.modules = names * all.modules.size();
    now.pinned = static_cast<std::uint64_t>(
        std::count_if(all.pinned.begin(), all.pinned.end(),
                      [](const auto& one) { return one.second.is_registered; }));
    return now;
}
extern "C" __attribute__((visibility("default"))) std::size_t stand_in_allocations() {
    const std::lock_guard lock(driver_mutex());
    return seen().allocations.size();
}
extern "C" __attribute__((visibility("default"))) std::size_t stand_in_imports() {
    const std::lock_guard lock(driver_mutex());
    return seen().imports.size();
}
