#include "strategies/traffic.hpp"

#include <algorithm>
#include <deque>
#include <map>

namespace nodeaware {

uint64_t mix(uint64_t hash, uint64_t value) {
    hash ^= value + 0x9e3779b97f4a7c15U + (hash << 6) + (hash >> 2);
    hash *= 0xff51afd7ed558ccdU;
    return hash ^ (hash >> 33);
}

namespace {

/// Sorts the messages and cuts them into blocks.
void arrange(PairTraffic& pair, Sharing sharing) {
    std::stable_sort(pair.messages.begin(), pair.messages.end(), [](const auto& a, const auto& b) {
        return std::pair(a.source, a.destination) < std::pair(b.source, b.destination);
    });
    for (uint32_t i = 0; i < pair.messages.size(); ++i) {
        const Message& message = pair.messages[i];
        if (sharing == Sharing::both && !pair.blocks.empty() &&
            pair.blocks.back().source == message.source) {
            ++pair.blocks.back().messages;
        } else {
            pair.blocks.push_back({message.source, i, 1, message.bytes});
        }
    }
}

/// Collects messages by the node at the other end.
class PairsByNode {
  public:
    PairsByNode(const Topology& topology, int node, bool outgoing)
        : topology_(topology), node_(node), outgoing_(outgoing),
          index_(static_cast<size_t>(topology.nodes()), -1) {}

    void add(int other_node, const Message& message) {
        int& index = index_[static_cast<size_t>(other_node)];
        if (index < 0) {
            index = static_cast<int>(pairs_.size());
            pairs_.push_back({&topology_,
                              outgoing_ ? node_ : other_node,
                              outgoing_ ? other_node : node_,
                              {},
                              {}});
        }
        pairs_[static_cast<size_t>(index)].messages.push_back(message);
    }

    /// The pairs, beginning with the node after this one, so that not all nodes send to the same
    /// node first.
    std::vector<PairTraffic> take(Sharing sharing) {
        std::vector<PairTraffic> result;
        result.reserve(pairs_.size());
        for (int step = 1; step < topology_.nodes(); ++step) {
            const int index = index_[static_cast<size_t>((node_ + step) % topology_.nodes())];
            if (index < 0) { continue; }
            result.push_back(std::move(pairs_[static_cast<size_t>(index)]));
            arrange(result.back(), sharing);
        }
        return result;
    }

  private:
    const Topology& topology_;
    int node_;
    bool outgoing_;
    std::vector<int> index_;
    std::vector<PairTraffic> pairs_;
};

/// Matches the k-th message that a rank of the node sends to another with the k-th that the other
/// expects from it.
class LocalMatcher {
  public:
    void send(const Message& message) {
        waiting_[{message.source, message.destination}].push_back(message);
    }

    void receive(const Message& expected, NodeTraffic& traffic) {
        auto& queue = waiting_[{expected.source, expected.destination}];
        if (queue.empty()) {
            traffic.truncated.push_back(expected.destination);
            return;
        }
        const Message sent = queue.front();
        queue.pop_front();
        if (sent.bytes > expected.bytes) { traffic.truncated.push_back(expected.destination); }
        traffic.local.push_back({sent.source, sent.destination, sent.item, expected.item,
                                 sent.memory, std::min(sent.bytes, expected.bytes)});
    }

    /// What nobody expects is an error of the application that plain MPI would report at the
    /// receiver.
    void finish(NodeTraffic& traffic) {
        for (const auto& [ends, queue] : waiting_) {
            if (!queue.empty()) { traffic.truncated.push_back(ends.second); }
        }
    }

  private:
    std::map<std::pair<int, int>, std::deque<Message>> waiting_;
};

} // namespace

uint64_t PairTraffic::bytes() const {
    uint64_t sum = 0;
    for (const Block& block : blocks) { sum += block.bytes; }
    return sum;
}

uint64_t PairTraffic::fingerprint() const {
    uint64_t hash =
        mix(static_cast<uint64_t>(source_node), static_cast<uint64_t>(destination_node));
    for (const Message& message : messages) {
        hash = mix(hash, static_cast<uint64_t>(message.source));
        hash = mix(hash, static_cast<uint64_t>(message.destination));
        hash = mix(hash, message.bytes);
    }
    return hash;
}

NodeTraffic gather_traffic(const Topology& topology, int node,
                           std::span<const RankTraffic* const> lists, Sharing sharing) {
    NodeTraffic traffic;
    traffic.node = node;
    PairsByNode leaving(topology, node, true);
    PairsByNode entering(topology, node, false);
    LocalMatcher matcher;
    const auto& ranks = topology.ranks_of(node);
    for (size_t local = 0; local < ranks.size(); ++local) {
        traffic.packs_late = traffic.packs_late || lists[local]->packs_late;
        const auto& list = lists[local]->outgoing;
        for (uint32_t item = 0; item < list.size(); ++item) {
            const int peer_node = topology.node_of(list[item].peer);
            const Message message{ranks[local], list[item].peer, item, list[item].memory,
                                  list[item].bytes};
            if (peer_node == node) {
                matcher.send(message);
            } else {
                leaving.add(peer_node, message);
            }
        }
    }
    for (size_t local = 0; local < ranks.size(); ++local) {
        const auto& list = lists[local]->incoming;
        for (uint32_t item = 0; item < list.size(); ++item) {
            const int peer_node = topology.node_of(list[item].peer);
            const Message message{list[item].peer, ranks[local], item, 0, list[item].bytes};
            if (peer_node == node) {
                matcher.receive(message, traffic);
            } else {
                entering.add(peer_node, message);
            }
        }
    }
    matcher.finish(traffic);
    traffic.outgoing = leaving.take(sharing);
    traffic.incoming = entering.take(sharing);
    return traffic;
}

} // namespace nodeaware
