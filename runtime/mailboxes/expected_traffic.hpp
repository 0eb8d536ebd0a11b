#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace nodeaware {

/// What the ranks of a node send to each other node again and again, as far as they have said: what
/// each has sent in its last batch that repeats. Layout over memory that is given, zero at first.
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
            .store(uint64_t{traffic.messages} << 32 | bytes, std::memory_order_relaxed);
    }
    Traffic of(int node, int rank) const {
        const uint64_t word = share(node, rank).load(std::memory_order_relaxed);
        return {static_cast<uint32_t>(word >> 32), word & ~uint32_t{0}};
    }
    /// Of all ranks.
    uint64_t messages(int node) const {
        uint64_t sum = 0;
        for (int rank = 0; rank < ranks_; ++rank) { sum += of(node, rank).messages; }
        return sum;
    }

  private:
    using Share = std::atomic<uint64_t>;

    Share& share(int node, int rank) const {
        return std::launder(reinterpret_cast<Share*>(memory_))[node * ranks_ + rank];
    }

    int nodes_;
    int ranks_;
    std::byte* memory_ = nullptr;
};

} // namespace nodeaware
