#include "strategies/plan.hpp"

#include <algorithm>
#include <utility>

namespace nodeaware {

void Plan::begin_piece(int sender, int receiver) {
    pieces_.push_back({sender, receiver, static_cast<uint32_t>(segments_.size()), 0, 0});
}

void Plan::append(const Segment& segment) {
    segments_.push_back(segment);
    ++pieces_.back().segments;
    pieces_.back().bytes += segment.bytes;
}

Plan Plan::with_pieces_up_to(uint64_t limit) const {
    Plan result;
    result.is_relayed_ = is_relayed_;
    result.direct_ = direct_;
    std::vector<std::pair<size_t, Piece>> in_turn; // the parts of a piece are 0, 1, 2, ...
    for (const Piece& piece : pieces_) {
        const size_t first = result.pieces_.size();
        result.begin_piece(piece.sender, piece.receiver);
        for (Segment rest : segments_of(piece)) {
            while (rest.bytes > 0) {
                if (result.pieces_.back().bytes == limit) {
                    result.begin_piece(piece.sender, piece.receiver);
                }
                const uint64_t part = std::min(rest.bytes, limit - result.pieces_.back().bytes);
                result.append({rest.block, rest.offset, part});
                rest.offset += part;
                rest.bytes -= part;
            }
        }
        for (size_t i = first; i < result.pieces_.size(); ++i) {
            in_turn.emplace_back(i - first, result.pieces_[i]);
        }
    }
    std::stable_sort(in_turn.begin(), in_turn.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::transform(in_turn.begin(), in_turn.end(), result.pieces_.begin(),
                   [](const auto& part) { return part.second; });
    return result;
}

int distance(const Topology& topology, int from, int to) {
    return (to - from - 1 + topology.nodes()) % topology.nodes();
}

namespace {

/// Where the pieces between `node` and `other` begin among the ranks of `node`.
size_t first_turn(const Topology& topology, int node, int other) {
    const int ranks = topology.ranks_on(node);
    const int others = topology.nodes() - 1;
    const int steps = distance(topology, node, other);
    if (ranks <= others) { return static_cast<size_t>(steps); }
    return static_cast<size_t>(int64_t{steps} * ranks / others);
}

} // namespace

int sender_of(const PairTraffic& pair, int i) {
    const auto& ranks = pair.topology->ranks_of(pair.source_node);
    const size_t turn = first_turn(*pair.topology, pair.source_node, pair.destination_node) +
                        static_cast<size_t>(i);
    return ranks[ranks.size() - 1 - turn % ranks.size()];
}

int receiver_of(const PairTraffic& pair, int i) {
    const auto& ranks = pair.topology->ranks_of(pair.destination_node);
    const size_t turn = first_turn(*pair.topology, pair.destination_node, pair.source_node) +
                        static_cast<size_t>(i);
    return ranks[turn % ranks.size()];
}

void deal_pieces(const PairTraffic& pair, std::span<const uint32_t> blocks, uint64_t count,
                 Plan& plan) {
    uint64_t total = 0;
    for (const uint32_t block : blocks) { total += pair.blocks[block].bytes; }
    if (total == 0 || count == 0) { return; }
    const uint64_t size = (total + count - 1) / count;
    uint64_t room = 0;
    int number = 0;
    for (const uint32_t block : blocks) {
        for (uint64_t offset = 0; offset < pair.blocks[block].bytes;) {
            if (room == 0) {
                plan.begin_piece(sender_of(pair, number), receiver_of(pair, number));
                ++number;
                room = size;
            }
            const uint64_t part = std::min(room, pair.blocks[block].bytes - offset);
            plan.append({block, offset, part});
            offset += part;
            room -= part;
        }
    }
}

uint64_t pieces_under_cap(const PairTraffic& pair, uint64_t bytes, uint64_t message_cap) {
    const auto most = static_cast<uint64_t>(std::max(
        pair.topology->ranks_on(pair.source_node), pair.topology->ranks_on(pair.destination_node)));
    return std::min(most, (bytes + message_cap - 1) / message_cap);
}

} // namespace nodeaware
