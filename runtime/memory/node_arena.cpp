#include "runtime/memory/node_arena.hpp"

#include <climits>

#include <ctime>
#include <linux/futex.h>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace nodeaware {

static_assert(std::atomic<uint64_t>::is_always_lock_free &&
                  std::atomic<uint32_t>::is_always_lock_free,
              "atomics are shared between processes");

struct NodeArena::Layout {
    explicit Layout(const Shape& shape)
        : set_bytes((shape.bytes + 63) / 64 * 64),
          counters_at(sizeof(Control) + sizeof(RankLine) * static_cast<size_t>(shape.ranks)),
          data_at(counters_at + sizeof(Counter) * 2 * (shape.counters + shape.nodes + 1)) {}

    uint64_t set_bytes;
    size_t counters_at;
    size_t data_at;
};

size_t NodeArena::bytes_of(const Shape& shape) {
    const Layout layout(shape);
    return layout.data_at + 2 * layout.set_bytes;
}

void NodeArena::attach(SharedMemory memory, const Shape& shape, int own) {
    const Layout layout(shape);
    memory_ = std::move(memory);
    shape_ = shape;
    shape_.bytes = layout.set_bytes;
    own_ = own;
    // All of it is zero, which is how the atomics begin; nothing is written, so that unused pages
    // stay unused.
    std::byte* const begin = memory_.data();
    control_ = std::launder(reinterpret_cast<Control*>(begin));
    ranks_ = std::launder(reinterpret_cast<RankLine*>(begin + sizeof(Control)));
    counters_ = std::launder(reinterpret_cast<Counter*>(begin + layout.counters_at));
    data_ = begin + layout.data_at;
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

bool NodeArena::sleep(uint32_t bell, uint32_t microseconds) {
    const timespec limit{microseconds / 1000000, static_cast<long>(microseconds % 1000000) * 1000};
    control_->sleepers.fetch_add(1, std::memory_order_seq_cst);
    // Interrupted, timed out or rung: the caller looks at its conditions again in any case.
    syscall(SYS_futex, &control_->bell, FUTEX_WAIT, bell, &limit, nullptr, 0);
    control_->sleepers.fetch_sub(1, std::memory_order_seq_cst);
    return this->bell() != bell;
}

} // namespace nodeaware
