#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace nodeaware {

/// What the ranks of a node send to each other node again and again, as far as they have said: what
/// each has sent in its last batch that repeats, whether that goes through the cells, and when it
/// did last. Layout over memory that is given, zero at first.
class ExpectedTraffic {
  public:
    ExpectedTraffic(int nodes, int ranks) : nodes_(nodes), ranks_(ranks) {}
    uint64_t memory_bytes() const {
        return static_cast<uint64_t>(nodes_) * static_cast<uint64_t>(ranks_) * sizeof(Share);
    }
    void attach(std::byte* memory) { memory_ = memory; }

    struct Traffic {
        uint32_t messages = 0; ///< small ones
        uint64_t bytes = 0;    ///< of them
    };
    void set(int node, int rank, const Traffic& traffic) {
        const uint64_t bytes = std::min<uint64_t>(traffic.bytes, ~uint32_t{0});
        share(node, rank)
            .traffic.store(uint64_t{traffic.messages} << 32 | bytes, std::memory_order_relaxed);
    }
    Traffic of(int node, int rank) const {
        const uint64_t word = share(node, rank).traffic.load(std::memory_order_relaxed);
        return {static_cast<uint32_t>(word >> 32), word & ~uint32_t{0}};
    }
    /// Of all ranks.
    uint64_t messages(int node) const {
        uint64_t sum = 0;
        for (int rank = 0; rank < ranks_; ++rank) { sum += of(node, rank).messages; }
        return sum;
    }

    /// Connections of a rank to that node whose messages go through the cells.
    void connect(int node, int rank, int by) { share(node, rank).connections.fetch_add(by); }
    /// The rank has put something into the container of that generation. True if nothing before.
    bool put(int node, int rank, uint32_t generation) {
        return share(node, rank).last_put.exchange(generation + 1) != generation + 1;
    }
    bool has_put(int node, int rank, uint32_t generation) const {
        return share(node, rank).last_put.load(std::memory_order_relaxed) == generation + 1;
    }
    /// It may put something into that one, and has not.
    bool is_missing(int node, int rank, uint32_t generation) const {
        return share(node, rank).connections.load(std::memory_order_relaxed) > 0 &&
               of(node, rank).messages > 0 && !has_put(node, rank, generation);
    }

  private:
    struct Share {
        std::atomic<uint64_t> traffic{0};
        std::atomic<int32_t> connections{0};
        std::atomic<uint32_t> last_put{0}; ///< generation + 1; 0: none yet
    };

    Share& share(int node, int rank) const {
        return std::launder(reinterpret_cast<Share*>(memory_))[node * ranks_ + rank];
    }

    int nodes_;
    int ranks_;
    std::byte* memory_ = nullptr;
};

} // namespace nodeaware
