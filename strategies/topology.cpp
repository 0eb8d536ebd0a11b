#include "strategies/topology.hpp"

#include <algorithm>
#include <unordered_map>

namespace nodeaware {

Topology::Topology(std::span<const int> node_of_rank) {
    std::unordered_map<int, int> number_of;
    node_of_.reserve(node_of_rank.size());
    local_of_.reserve(node_of_rank.size());
    for (const int name : node_of_rank) {
        const auto [position, is_new] = number_of.try_emplace(name, nodes());
        if (is_new) { ranks_of_.emplace_back(); }
        auto& members = ranks_of_[static_cast<size_t>(position->second)];
        node_of_.push_back(position->second);
        local_of_.push_back(static_cast<int>(members.size()));
        members.push_back(ranks() - 1);
        most_ranks_ = std::max(most_ranks_, static_cast<int>(members.size()));
    }
}

} // namespace nodeaware
