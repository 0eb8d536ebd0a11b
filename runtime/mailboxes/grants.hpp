#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <sched.h>
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
    /// What travelled there will do so another way: give() is not to tell. If it is about to, that
    /// is over when this returns.
    void forget(int node, int rank, uint32_t number) {
        Cell& place = cell(node, rank, number);
        for (uint32_t used = place.load(); used >= first_used; used = place.load()) {
            const bool is_telling = (used & telling) != 0;
            if (!is_telling && place.compare_exchange_strong(used, forgotten)) { return; }
            if (is_telling) { sched_yield(); }
        }
    }
    /// It is ready (again). Before that `tell` is called with what travelled there, if anything
    /// did; it needs nothing but the processor.
    template <class Tell> void give(int node, int rank, uint32_t number, Tell tell) {
        Cell& place = cell(node, rank, number);
        const uint32_t before = place.fetch_or(telling);
        if (before >= first_used && before < forgotten) { tell(before - first_used); }
        place.store(ready, std::memory_order_release);
    }
    std::optional<uint32_t> give(int node, int rank, uint32_t number) {
        std::optional<uint32_t> travelled;
        give(node, rank, number, [&](uint32_t outgoing) { travelled = outgoing; });
        return travelled;
    }

  private:
    using Cell = std::atomic<uint32_t>;
    static constexpr uint32_t ready = 1; ///< 0: not granted
    static constexpr uint32_t first_used = 2;
    static constexpr uint32_t telling = uint32_t{1} << 31U;
    static constexpr uint32_t forgotten = telling - 1;

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
