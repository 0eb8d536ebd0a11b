#include "strategies/piece_layout.hpp"

#include "strategies/schedule.hpp"

#include <map>
#include <tuple>

namespace nodeaware {

std::vector<Window> windows_of(const Plan& plan, uint64_t share, uint32_t most_pieces) {
    std::vector<Window> windows;
    for (size_t i = 0; i < plan.pieces().size(); ++i) {
        const uint64_t slot = aligned_slot(sizeof(PieceHeader) + plan.pieces()[i].bytes);
        if (windows.empty() || windows.back().bytes + slot > share ||
            windows.back().slots.size() == most_pieces) {
            windows.push_back({i, {}, 0});
        }
        windows.back().slots.push_back(windows.back().bytes);
        windows.back().bytes += slot;
    }
    return windows;
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
