#include "tools/nodeaware/place/torus.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace nodeaware::place {

namespace {

/// What each link has carried.
class Links {
  public:
    explicit Links(const Torus& torus)
        : torus_(torus), carried_(torus.routers() * torus.dimensions.size() * 2) {}

    void send(std::vector<int> at, const std::vector<int>& to, const Peer& sent) {
        for (size_t dimension = 0; dimension < at.size(); ++dimension) {
            const int size = torus_.dimensions[dimension];
            const int up = (to[dimension] - at[dimension] + size) % size;
            const bool is_up = 2 * up <= size;
            while (at[dimension] != to[dimension]) {
                Carried& link = link_at(at, dimension, is_up);
                link.messages += sent.sent;
                link.bytes += sent.bytes;
                at[dimension] = (at[dimension] + (is_up ? 1 : size - 1)) % size;
            }
        }
    }

    Carried sum() const { return total_of(carried_); }

  private:
    Carried& link_at(const std::vector<int>& at, size_t dimension, bool is_up) {
        size_t router = 0;
        for (size_t i = 0; i < at.size(); ++i) {
            router =
                router * static_cast<size_t>(torus_.dimensions[i]) + static_cast<size_t>(at[i]);
        }
        return carried_[(router * at.size() + dimension) * 2 + (is_up ? 1 : 0)];
    }

    const Torus& torus_;
    std::vector<Carried> carried_;
};

} // namespace

size_t Torus::routers() const {
    size_t routers = dimensions.empty() ? 0 : 1;
    for (const int size : dimensions) { routers *= static_cast<size_t>(size); }
    return routers;
}

std::vector<int> Torus::position(size_t node) const {
    std::vector<int> position(dimensions.size());
    size_t rest = node / static_cast<size_t>(at_a_router);
    for (size_t i = dimensions.size(); i-- > 0;) {
        const auto size = static_cast<size_t>(dimensions[i]);
        position[i] = static_cast<int>(rest % size);
        rest /= size;
    }
    return position;
}

int64_t hops(const Torus& torus, const std::vector<int>& from, const std::vector<int>& to) {
    int64_t hops = 0;
    for (size_t i = 0; i < from.size(); ++i) {
        const int apart = std::abs(from[i] - to[i]);
        hops += std::min(apart, torus.dimensions[i] - apart);
    }
    return hops;
}

Carried link_traffic(const RankGraph& graph, const Placement& placement, const Torus& torus) {
    Links links(torus);
    const RankGraph nodes = node_graph(graph, placement, torus.nodes());
    for (int node = 0; node < nodes.ranks(); ++node) {
        const std::vector<int> from = torus.position(static_cast<size_t>(node));
        for (const Peer& peer : nodes.peers(node)) {
            if (peer.sent == 0) { continue; }
            links.send(from, torus.position(static_cast<size_t>(peer.rank)), peer);
        }
    }
    return links.sum();
}

void check_link_traffic(const RankGraph& graph, const Torus& torus) {
    constexpr double most = 1e18; // of 64 bits, for gains are several times what is saved
    double messages = 0;
    double bytes = 0;
    for (int rank = 0; rank < graph.ranks(); ++rank) {
        for (const Peer& peer : graph.peers(rank)) {
            messages += static_cast<double>(peer.sent);
            bytes += static_cast<double>(peer.bytes);
        }
    }
    double links = 1;
    for (const int size : torus.dimensions) { links += size / 2.0; }
    if (std::max(messages, bytes) * links > most) {
        throw std::invalid_argument("--topology: expected messages and bytes that add up to at "
                                    "most 1e18 on all links");
    }
}

RankGraph node_graph(const RankGraph& graph, const Placement& placement, size_t nodes) {
    std::vector<Sent> entries;
    for (int rank = 0; rank < graph.ranks(); ++rank) {
        const int from = placement[static_cast<size_t>(rank)];
        for (const Peer& peer : graph.peers(rank)) {
            const int to = placement[static_cast<size_t>(peer.rank)];
            if (from != to) { entries.push_back({from, to, peer.sent, peer.bytes}); }
        }
    }
    return {static_cast<int>(nodes), entries};
}

} // namespace nodeaware::place
