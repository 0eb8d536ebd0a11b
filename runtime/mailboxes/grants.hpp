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
        return senders() * (cells * sizeof(Cell) + sizeof(Time)) +
               static_cast<uint64_t>(nodes_) * sizeof(Time);
    }
    void attach(std::byte* memory) { memory_ = memory; }

    bool has(int node, int rank, double seconds = 0) const {
        if (is_avoided(node, rank, seconds)) { return false; }
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
    /// The rank's keeper there is slow: others of this node should send, until then, if they can.
    void avoid(int node, int rank, double until) {
        avoided_until(node, rank).store(until, std::memory_order_relaxed);
    }
    bool is_avoided(int node, int rank, double seconds) const {
        return avoided_until(node, rank).load(std::memory_order_relaxed) > seconds;
    }
    /// It has been granted cells, ready or not, and its keeper is not avoided.
    bool is_of_use(int node, int rank, double seconds) const {
        return cell(node, rank, 0).load(std::memory_order_relaxed) != 0 &&
               !is_avoided(node, rank, seconds);
    }
    /// What was sent to that node then has come back: what was sent long before it, and has not,
    /// was overtaken.
    void came_back(int node, double sent_at) {
        Time& latest = last_back(node);
        double known = latest.load(std::memory_order_relaxed);
        while (sent_at > known &&
               !latest.compare_exchange_weak(known, sent_at, std::memory_order_relaxed)) {}
    }
    double latest_back(int node) const { return last_back(node).load(std::memory_order_relaxed); }
    /// The rank whose cell `outgoing` has travelled to.
    std::optional<int> user(int node, uint32_t outgoing) const {
        for (int rank = 0; rank < ranks_; ++rank) {
            for (uint32_t i = 0; i < cells; ++i) {
                if (cell(node, rank, i).load() == first_used + outgoing) { return rank; }
            }
        }
        return std::nullopt;
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
    using Time = std::atomic<double>;
    static constexpr uint32_t ready = 1; ///< 0: not granted
    static constexpr uint32_t first_used = 2;
    static constexpr uint32_t telling = uint32_t{1} << 31U;
    static constexpr uint32_t forgotten = telling - 1;

    uint64_t senders() const {
        return static_cast<uint64_t>(nodes_) * static_cast<uint64_t>(ranks_);
    }
    uint64_t sender(int node, int rank) const {
        return static_cast<uint64_t>(node) * static_cast<uint64_t>(ranks_) +
               static_cast<uint64_t>(rank);
    }
    Cell& cell(int node, int rank, uint32_t number) const {
        return *std::launder(reinterpret_cast<Cell*>(memory_) + sender(node, rank) * cells +
                             number);
    }
    Time& time(uint64_t number) const {
        return *std::launder(reinterpret_cast<Time*>(memory_ + senders() * cells * sizeof(Cell)) +
                             number);
    }
    Time& avoided_until(int node, int rank) const { return time(sender(node, rank)); }
    Time& last_back(int node) const { return time(senders() + static_cast<uint64_t>(node)); }

    int nodes_;
    int ranks_;
    std::byte* memory_ = nullptr;
};

} // namespace nodeaware
