#include "tools/models/sparse_figure.hpp"

#include "strategies/sparse_choice.hpp"
#include "tuning/costs_of.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace nodeaware::tuning {

namespace {

int processes_per_node(const ModelTable& table, const SparseInput& input) {
    const int processes = input.processes_per_node > 0 ? input.processes_per_node
                                                       : table.fingerprint.processes_per_node;
    if (processes > 0) { return processes; }
    throw TableError("model table " + table.name +
                     " has no parameters fingerprint.processes_per_node, which --kernel sdde needs "
                     "without --ppn");
}

Topology even_nodes(int nodes, int processes) {
    constexpr int most_processes = 1 << 24;
    if (nodes > most_processes / processes) {
        throw std::invalid_argument("--nodes: expected at most " + std::to_string(most_processes) +
                                    " processes, found " + std::to_string(nodes) + " nodes of " +
                                    std::to_string(processes));
    }
    std::vector<int> node_of;
    for (int node = 0; node < nodes; ++node) {
        node_of.insert(node_of.end(), static_cast<size_t>(processes), node);
    }
    return Topology(node_of);
}

sparse::Pattern pattern_of(const Topology& topology, const SparseInput& input) {
    constexpr int most_messages = 1 << 24;
    if (input.messages > most_messages) {
        throw std::invalid_argument("--messages: expected at most " +
                                    std::to_string(most_messages) + ", found " +
                                    std::to_string(input.messages));
    }
    const int others = topology.nodes() - 1;
    if (input.reached_nodes > others) {
        throw std::invalid_argument("--m-proc-node: expected at most " + std::to_string(others) +
                                    ", the other nodes, found " +
                                    std::to_string(input.reached_nodes));
    }
    sparse::Pattern pattern;
    pattern.messages = input.messages > 0 ? input.messages : others;
    if (input.messages == 0 && input.reached_nodes > 0) { pattern.messages = input.reached_nodes; }
    pattern.reached_nodes = input.reached_nodes;
    return pattern;
}

std::string automatic(const Topology& topology, const Costs& costs) {
    if (sparse::node_pairs_pay(topology, costs)) { return "node_pairs"; }
    return sparse::is_personalized_better(topology.ranks()) ? "personalized" : "nonblocking";
}

} // namespace

CurveTable sparse_curves(const ModelTable& table, const SparseInput& input,
                         const std::vector<double>& sizes) {
    const int processes = processes_per_node(table, input);
    const Topology topology = even_nodes(input.nodes, processes);
    const Costs costs = costs_of(table);
    sparse::Pattern pattern = pattern_of(topology, input);
    CurveTable result;
    result.title = table.name + ": sdde, " + std::to_string(pattern.messages) +
                   " messages of each process, " + std::to_string(input.nodes) + " nodes of " +
                   std::to_string(processes) + " processes";
    result.mark = "least time";
    add_curve(result, "personalized", "Personalized", 0);
    add_curve(result, "nonblocking", "Nonblocking", 1);
    add_curve(result, "locality", "Locality-aware", 2);
    add_curve(result, "node_pairs", "Node pairs", 3);
    add_rows(result, sizes, [&](double bytes) -> Seconds {
        pattern.bytes = bytes;
        return {sparse::personalized_seconds(topology, costs, pattern),
                sparse::nonblocking_seconds(topology, costs, pattern),
                sparse::locality_seconds(topology, costs, pattern),
                sparse::node_pairs_seconds(topology, costs, pattern)};
    });
    result.columns = {"standard", "aggregated", "auto"};
    for (CurveTable::Row& row : result.rows) {
        const auto least = std::min_element(row.seconds.begin(), row.seconds.end());
        row.marked[static_cast<size_t>(least - row.seconds.begin())] = true;
        row.values = {{pattern.messages, ""},
                      {sparse::reached_nodes(topology, pattern), ""},
                      {{}, automatic(topology, costs)}};
    }
    return result;
}

} // namespace nodeaware::tuning
