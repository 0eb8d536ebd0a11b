#include "tools/models/triangular_schedule.hpp"

#include "tuning/krylov_models.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace nodeaware::tuning {

namespace {

using namespace triangular;

constexpr double bytes_of_number = 8;

/// Something that reaches a rank: x(K), or a part of the sum of row K.
struct Arrival {
    double time = 0;
    int rank = 0;
    int supernode = 0;
    bool is_solution = false;
    bool operator>(const Arrival& other) const { return time > other.time; }
};

/// What one rank has to do with one supernode.
struct Part {
    std::vector<int> column_children;
    std::vector<size_t> column_blocks;
    int row_parent = -1;
    int terms = 0; ///< of the row's sum that are missing
};

class Simulation {
  public:
    Simulation(const Supernodes& supernodes, const Distribution& distribution,
               const Topology& topology, const TriangularCosts& costs)
        : supernodes_(supernodes), grid_(distribution.grid), topology_(topology), costs_(costs),
          parts_(static_cast<size_t>(topology.ranks())),
          clocks_(static_cast<size_t>(topology.ranks())),
          links_(static_cast<size_t>(topology.nodes())) {
        for (auto& parts : parts_) { parts.resize(at(supernodes.count())); }
        for (size_t i = 0; i < supernodes.blocks.size(); ++i) {
            const Block& block = supernodes.blocks[i];
            auto& parts = parts_[at(grid_.owner(block.row, block.column))];
            parts[at(block.column)].column_blocks.push_back(i);
            ++parts[at(block.row)].terms;
        }
        for (int k = 0; k < supernodes.count(); ++k) {
            for (const Edge& edge : distribution.broadcasts[at(k)]) {
                parts_[at(edge.parent)][at(k)].column_children.push_back(edge.child);
            }
            for (const Edge& edge : distribution.reductions[at(k)]) {
                ++parts_[at(edge.parent)][at(k)].terms;
                parts_[at(edge.child)][at(k)].row_parent = edge.parent;
            }
        }
    }

    double run() {
        for (int rank = 0; rank < topology_.ranks(); ++rank) { begin(rank); }
        while (!arrivals_.empty()) {
            const Arrival arrival = arrivals_.top();
            arrivals_.pop();
            double& clock = clocks_[at(arrival.rank)];
            clock = std::max(clock, arrival.time);
            if (arrival.is_solution) {
                known_.push_back(arrival.supernode);
            } else {
                count_term(arrival.rank, arrival.supernode);
            }
            work(arrival.rank);
        }
        return *std::max_element(clocks_.begin(), clocks_.end());
    }

  private:
    static size_t at(int i) { return static_cast<size_t>(i); }
    double bytes_of(int supernode) const { return bytes_of_number * supernodes_.width(supernode); }

    void begin(int rank) {
        for (int k = 0; k < supernodes_.count(); ++k) {
            if (grid_.owner(k, k) == rank && parts_[at(rank)][at(k)].terms == 0) {
                complete_.push_back(k);
            }
        }
        work(rank);
    }

    /// All that the rank can do, in the order in which it does.
    void work(int rank) {
        while (true) {
            if (!known_.empty()) {
                const int k = known_.back();
                known_.pop_back();
                spread(rank, k);
            } else if (!complete_.empty()) {
                const int k = complete_.back();
                complete_.pop_back();
                complete(rank, k);
            } else {
                return;
            }
        }
    }

    void count_term(int rank, int supernode) {
        if (--parts_[at(rank)][at(supernode)].terms == 0) { complete_.push_back(supernode); }
    }

    void complete(int rank, int supernode) {
        if (grid_.owner(supernode, supernode) != rank) {
            send(rank, parts_[at(rank)][at(supernode)].row_parent, supernode, false);
            return;
        }
        const double width = supernodes_.width(supernode);
        clocks_[at(rank)] += width * width / 2 * costs_.seconds_per_entry;
        known_.push_back(supernode);
    }

    void spread(int rank, int supernode) {
        const Part& part = parts_[at(rank)][at(supernode)];
        for (const int child : part.column_children) { send(rank, child, supernode, true); }
        for (const size_t i : part.column_blocks) {
            const Block& block = supernodes_.blocks[i];
            const auto entries = static_cast<double>(block.rows.size()) *
                                 static_cast<double>(supernodes_.width(supernode));
            clocks_[at(rank)] += entries * costs_.seconds_per_entry;
            count_term(rank, block.row);
        }
    }

    void send(int from, int to, int supernode, bool is_solution) {
        const bool on_node = topology_.node_of(from) == topology_.node_of(to);
        const double bytes = bytes_of(supernode);
        double leaves = clocks_[at(from)];
        if (!on_node) {
            double& link = links_[at(topology_.node_of(from))];
            leaves = std::max(leaves, link);
            link = leaves + costs_.occupancy(bytes);
        }
        arrivals_.push({leaves + costs_.message(bytes, on_node), to, supernode, is_solution});
    }

    const Supernodes& supernodes_;
    const ProcessGrid& grid_;
    const Topology& topology_;
    const TriangularCosts& costs_;
    std::vector<std::vector<Part>> parts_; ///< by rank and supernode
    std::vector<double> clocks_;           ///< until then each rank has something to do
    std::vector<double> links_;            ///< until then each node's link is occupied
    std::vector<int> known_;               ///< of the rank that works
    std::vector<int> complete_;
    std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
};

} // namespace

TriangularCosts::TriangularCosts(const ModelTable& of) : table(of) {
    if (of.shared_memory && of.shared_memory->copy_rate > 0) {
        seconds_per_entry = bytes_of_number / of.shared_memory->copy_rate;
    }
    if (of.network) {
        seconds_per_entry = std::max(seconds_per_entry, 2 * of.network->flop_seconds);
    }
    constexpr double usual_rate = 10e9; // bytes/s
    if (seconds_per_entry <= 0) { seconds_per_entry = bytes_of_number / usual_rate; }
}

double TriangularCosts::message(double bytes, bool on_node) const {
    return on_node ? on_node_message(table, bytes) : off_node_message(table, bytes, {}).total();
}

double TriangularCosts::occupancy(double bytes) const { return tuning::occupancy(table, bytes); }

double scheduled_solve(const Supernodes& supernodes, const Distribution& distribution,
                       const Topology& topology, const TriangularCosts& costs) {
    return Simulation(supernodes, distribution, topology, costs).run();
}

} // namespace nodeaware::tuning
