#include "tools/nodeaware/place/predicted.hpp"

#include "strategies/node_load.hpp"

#include <algorithm>

namespace nodeaware::place {

namespace {

class Loads {
  public:
    Loads(const Placement& placement, const Costs& costs) : placement_(placement) {
        std::vector<size_t> ranks;
        for (const int node : placement) {
            ranks.resize(std::max(ranks.size(), static_cast<size_t>(node) + 1));
            local_.push_back(static_cast<int>(ranks[static_cast<size_t>(node)]++));
        }
        for (const size_t on_node : ranks) { loads_.emplace_back(on_node, costs); }
    }

    void add(int rank, uint64_t messages, uint64_t bytes) {
        const auto at = static_cast<size_t>(rank);
        loads_[static_cast<size_t>(placement_[at])].add_message(local_[at], bytes / messages,
                                                                static_cast<double>(messages));
    }
    double slowest() const {
        double seconds = 0;
        for (const NodeLoad& load : loads_) {
            seconds = std::max(seconds, load.latency() + load.transfer());
        }
        return seconds;
    }

  private:
    const Placement& placement_;
    std::vector<int> local_; ///< of each rank, on its node
    std::vector<NodeLoad> loads_;
};

} // namespace

double predicted_seconds(const RankGraph& graph, const Placement& placement, const Costs& costs) {
    Loads sending(placement, costs);
    Loads receiving(placement, costs);
    for (int rank = 0; rank < graph.ranks(); ++rank) {
        for (const Peer& peer : graph.peers(rank)) {
            const bool is_off_node =
                placement[static_cast<size_t>(rank)] != placement[static_cast<size_t>(peer.rank)];
            if (!is_off_node || peer.sent == 0) { continue; }
            sending.add(rank, peer.sent, peer.bytes);
            receiving.add(peer.rank, peer.sent, peer.bytes);
        }
    }
    return std::max(sending.slowest(), receiving.slowest());
}

} // namespace nodeaware::place
