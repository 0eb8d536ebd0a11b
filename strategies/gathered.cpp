#include "strategies/gathered.hpp"

#include <algorithm>
#include <map>

namespace nodeaware {

namespace {

/// Fingerprint of what one node sends to one rank, contribution by contribution.
uint64_t first_fingerprint(int source_node, int destination) {
    return mix(static_cast<uint64_t>(source_node), static_cast<uint64_t>(destination));
}

uint64_t next_fingerprint(uint64_t fingerprint, int source, uint64_t bytes) {
    return mix(mix(fingerprint, static_cast<uint64_t>(source)), bytes);
}

constexpr uint64_t alignment = 64;

uint64_t aligned(uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

uint64_t ranks_elsewhere(const Topology& topology, int node) {
    return static_cast<uint64_t>(topology.ranks() - topology.ranks_on(node));
}

/// The messages of a rank with one other, by their positions in its list.
struct Peer {
    std::vector<uint32_t> items;
    uint64_t bytes = 0;
};

template <class List> std::map<int, Peer> by_peer(const List& messages) {
    std::map<int, Peer> peers;
    for (uint32_t i = 0; i < messages.size(); ++i) {
        Peer& peer = peers[messages[i].peer];
        peer.items.push_back(i);
        peer.bytes += messages[i].bytes;
    }
    return peers;
}

} // namespace

/// For blocking operations: the pieces are dealt out over the ranks of the sending node.
Plan plan_gathered(const PairTraffic& pair, const Parameters& /*parameters*/) {
    std::map<int, std::vector<uint32_t>> blocks;
    for (uint32_t i = 0; i < pair.blocks.size(); ++i) {
        blocks[pair.messages[pair.blocks[i].first_message].destination].push_back(i);
    }
    Plan plan;
    int pieces = 0;
    for (const auto& [destination, members] : blocks) {
        plan.begin_piece(sender_of(pair, pieces++), destination);
        for (const uint32_t i : members) { plan.append({i, 0, pair.blocks[i].bytes}); }
    }
    return plan;
}

namespace gathered {

namespace {

class OwnCompiler {
  public:
    OwnCompiler(const Topology& topology, int rank, const Parameters& parameters,
                const std::function<uint64_t(int)>& above)
        : topology_(topology), rank_(rank), node_(topology.node_of(rank)), parameters_(parameters),
          above_(above) {}

    OwnPart compile(const RankTraffic& traffic) {
        add_incoming(traffic);
        add_outgoing(traffic);
        add_own(traffic);
        for (auto* steps : {&receives_, &sends_, &rest_}) {
            part_.schedule.steps.insert(part_.schedule.steps.end(), steps->begin(), steps->end());
        }
        return std::move(part_);
    }

  private:
    bool is_gathered(int source, int destination, uint64_t bytes) const {
        return topology_.node_of(source) != topology_.node_of(destination) &&
               bytes > above_(source) && bytes <= limit(topology_, source, parameters_);
    }

    void add_outgoing(const RankTraffic& traffic) {
        for (const auto& [destination, peer] : by_peer(traffic.outgoing)) {
            if (destination == rank_) { continue; }
            if (is_gathered(rank_, destination, peer.bytes)) {
                contribute(traffic, destination, peer);
                continue;
            }
            for (const uint32_t item : peer.items) {
                sends_.push_back({.action = Action::send_direct,
                                  .peer = destination,
                                  .item = item,
                                  .bytes = traffic.outgoing[item].bytes});
                count_sent(destination, traffic.outgoing[item].bytes);
            }
        }
    }

    void count_sent(int destination, uint64_t bytes) {
        if (topology_.node_of(destination) == node_) { return; }
        ++part_.schedule.node_messages_sent;
        part_.schedule.node_bytes_sent += bytes;
    }

    void contribute(const RankTraffic& traffic, int destination, const Peer& peer) {
        part_.contributions.push_back({destination, 0, peer.bytes});
        for (const uint32_t item : peer.items) {
            const uint64_t bytes = traffic.outgoing[item].bytes;
            part_.schedule.prologue.push_back({.action = Action::pack,
                                               .item = item,
                                               .bytes = bytes,
                                               .arena = part_.contributed_bytes});
            part_.contributed_bytes += bytes;
        }
    }

    void add_incoming(const RankTraffic& traffic) {
        std::map<int, std::vector<std::pair<int, Peer>>> gathered; // by node: source, messages
        for (auto& [source, peer] : by_peer(traffic.incoming)) {
            if (source == rank_) { continue; }
            if (is_gathered(source, rank_, peer.bytes)) {
                gathered[topology_.node_of(source)].emplace_back(source, peer);
                continue;
            }
            for (const uint32_t item : peer.items) {
                receives_.push_back({.action = Action::receive_direct,
                                     .peer = source,
                                     .item = item,
                                     .bytes = traffic.incoming[item].bytes});
            }
        }
        for (const auto& [node, sources] : gathered) { receive_piece(traffic, node, sources); }
    }

