#pragma once

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

/// Pieces of one pair that are under way at the same time. The next window reuses the memory of the
/// last.
struct Window {
    size_t first_piece = 0;
    std::vector<uint64_t> slots; ///< where each piece begins, counted from the pair's memory
    uint64_t bytes = 0;
};

/// The windows of a plan: each of up to `most_pieces`, in `share` bytes.
std::vector<Window> windows_of(const Plan& plan, uint64_t share, uint32_t most_pieces);

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
