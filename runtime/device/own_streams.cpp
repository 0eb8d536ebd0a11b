#include "runtime/device/own_streams.hpp"

#include "runtime/device/contexts.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/job/log.hpp"

#include <array>
#include <map>
#include <mutex>
#include <new>

namespace nodeaware::device::own_streams {

namespace {

struct Streams {
    std::array<void*, 2> handles{}; ///< nullptr: none
    std::array<bool, 2> are_tried{};
};

/// By the number of the context: those of a context that is gone are gone with it.
struct All {
    std::mutex mutex;
    std::map<ContextNumber, Streams> made;
};
All& all() {
    static auto* const streams = new All;
    return *streams;
}

void* make() {
    constexpr unsigned non_blocking = 1;
    void* made = nullptr;
    const int code = driver()->stream_create(&made, non_blocking);
    if (code == 0) { return made; }
    log(LogLevel::info, "copies in both directions share a stream: {}",
        driver()->text_of(code, "cuStreamCreate"));
    return nullptr;
}

} // namespace

void* find(Direction direction) {
    if (driver()->stream_wait_event == nullptr) { return nullptr; }
    const ContextNumber number = number_of_current_context();
    if (number == 0) { return nullptr; }
    const size_t which = direction == Direction::to_device ? 0 : 1;
    All& streams = all();
    const std::lock_guard lock(streams.mutex);
    try {
        Streams& here = streams.made[number];
        if (!here.are_tried[which]) {
            here.are_tried[which] = true;
            here.handles[which] = make();
        }
        return here.handles[which];
    } catch (const std::bad_alloc&) { return nullptr; } // as where there is none
}

void close() {
    All& streams = all();
    const std::lock_guard lock(streams.mutex);
    if (streams.made.empty()) { return; }
    in_each_primary_context([&](ContextNumber number) {
        const auto found = streams.made.find(number);
        if (found == streams.made.end()) { return; }
        for (void* const stream : found->second.handles) {
            if (stream != nullptr) { driver()->stream_destroy(stream); }
        }
    });
    streams.made.clear();
}

} // namespace nodeaware::device::own_streams
