#pragma once

#include "strategies/traffic.hpp"

#include <cstdint>
#include <vector>

namespace nodeaware {

/// Part of a block that travels in one piece.
struct Segment {
    uint32_t block = 0;
    uint64_t offset = 0; ///< within the block
    uint64_t bytes = 0;
};

/// One message between nodes that is packed in the arena of the sending node and unpacked from that
/// of the receiving one.
struct Piece {
    int32_t sender = 0;
    int32_t receiver = 0;
    uint32_t first_segment = 0;
    uint32_t segments = 0;
    uint64_t bytes = 0; ///< sum of its segments
};

/// How the traffic of one node pair travels: the result of a strategy.
class Plan {
  public:
    /// Message `message` of the pair goes straight from the memory of its source to that of its
    /// destination.
    void send_directly(uint32_t message) { direct_.push_back(message); }

    /// All of the pair goes by way of other nodes: see Relay.
    void relay() { is_relayed_ = true; }

    /// Begins a piece from rank `sender` to rank `receiver`; the following append() calls fill it.
    void begin_piece(int sender, int receiver);
    void append(const Segment& segment);

    bool is_relayed() const { return is_relayed_; }
    const std::vector<uint32_t>& direct() const { return direct_; }
    const std::vector<Piece>& pieces() const { return pieces_; }
    std::span<const Segment> segments_of(const Piece& piece) const {
        return std::span(segments_).subspan(piece.first_segment, piece.segments);
    }

    /// The same plan with no piece larger than `limit` bytes. Parts of several pieces take turns,
    /// so that all ranks that send take part from the beginning.
    Plan with_pieces_up_to(uint64_t limit) const;

  private:
    bool is_relayed_ = false;
    std::vector<uint32_t> direct_;
    std::vector<Piece> pieces_;
    std::vector<Segment> segments_;
};

/// Steps from node `from` to node `to`, 0 for the node right after it. Dealing node pairs out by
/// this distance gives the ranks of a node an equal number of partners, and both nodes can compute
/// it.
int distance(const Topology& topology, int from, int to);

/// The rank of the sending (receiving) node that handles the i-th piece of a pair: senders are
/// dealt out from the last local rank, receivers from the first, so that a rank with little to
/// receive sends (Algorithm 1, line 18). Pairs begin at different ranks, and where a node has more
/// ranks than others to exchange with, as far from each other as its ranks allow: several pieces
/// of a pair then do not fall upon ranks that the next pair has, too.
int sender_of(const PairTraffic& pair, int i);
int receiver_of(const PairTraffic& pair, int i);

/// Cuts the concatenation of `blocks` (numbers of the pair's blocks) into `count` pieces of nearly
/// equal size, dealt out to the ranks of both nodes.
void deal_pieces(const PairTraffic& pair, std::span<const uint32_t> blocks, uint64_t count,
                 Plan& plan);

/// Number of pieces for `bytes` bytes between the two nodes of the pair: no piece above
/// `message_cap` bytes, but never more pieces than the larger of the two nodes has ranks; then the
/// cap is raised to bytes/ranks (Algorithm 1, lines 12-17, applied to what both nodes know: the
/// total that enters the receiving node from elsewhere is unknown to the sender; split.cpp says
/// what that costs).
uint64_t pieces_under_cap(const PairTraffic& pair, uint64_t bytes, uint64_t message_cap);

} // namespace nodeaware
