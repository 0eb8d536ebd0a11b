#pragma once

#include "tuning/model_table.hpp"

#include <cstdint>
#include <vector>

namespace simgrid::s4u {
class Engine;
class Host;
} // namespace simgrid::s4u

namespace nodeaware::simulation {

/// What a message costs, beside the parameters of the table: which part of alpha keeps the rank
/// busy that sends it, and which the one that receives it. The rest is on the way.
struct MessageShares {
    double sender = 0.4;
    double receiver = 0.2;
};

/// A machine of `nodes` with `ranks_per_node` each, in order, whose messages cost what a model
/// table says: alpha and beta by class and protocol; each node sends and receives at R_N, and,
/// where the table has gaps, one message after the other.
class Platform {
  public:
    struct Shape {
        int nodes = 0;
        int ranks_per_node = 0;
    };

    /// Makes the hosts, one for each rank. Throws TableError where the table lacks paths.
    Platform(simgrid::s4u::Engine& engine, const tuning::ModelTable& table, const Shape& shape,
             const MessageShares& shares);

    const std::vector<simgrid::s4u::Host*>& hosts() const { return hosts_; }
    int ranks() const { return static_cast<int>(hosts_.size()); }
    int node_of(int rank) const { return rank / shape_.ranks_per_node; }
    std::vector<int> nodes() const;
    double eager_limit() const { return eager_limit_; }

    /// Messages between nodes, and bytes in them, since the last reset.
    struct Traffic {
        uint64_t messages = 0;
        uint64_t bytes = 0;
        uint64_t most_messages_of_a_rank = 0;
        uint64_t most_messages_of_a_node = 0;
    };
    Traffic traffic() const;
    void reset_traffic();

    /// Seconds that the sender, or the receiver, is busy with a message.
    double sending(double bytes, int from, int to) const;
    double receiving(double bytes, int from, int to) const;
    /// Seconds from now until a message has come that begins to travel; what it occupies is so from
    /// now on.
    double travel(double bytes, int from, int to);

  private:
    const tuning::Path& path(int from, int to) const;
    double backlog(double bytes, int from, int to, double now);
    void make_hosts();

    const tuning::ModelTable table_;
    const Shape shape_;
    const MessageShares shares_;
    int ranks_per_socket_;
    double eager_limit_ = 0;
    std::vector<simgrid::s4u::Host*> hosts_;
    std::vector<double> sends_until_;    ///< of each node
    std::vector<double> receives_until_; ///< of each node
    std::vector<uint64_t> messages_;     ///< of each rank
    uint64_t bytes_ = 0;
};

} // namespace nodeaware::simulation
