#pragma once

#include "runtime/mailboxes/container.hpp"
#include "runtime/mailboxes/grants.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace nodeaware {

/// Memory of a node into which MPI puts the containers that come from other nodes: a few cells for
/// each rank there that has been granted them. One rank of this node, the keeper, has a receive
/// posted for each cell; every rank sees by the content that a container has landed, and takes out
/// what is its own. Layout over memory that is given, zero at first.
///
/// A cell waits for one container after the other, numbered by generation from 1 on.
class IncomingCells {
  public:
    static constexpr uint32_t cells = Grants::cells; ///< for each sender

    /// `senders`: ranks on other nodes, of which `slots` can be granted cells; `ranks` on this one.
    /// `cell_bytes`: a multiple of 64.
    IncomingCells(int senders, int slots, int ranks, uint32_t cell_bytes);
    uint64_t memory_bytes() const;
    void attach(std::byte* memory) { memory_ = memory; }

    struct Place {
        int slot = 0; ///< of the sender
        uint32_t cell = 0;
    };
    std::span<std::byte> memory(const Place& place) const;

    /// From now on the cells of the sender, as numbered among all ranks on other nodes, are looked
    /// at. By its keeper. Returns its slot, or nothing: there is none left.
    std::optional<int> grant(int sender);
    int granted() const;         ///< slots
    int granted(int slot) const; ///< the sender

    /// True: a container has landed there and nobody has sorted it; the caller looks at what it
    /// says and then calls sorted(), whatever happens.
    bool begin_sorting(const Place& place) noexcept;
    void sorted(const Place& place, double seconds) noexcept;
    /// The items of the container in the cell for one rank, if nobody has claimed them.
    std::span<const std::byte> items(const Place& place, int rank) const;
    /// The same, if they are still so many bytes: whoever is first, the rank itself or one that
    /// moves them out of the cell, copies them and calls one of the next two. Since items() was
    /// called others may have been taken, and the next container may have landed.
    std::span<const std::byte> claim(const Place& place, int rank, uint64_t bytes);
    void taken(const Place& place, int rank);
    void moved(const Place& place);
    /// It has taken what was moved.
    void took_moved(int rank);
    /// Calls `look(rank, bytes)` with each rank whose items have been in the cell since before
    /// then.
    template <class Look> void for_each_late(const Place& place, double since, Look look) const;
    /// There is something for it in any of the cells.
    bool has_items(int rank) const;

    /// Everybody has taken what is theirs.
    bool is_empty(const Place& place) const;
    /// By the keeper, before it posts the receive for the next.
    void next(const Place& place);

    /// Cells that are ready again and whose sender has not been told: by the keeper, and by whoever
    /// tells it, all at once. A bit for each.
    void owe(int sender, uint32_t cell);
    uint32_t owed(int sender) const;
    uint32_t take_owed(int sender);

  private:
    /// In front of what is said of a cell, which lies apart from what MPI writes to: the ranges of
    /// the container that are for each rank follow.
    struct Control {
        std::atomic<uint64_t> word{0};      ///< generation less 1, state
        std::atomic<uint64_t> remaining{0}; ///< ranks that have something to take
        std::atomic<double> landed_at{0};
    };
    using Range = std::atomic<uint64_t>; ///< offset and bytes; 0: nothing
    static constexpr uint64_t state_mask = 3;
    static constexpr uint64_t landed = 2;

    uint64_t index(const Place& place) const;
    Control& control(const Place& place) const;
    Range& range(const Place& place, int rank) const;
    std::atomic<uint32_t>& untaken(int rank) const;
    template <class Value> Value& value(uint64_t at) const;

    uint64_t slots_;
    uint64_t ranks_;
    uint64_t cell_bytes_;
    uint64_t control_bytes_; ///< of a cell
    uint64_t list_at_;       ///< how many senders have been granted cells, then which
    uint64_t owed_at_;
    uint64_t untaken_at_; ///< how many cells have something for each rank
    uint64_t data_at_;
    std::byte* memory_ = nullptr;
};

template <class Look>
void IncomingCells::for_each_late(const Place& place, double since, Look look) const {
    const Control& looked_at = control(place);
    if ((looked_at.word.load(std::memory_order_acquire) & state_mask) != landed ||
        looked_at.remaining.load(std::memory_order_relaxed) == 0 ||
        looked_at.landed_at.load(std::memory_order_relaxed) > since) {
        return;
    }
    for (int rank = 0; rank < static_cast<int>(ranks_); ++rank) {
        const uint64_t bytes = items(place, rank).size();
        if (bytes > 0) { look(rank, bytes); }
    }
}

} // namespace nodeaware
