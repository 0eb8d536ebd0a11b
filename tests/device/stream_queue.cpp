#include "tests/device/stream_queue.hpp"

#include "tests/device/driver_function.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

void StreamQueue::add(Copy copy) {
    const bool are_timed = copies_take_time();
    copy.given = are_timed ? now() : 0;
    under_way_.push_back(std::move(copy));
    ++begun_;
    if (are_timed) { schedule(); }
}

/// Says when copies will be over, as far as that is known by now.
void StreamQueue::schedule() {
    Time before = ended_at_;
    for (Copy& copy : under_way_) {
        if (copy.end == not_known) { copy.end = find_end(copy, before); }
        if (copy.end == not_known) { return; }
        before = copy.end;
    }
}

/// Of a copy that comes after one which is over at `before`. The device has begun it when it could,
/// though nobody has looked since.
Time StreamQueue::find_end(const Copy& copy, Time before) const {
    const Time ready = std::max(copy.given, before);
    if (copy.awaited != nullptr) {
        const bool is_over = copy.awaited->has_ended(copy.awaited_copies);
        return is_over ? std::max(ready, copy.awaited->ended_at_) : not_known;
    }
    if (copy.direction == within_device) { return ready; }
    return reserve_engine(copy.device, copy.direction, copy.rows * copy.bytes, ready);
}

void StreamQueue::end_first() {
    const Copy& first = under_way_.front();
    if (first.work) {
        first.work();
    } else if (first.bytes > 0) {
        const char* const from = first.from != nullptr ? first.from : first.read.data();
        for (std::size_t row = 0; row < first.rows; ++row) {
            std::memcpy(first.to + row * first.to_stride, from + row * first.from_stride,
                        first.bytes);
        }
    }
    ended_at_ = first.end;
    under_way_.pop_front();
    ++ended_;
}

bool StreamQueue::has_ended(std::uint64_t last) {
    if (ended_ >= last) { return true; }
    schedule();
    while (ended_ < last) {
        const Time end = under_way_.front().end;
        if (end == not_known || end > now()) { return false; }
        end_first();
        schedule();
    }
    return true;
}

void StreamQueue::end_up_to(std::uint64_t last) {
    const bool are_timed = copies_take_time();
    while (are_timed ? !has_ended(last) : ended_ < last) {
        const Copy& first = under_way_.front();
        const Time end = first.end;
        if (first.awaited != nullptr) {
            first.awaited->end_up_to(first.awaited_copies);
        } else if (are_timed) {
            driver_mutex().unlock();
            wait_until(end);
            driver_mutex().lock();
        }
        if (!are_timed) { end_first(); }
    }
}
