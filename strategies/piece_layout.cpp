#include "strategies/piece_layout.hpp"

#include "strategies/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace nodeaware {

namespace {

/// Each slot has room for the largest piece that comes to lie in it.
Slots with_count(const Plan& plan, size_t count) {
    const auto& pieces = plan.pieces();
    Slots slots;
    for (size_t slot = 0; slot < count; ++slot) {
        uint64_t most = 0;
        for (size_t i = slot; i < pieces.size(); i += count) {
            most = std::max(most, aligned_slot(sizeof(PieceHeader) + pieces[i].bytes));
        }
        slots.offsets.push_back(slots.bytes);
        slots.bytes += most;
    }
    return slots;
}

/// Of one more message.
double message_seconds(const Costs& costs) {
    return std::max(costs.protocols.back().latency, costs.protocols.back().gap);
}

} // namespace

uint64_t best_overlapping(uint64_t bytes, const Costs& costs) {
    if (!costs.devices.are_used) { return bytes; }
    const double copies = costs.devices.to_host.per_byte + costs.devices.to_device.per_byte;
    const auto size = static_cast<double>(bytes);
    const double further = std::max(
        {message_seconds(costs), costs.devices.to_host.next, costs.devices.to_device.next});
    const double parts = std::round(std::sqrt(size * copies / further));
    if (!(parts > 1)) { return bytes; }
    const auto count = static_cast<uint64_t>(std::min(parts, size));
    return (bytes + count - 1) / count;
}

Plan cut_for_slots(const Plan& plan, uint64_t share, const Costs& costs) {
    uint64_t bytes = 0;
    for (const Piece& piece : plan.pieces()) { bytes += piece.bytes; }
    const uint64_t all = bytes + plan.pieces().size() * (sizeof(PieceHeader) + slot_alignment);
    const double copy = static_cast<double>(share) / 2 * costs.copy_per_byte;
    const bool is_halved = all > share && copy > message_seconds(costs);
    const uint64_t room = (is_halved ? share / 2 : share) / slot_alignment * slot_alignment;
    const uint64_t most = std::min(room - sizeof(PieceHeader), largest_piece);
    return plan.with_pieces_up_to(std::clamp(best_overlapping(bytes, costs), uint64_t{1}, most));
}

Slots slots_of(const Plan& plan, uint64_t share, uint32_t most) {
    size_t count = std::min<size_t>(plan.pieces().size(), most);
    Slots slots = with_count(plan, count);
    while (slots.bytes > share && count > 1) { slots = with_count(plan, --count); }
    return slots;
}

PieceLayout layout_of(const PairTraffic& pair, const Plan& plan, const Piece& piece,
                      bool may_share) {
    using Key = std::tuple<int, uint32_t, uint64_t, uint64_t>; // source, memory, offset, bytes
    const auto segments = plan.segments_of(piece);
    PieceLayout layout;
    layout.repeated.assign(segments.size(), false);
    uint64_t saved = 0;
    std::map<Key, size_t> first;
    std::vector<size_t> same_as(segments.size());
    for (size_t i = 0; i < segments.size(); ++i) {
        same_as[i] = i;
        if (!may_share) { continue; }
        const Message& message = pair.messages[pair.blocks[segments[i].block].first_message];
        const auto [position, is_new] = first.try_emplace(
            Key{message.source, message.memory, segments[i].offset, segments[i].bytes}, i);
        same_as[i] = position->second;
        if (!is_new) { saved += segments[i].bytes; }
    }
    const uint64_t table = sizeof(uint64_t) * segments.size();
    layout.needs_table = saved > table;
    uint64_t next = sizeof(PieceHeader) + (layout.needs_table ? table : 0);
    for (size_t i = 0; i < segments.size(); ++i) {
        if (layout.needs_table && same_as[i] != i) {
            layout.repeated[i] = true;
            layout.positions.push_back(layout.positions[same_as[i]]);
        } else {
            layout.positions.push_back(next);
            next += segments[i].bytes;
        }
    }
    layout.bytes = next - sizeof(PieceHeader);
    return layout;
}

} // namespace nodeaware