    void receive_piece(const RankTraffic& traffic, int node,
                       const std::vector<std::pair<int, Peer>>& sources) {
        Schedule& schedule = part_.schedule;
        const uint64_t slot = schedule.arena_bytes;
        const auto counter = static_cast<int32_t>(schedule.counters++);
        const int any_rank = topology_.ranks_of(node).front();
        uint64_t fingerprint = first_fingerprint(node, rank_);
        for (const auto& [source, peer] : sources) {
            fingerprint = next_fingerprint(fingerprint, source, peer.bytes);
        }
        uint64_t bytes = 0;
        for (const auto& [source, peer] : sources) {
            for (const uint32_t item : peer.items) {
                rest_.push_back({.action = Action::unpack,
                                 .peer = any_rank,
                                 .item = item,
                                 .bytes = traffic.incoming[item].bytes,
                                 .arena = slot + sizeof(PieceHeader) + bytes,
                                 .piece = slot,
                                 .fingerprint = fingerprint,
                                 .wait = counter,
                                 .needed = 1});
                bytes += traffic.incoming[item].bytes;
            }
        }
        receives_.push_back({.action = Action::receive_piece,
                             .peer = any_rank,
                             .bytes = bytes,
                             .arena = slot,
                             .fingerprint = fingerprint,
                             .signal = counter});
        schedule.arena_bytes = slot + aligned(sizeof(PieceHeader) + bytes);
    }

    /// Messages of the rank to itself: the k-th sent is the k-th received.
    void add_own(const RankTraffic& traffic) {
        const auto sent = by_peer(traffic.outgoing);
        const auto received = by_peer(traffic.incoming);
        const auto from = sent.find(rank_);
        const auto to = received.find(rank_);
        const size_t sends = from == sent.end() ? 0 : from->second.items.size();
        const size_t receives = to == received.end() ? 0 : to->second.items.size();
        part_.schedule.truncated = sends != receives;
        for (size_t k = 0; k < std::min(sends, receives); ++k) {
            const uint32_t item = from->second.items[k];
            const uint32_t other_item = to->second.items[k];
            const uint64_t sent_bytes = traffic.outgoing[item].bytes;
            const uint64_t expected = traffic.incoming[other_item].bytes;
            if (sent_bytes != expected) {
                part_.schedule.truncated = true;
                continue;
            }
            rest_.push_back({.action = Action::copy,
                             .item = item,
                             .other_item = other_item,
                             .bytes = sent_bytes});
        }
    }

    const Topology& topology_;
    const int rank_;
    const int node_;
    const Parameters& parameters_;
    const std::function<uint64_t(int)>& above_;
    OwnPart part_;
    std::vector<Step> receives_;
    std::vector<Step> sends_;
    std::vector<Step> rest_;
};

} // namespace

uint64_t region_bytes(const Topology& topology, int node, uint64_t arena_bytes) {
    const uint64_t share = arena_bytes / static_cast<uint64_t>(topology.ranks_on(node));
    return std::max(share, alignment) / alignment * alignment; // the number is always there
}

uint64_t limit(const Topology& topology, int source, const Parameters& parameters) {
    const int node = topology.node_of(source);
    const uint64_t others = ranks_elsewhere(topology, node);
    const uint64_t lists = sizeof(uint64_t) + others * sizeof(Contribution);
    const uint64_t region = region_bytes(topology, node, parameters.arena_bytes);
    if (others == 0 || region <= lists) { return 0; }
    const uint64_t ranks = static_cast<uint64_t>(topology.ranks_on(node));
    const Costs& costs = parameters.costs;
    const double message = std::max(costs.protocols[0].latency, costs.protocols[0].gap);
    const double copied = message / (2 * costs.copy_per_byte);
    const uint64_t worth =
        copied < static_cast<double>(largest_piece) ? static_cast<uint64_t>(copied) : largest_piece;
    return std::min(
        {worth, (region - lists) / others, (largest_piece - sizeof(PieceHeader)) / ranks});
}

OwnPart own_part(const Topology& topology, const RankTraffic& traffic, int rank,
                 const Parameters& parameters, const std::function<uint64_t(int)>& above) {
    return OwnCompiler(topology, rank, parameters, above).compile(traffic);
}

Schedule node_part(const Topology& topology, int node,
                   std::span<const std::vector<Contribution>> contributions) {
    struct Piece {
        uint64_t fingerprint = 0;
        std::vector<std::pair<uint32_t, uint64_t>> items; ///< item, bytes
    };
    std::map<int, Piece> pieces; // by destination
    uint32_t item = 0;
    for (size_t local = 0; local < contributions.size(); ++local) {
        const int source = topology.ranks_of(node)[local];
        for (const Contribution& contribution : contributions[local]) {
            const int destination = contribution.destination;
            Piece& piece = pieces[destination];
            if (piece.items.empty()) { piece.fingerprint = first_fingerprint(node, destination); }
            piece.fingerprint = next_fingerprint(piece.fingerprint, source, contribution.bytes);
            piece.items.emplace_back(item++, contribution.bytes);
        }
    }
    Schedule schedule;
    for (const auto& [destination, piece] : pieces) {
        const uint64_t slot = schedule.arena_bytes;
        uint64_t bytes = 0;
        for (const auto& [number, size] : piece.items) {
            schedule.prologue.push_back({.action = Action::pack,
                                         .item = number,
                                         .bytes = size,
                                         .arena = slot + sizeof(PieceHeader) + bytes});
            bytes += size;
        }
        schedule.steps.push_back({.action = Action::send_piece,
                                  .peer = destination,
                                  .bytes = bytes,
                                  .arena = slot,
                                  .fingerprint = piece.fingerprint});
        ++schedule.node_messages_sent;
        schedule.node_bytes_sent += bytes;
        schedule.arena_bytes = slot + aligned(sizeof(PieceHeader) + bytes);
    }
    // Not all nodes send to the same rank first.
    const auto after =
        std::find_if(schedule.steps.begin(), schedule.steps.end(),
                     [&](const Step& s) { return s.peer > topology.ranks_of(node).back(); });
    std::rotate(schedule.steps.begin(), after, schedule.steps.end());
    return schedule;
}

} // namespace gathered

} // namespace nodeaware
