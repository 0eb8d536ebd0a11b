#pragma once

#include "runtime/memory/shared_memory.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace nodeaware {

/// What the ranks of one node share for one communicator: a barrier, a bell to wake sleepers, a
/// line for each rank, and for operations with even and with odd numbers each a set of counters and
/// memory for messages. Two sets are enough: a rank begins operation n+2 only when all have
/// finished operation n.
class NodeArena {
  public:
    struct Shape {
        int ranks = 0;
        uint32_t counters = 0;
        uint32_t nodes = 0;
        uint64_t bytes = 0; ///< of each of the two sets
    };

    static size_t bytes_of(const Shape& shape);
    /// Lays the arena out in memory of so many bytes, all of them zero at first, that the ranks of
    /// the node share; this is the `own`-th.
    void attach(SharedMemory memory, const Shape& shape, int own);

    std::byte* data(uint32_t operation) const { return data_ + (operation % 2) * shape_.bytes; }
    const Shape& shape() const { return shape_; }
    const SharedMemory& memory() const { return memory_; }
    /// It stays mapped until the process ends.
    void leave_mapped() { memory_.leave_mapped(); }

    /// What a rank tells the others at the beginning of an operation.
    struct Announcement {
        std::atomic<uint64_t> traffic{0};    ///< number of its traffic, see Agreement
        std::atomic<uint64_t> list_bytes{0}; ///< size of the list of its messages
    };
    Announcement& announcement(uint32_t operation, int local) const;

    /// Barrier. arrive() returns what all_arrived() wants to know; the last rank to arrive has to
    /// ring the bell.
    uint64_t arrive();
    bool all_arrived(uint64_t ticket) const {
        return control_->arrivals.load(std::memory_order_acquire) >= ticket;
    }

    void disagree(uint32_t operation) {
        control_->disagreements[operation % 2].value.fetch_add(1, std::memory_order_relaxed);
    }
    /// To be asked once an operation, after a barrier: true if any rank has disagreed since the
    /// last time.
    bool anyone_disagreed(uint32_t operation);

    uint32_t counter(uint32_t operation, int32_t number) const {
        return counter_at(operation, number).load(std::memory_order_acquire);
    }
    /// Wakes all that sleep, if `wakes_at` is 0 or what the counter gets to.
    void signal(uint32_t operation, int32_t number, uint32_t wakes_at = 0) {
        const uint32_t before =
            counter_at(operation, number).fetch_add(1, std::memory_order_release);
        if (wakes_at == 0 || before + 1 == wakes_at) { ring(); }
    }
    /// The ranks of this node no longer wait for anything from `node` in this operation: its idea
    /// of the traffic is another one.
    void give_up(uint32_t operation, int node);
    bool given_up(uint32_t operation, int node) const {
        return counter(operation, given_up_counter(node)) != 0;
    }
    /// How often ranks have given up on any node.
    uint32_t given_up_count(uint32_t operation) const {
        return counter(operation, given_up_counter(static_cast<int>(shape_.nodes)));
    }

    /// Zeroes this rank's share of the first `used` counters of the set that `operation` will use.
    /// To be called when all ranks have arrived in the operation before it.
    void reset_counters(uint32_t operation, uint32_t used);

    /// Wakes all that sleep. What they wait for must have been stored before.
    void ring();
    /// State of the bell: to be read before the conditions are checked that sleep() is to wait for.
    uint32_t bell() const { return control_->bell.load(std::memory_order_seq_cst); }
    /// Sleeps until the bell rings (if it has not rung since `bell` was read), at most
    /// `microseconds`. True if it has rung.
    bool sleep(uint32_t bell, uint32_t microseconds);

  private:
    struct alignas(64) Line {
        std::atomic<uint64_t> value{0};
    };
    struct alignas(64) Counter {
        std::atomic<uint32_t> value{0};
    };
    struct Control {
        alignas(64) std::atomic<uint64_t> arrivals{0};
        std::array<Line, 2> disagreements;
        alignas(64) std::atomic<uint32_t> bell{0};
        std::atomic<uint32_t> sleepers{0};
    };
    struct alignas(64) RankLine {
        std::array<Announcement, 2> announcements;
    };

    /// Where the parts are.
    struct Layout;

    /// Counters of a schedule, one for each node that may be given up, and one for all of them.
    uint32_t all_counters() const { return shape_.counters + shape_.nodes + 1; }
    int32_t given_up_counter(int node) const {
        return static_cast<int32_t>(shape_.counters) + node;
    }
    std::atomic<uint32_t>& counter_at(uint32_t operation, int32_t number) const {
        return counters_[(operation % 2) * all_counters() + static_cast<uint32_t>(number)].value;
    }

    SharedMemory memory_;
    Shape shape_;
    int own_ = 0;
    uint64_t barriers_ = 0;
    std::array<uint64_t, 2> known_disagreements_{};
    Control* control_ = nullptr;
    RankLine* ranks_ = nullptr;
    Counter* counters_ = nullptr;
    std::byte* data_ = nullptr;
};

} // namespace nodeaware
