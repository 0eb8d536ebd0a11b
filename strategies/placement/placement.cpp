#include "strategies/placement/placement.hpp"

#include <algorithm>

namespace nodeaware::place {

std::vector<int> node_sizes(int ranks, const std::vector<int>& ppn) {
    std::vector<int> sizes;
    while (ranks > 0) {
        sizes.push_back(std::min(ranks, ppn[sizes.size() % ppn.size()]));
        ranks -= sizes.back();
    }
    return sizes;
}

Placement block_placement(const std::vector<int>& sizes) {
    Placement placement;
    for (size_t node = 0; node < sizes.size(); ++node) {
        placement.insert(placement.end(), static_cast<size_t>(sizes[node]), static_cast<int>(node));
    }
    return placement;
}

Placement cyclic_placement(const std::vector<int>& sizes) {
    Placement placement;
    const int most = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
    for (int round = 0; round < most; ++round) {
        for (size_t node = 0; node < sizes.size(); ++node) {
            if (round < sizes[node]) { placement.push_back(static_cast<int>(node)); }
        }
    }
    return placement;
}

std::vector<int> ranks_on_nodes(const Placement& placement) {
    std::vector<int> ranks;
    for (const int node : placement) {
        ranks.resize(std::max(ranks.size(), static_cast<size_t>(node) + 1));
        ++ranks[static_cast<size_t>(node)];
    }
    return ranks;
}

Carried total_of(const std::vector<Carried>& each) {
    Carried all;
    for (const Carried& one : each) {
        all.messages += one.messages;
        all.bytes += one.bytes;
        all.worst_messages = std::max(all.worst_messages, one.messages);
        all.worst_bytes = std::max(all.worst_bytes, one.bytes);
    }
    return all;
}

Carried off_node(const RankGraph& graph, const Placement& placement) {
    if (placement.empty()) { return {}; }
    const auto last = *std::max_element(placement.begin(), placement.end());
    std::vector<Carried> nodes(static_cast<size_t>(last) + 1);
    for (int rank = 0; rank < graph.ranks(); ++rank) {
        const int node = placement[static_cast<size_t>(rank)];
        for (const Peer& peer : graph.peers(rank)) {
            if (placement[static_cast<size_t>(peer.rank)] == node) { continue; }
            nodes[static_cast<size_t>(node)].messages += peer.sent;
            nodes[static_cast<size_t>(node)].bytes += peer.bytes;
        }
    }
    return total_of(nodes);
}

} // namespace nodeaware::place
