#pragma once

#include <span>
#include <vector>

namespace nodeaware {

/// Which node every rank of a communicator lives on. A "node" is the set of ranks that share one
/// arena: a machine, or a part of it (socket, NUMA domain, virtual node). Any placement and uneven
/// ranks per node are allowed.
class Topology {
  public:
    Topology() = default;

    /// `node_of_rank[r]` names the node of rank r by any integers; nodes are renumbered 0, 1, ...
    /// in the order of their first rank, so every rank of the communicator numbers them alike.
    explicit Topology(std::span<const int> node_of_rank);

    int ranks() const { return static_cast<int>(node_of_.size()); }
    int nodes() const { return static_cast<int>(ranks_of_.size()); }
    int node_of(int rank) const { return node_of_[static_cast<size_t>(rank)]; }
    /// Position of the rank among the ranks of its node, in ascending order of rank.
    int local_of(int rank) const { return local_of_[static_cast<size_t>(rank)]; }
    const std::vector<int>& ranks_of(int node) const {
        return ranks_of_[static_cast<size_t>(node)];
    }
    int ranks_on(int node) const { return static_cast<int>(ranks_of(node).size()); }
    int most_ranks_on_a_node() const { return most_ranks_; }

  private:
    std::vector<int> node_of_;
    std::vector<int> local_of_;
    std::vector<std::vector<int>> ranks_of_;
    int most_ranks_ = 0;
};

} // namespace nodeaware
