#pragma once

#include "strategies/containers.hpp"
#include "strategies/strategy.hpp"
#include "strategies/traffic.hpp"
#include "tools/nodeaware/trace/exchanges.hpp"

#include <functional>
#include <vector>

namespace nodeaware::tool {

/// Messages that ranks send at the same time, as a trace tells of them.
class TraceTraffic {
  public:
    /// `nodes`: of each rank.
    explicit TraceTraffic(const std::vector<int>& nodes) : topology_(nodes), lists_(nodes.size()) {}

    int ranks() const { return topology_.ranks(); }
    /// `is_shared`: the rank sends the same to others.
    void add(int from, int to, uint64_t bytes, bool is_shared);
    uint64_t largest_message() const; ///< bytes
    bool has_one_rank_per_node() const { return topology_.most_ranks_on_a_node() < 2; }
    bool crosses_nodes() const { return topology_.nodes() > 1 && crosses_nodes_; }
    /// All has been added.
    void gather();
    /// Seconds of the slowest node; nullptr: every message by itself, as MPI would send it.
    double predicted(const Strategy* strategy, const Parameters& parameters) const;
    /// The same of what no strategy changes: messages from point to point and nonblocking exchanges
    /// travel in containers. `job_nodes`: of the job, among which memory for containers is shared
    /// out; 0: as many as these.
    double predicted_in_containers(containers::Kind kind, const Parameters& parameters,
                                   int job_nodes = 0) const;

  private:
    double most_of_nodes(const std::function<double(const NodeTraffic&)>& seconds) const;

    Topology topology_;
    std::vector<RankTraffic> lists_;
    std::vector<NodeTraffic> traffic_;
    Sharing sharing_ = Sharing::sender;
    bool crosses_nodes_ = false;
};

/// What a time of these members of a communicator comes to in the mean of all ranks of the job:
/// those of communicators that have no rank in common pass side by side.
double part_of_ranks(const std::vector<int>& members, size_t ranks);

/// The messages of an exchange, not yet gathered. `nodes`: of each rank of MPI_COMM_WORLD.
TraceTraffic traffic_of(const TracedExchange& exchange, const std::vector<int>& nodes);

} // namespace nodeaware::tool
