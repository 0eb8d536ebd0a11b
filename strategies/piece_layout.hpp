#pragma once

#include "strategies/costs.hpp"
#include "strategies/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nodeaware {

/// Slots of pieces begin at multiples of a cache line.
inline constexpr uint64_t slot_alignment = 64;
constexpr uint64_t aligned_slot(uint64_t bytes) {
    return (bytes + slot_alignment - 1) / slot_alignment * slot_alignment;
}

/// Where the pieces of one pair lie on their way, in memory that it uses again and again: piece i
/// in slot i % count, once what was there before has left.
struct Slots {
    std::vector<uint64_t> offsets; ///< where each slot begins, counted from the pair's memory
    uint64_t bytes = 0;            ///< of all of them

    size_t count() const { return offsets.size(); }
};

/// As many slots as `share` bytes have room for, at most `most`. No piece is larger than the share.
Slots slots_of(const Plan& plan, uint64_t share, uint32_t most);

/// Largest piece (bytes) in which memory of devices should travel, of `bytes` between two nodes: so
/// that pieces are copied at one end while others cross the network, and at the other end while
/// more come. For B bytes in n pieces, T = n alpha + (B/n) (beta_D2H + beta_H2D) + what the slowest
/// of copies and network takes anyhow, least for n = sqrt(B (beta_D2H + beta_H2D) / alpha), alpha
/// of a message or of a further copy. Memory of the host need not be cut: it is copied so much
/// faster than it travels that the messages cost more.
uint64_t best_overlapping(uint64_t bytes, const Costs& costs);

/// The plan with its pieces cut to that, and to what fits into slots of `share` bytes; where not
/// all of them have room there at once, so that two have, if it takes longer to copy one than to
/// send one more: one is filled or emptied while the other travels.
Plan cut_for_slots(const Plan& plan, uint64_t share, const Costs& costs);

/// Where the segments of a piece lie, counted from its header, as the sender packs them.
struct PieceLayout {
    std::vector<uint64_t> positions;
    std::vector<bool>
        repeated;       ///< the segment is not packed: it shares the position of an earlier one
    uint64_t bytes = 0; ///< payload and table
    bool needs_table = false;
};

/// `may_share`: segments of the same memory are packed once, where that saves more than the table
/// that tells of it.
PieceLayout layout_of(const PairTraffic& pair, const Plan& plan, const Piece& piece,
                      bool may_share);

} // namespace nodeaware
