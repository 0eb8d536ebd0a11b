#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>

namespace nodeaware {

/// Which cells of other nodes the ranks of this node may send containers to: what each has been
/// granted, and for what it was used. Layout over memory that is given, zero at first.
class Grants {
  public:
    static constexpr uint32_t cells = 4; ///< for each rank on each other node

    Grants(int nodes, int ranks) : nodes_(nodes), ranks_(ranks) {}
    uint64_t memory_bytes() const {
        return static_cast<uint64_t>(nodes_) * static_cast<uint64_t>(ranks_) * cells * sizeof(Cell);
    }
    void attach(std::byte* memory) { memory_ = memory; }

    bool has(int node, int rank) const {
        for (uint32_t i = 0; i < cells; ++i) {
            if (cell(node, rank, i).load(std::memory_order_acquire) == ready) { return true; }
        }
        return false;
    }
    /// A cell that is ready, by the rank that it was granted; `outgoing` is what travels there.
    std::optional<uint32_t> take(int node, int rank, uint32_t outgoing) {
        for (uint32_t i = 0; i < cells; ++i) {
            uint32_t expected = ready;
            if (cell(node, rank, i).compare_exchange_strong(expected, first_used + outgoing)) {
                return i;
            }
        }
        return std::nullopt;
    }
    /// As many as there are, and are asked for; how many these are.
    size_t take(int node, int rank, uint32_t outgoing, std::span<uint32_t> taken) {
        for (size_t i = 0; i < taken.size(); ++i) {
            const auto number = take(node, rank, outgoing);
            if (!number) { return i; }
            taken[i] = *number;
        }
        return taken.size();
    }
    /// What travelled there will do so another way: give() is not to tell.
    void forget(int node, int rank, uint32_t number) {
        uint32_t used = cell(node, rank, number).load(std::memory_order_acquire);
        while (used >= first_used &&
               !cell(node, rank, number).compare_exchange_weak(used, forgotten)) {}
    }
    /// It is ready (again). What travelled there, if anything did.
    std::optional<uint32_t> give(int node, int rank, uint32_t number) {
        const uint32_t before = cell(node, rank, number).exchange(ready);
        if (before < first_used || before == forgotten) { return std::nullopt; }
        return before - first_used;
    }

  private:
    using Cell = std::atomic<uint32_t>;
    static constexpr uint32_t ready = 1; ///< 0: not granted
    static constexpr uint32_t first_used = 2;
    static constexpr uint32_t forgotten = ~uint32_t{0};

    Cell& cell(int node, int rank, uint32_t number) const {
        const auto at = static_cast<uint64_t>(node) * static_cast<uint64_t>(ranks_) +
                        static_cast<uint64_t>(rank);
        return *std::launder(reinterpret_cast<Cell*>(memory_) + at * cells + number);
    }

    int nodes_;
    int ranks_;
    std::byte* memory_ = nullptr;
};

} // namespace nodeaware
