#include "runtime/memory/node_arena.hpp"

#include <climits>

#include <ctime>
#include <linux/futex.h>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>

namespace nodeaware {

static_assert(std::atomic<uint64_t>::is_always_lock_free &&
                  std::atomic<uint32_t>::is_always_lock_free,
              "atomics are shared between processes");

bool NodeArena::create(const LocalGroup& group, const Shape& shape) {
    shape_ = shape;
    shape_.bytes = (shape.bytes + 63) / 64 * 64;
    own_ = group.own();
    const size_t ranks_at = sizeof(Control);
    const size_t counters_at = ranks_at + sizeof(RankLine) * static_cast<size_t>(shape.ranks);
    const size_t data_at = counters_at + sizeof(Counter) * 2 * all_counters();
    memory_ = SharedMemory::create(group, data_at + 2 * shape_.bytes);
    if (memory_.data() == nullptr) { return false; }
    // All of it is zero, which is how the atomics begin; nothing is written, so that unused pages
    // stay unused.
    control_ = std::launder(reinterpret_cast<Control*>(memory_.data()));
    ranks_ = std::launder(reinterpret_cast<RankLine*>(memory_.data() + ranks_at));
    counters_ = std::launder(reinterpret_cast<Counter*>(memory_.data() + counters_at));
    data_ = memory_.data() + data_at;
    return true;
}

NodeArena::Announcement& NodeArena::announcement(uint32_t operation, int local) const {
    return ranks_[local].announcements[operation % 2];
}

uint64_t NodeArena::arrive() {
    const auto ranks = static_cast<uint64_t>(shape_.ranks);
    const uint64_t ticket = ++barriers_ * ranks;
    control_->arrivals.fetch_add(1, std::memory_order_acq_rel);
    return ticket;
}

bool NodeArena::anyone_disagreed(uint32_t operation) {
    const uint64_t now =
        control_->disagreements[operation % 2].value.load(std::memory_order_relaxed);
    uint64_t& known = known_disagreements_[operation % 2];
    const bool changed = now != known;
    known = now;
    return changed;
}

void NodeArena::give_up(uint32_t operation, int node) {
    counter_at(operation, given_up_counter(node)).store(1, std::memory_order_release);
    signal(operation, given_up_counter(static_cast<int>(shape_.nodes)));
}

void NodeArena::reset_counters(uint32_t operation, uint32_t used) {
    const auto zero_share_of = [&](uint32_t begin, uint32_t end) {
        for (auto i = begin + static_cast<uint32_t>(own_); i < end;
             i += static_cast<uint32_t>(shape_.ranks)) {
            counter_at(operation, static_cast<int32_t>(i)).store(0, std::memory_order_relaxed);
        }
    };
    zero_share_of(0, used);
    zero_share_of(shape_.counters, all_counters());
}

void NodeArena::ring() {
    control_->bell.fetch_add(1, std::memory_order_seq_cst);
    if (control_->sleepers.load(std::memory_order_seq_cst) > 0) {
        syscall(SYS_futex, &control_->bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }
}

void NodeArena::sleep(uint32_t bell, uint32_t microseconds) {
    const timespec limit{microseconds / 1000000, static_cast<long>(microseconds % 1000000) * 1000};
    control_->sleepers.fetch_add(1, std::memory_order_seq_cst);
    // Interrupted, timed out or rung: the caller looks at its conditions again in any case.
    syscall(SYS_futex, &control_->bell, FUTEX_WAIT, bell, &limit, nullptr, 0);
    control_->sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

} // namespace nodeaware
