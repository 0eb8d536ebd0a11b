#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
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
        return sizeof(Together) + static_cast<uint64_t>(nodes_) * sizeof(Window) +
               static_cast<uint64_t>(nodes_) * static_cast<uint64_t>(ranks_) * sizeof(Share);
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

    /// A message that could travel with others of up to `seconds` before.
    void sent(int node, double now, double seconds) {
        std::atomic<double>& begun = window(node).begun;
        const bool is_first = now - begun.load(std::memory_order_relaxed) > seconds;
        if (is_first) {
            begun.store(now, std::memory_order_relaxed);
            together().windows.fetch_add(1, std::memory_order_relaxed);
        }
        const uint32_t count = together().messages.fetch_add(1, std::memory_order_relaxed) + 1;
        if (count < recent) { return; } // older ones count less
        together().messages.store(count / 2, std::memory_order_relaxed);
        together().windows.store(together().windows.load() / 2, std::memory_order_relaxed);
    }
    /// Of the node's recent messages, those that there would be less.
    double saved_share() const {
        const double messages = together().messages.load(std::memory_order_relaxed);
        return messages == 0 ? 0 : 1 - together().windows.load() / messages;
    }
    /// What that is at least, as far as so few messages tell: programs often begin with all ranks
    /// at once.
    double surely_saved_share() const {
        constexpr double deviations = 1.5;
        const double messages = together().messages.load(std::memory_order_relaxed);
        const double share = std::max(saved_share(), 0.0);
        return messages == 0 ? 0 : share - deviations * std::sqrt(share * (1 - share) / messages);
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
    bool is_anybody_missing(int node, uint32_t generation) const {
        for (int rank = 0; rank < ranks_; ++rank) {
            if (is_missing(node, rank, generation)) { return true; }
        }
        return false;
    }

  private:
    struct Share {
        std::atomic<uint64_t> traffic{0};
        std::atomic<int32_t> connections{0};
        std::atomic<uint32_t> last_put{0}; ///< generation + 1; 0: none yet
    };

    static constexpr uint32_t recent = 1024;
    struct alignas(64) Window {
        std::atomic<double> begun{0};
    };
    struct alignas(64) Together {
        std::atomic<uint32_t> messages{0};
        std::atomic<uint32_t> windows{0};
    };

    Together& together() const { return *std::launder(reinterpret_cast<Together*>(memory_)); }
    Window& window(int node) const {
        return std::launder(reinterpret_cast<Window*>(memory_ + sizeof(Together)))[node];
    }
    Share& share(int node, int rank) const {
        std::byte* const first =
            memory_ + sizeof(Together) + static_cast<uint64_t>(nodes_) * sizeof(Window);
        return std::launder(reinterpret_cast<Share*>(first))[node * ranks_ + rank];
    }

    int nodes_;
    int ranks_;
    std::byte* memory_ = nullptr;
};

} // namespace nodeaware
