#include "tools/nodeaware/commands.hpp"
#include "tools/nodeaware/doctor/words.hpp"
#include "tools/nodeaware/launch.hpp"
#include "tools/nodeaware/numbers.hpp"
#include "tools/nodeaware/place/arrangement.hpp"
#include "tools/nodeaware/place/formats.hpp"
#include "tools/nodeaware/place/partitioner.hpp"
#include "tools/nodeaware/place/predicted.hpp"
#include "tools/nodeaware/place/source.hpp"
#include "tools/nodeaware/trace/printing.hpp"
#include "tools/nodeaware/used_table.hpp"
#include "tuning/costs_of.hpp"
#include "tuning/text_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <set>

namespace nodeaware::tool {

namespace {

using nlohmann::ordered_json;
using namespace nodeaware::place;

enum class Start { block, cyclic };

struct PlaceArguments {
    std::string grid;
    bool is_periodic = false;
    std::string matrix;
    ValuesOf values = ValuesOf::bytes;
    std::string trace;
    std::string ppn; ///< empty: as in the trace
    Start start = Start::block;
    std::string topology; ///< empty: nothing is known of it
    Format format = Format::map;
    std::string output; ///< empty: none
    std::string hosts;  ///< likewise
    bool json = false;
};

Source read_source(const PlaceArguments& arguments) {
    if (!arguments.grid.empty()) { return grid_source(arguments.grid, arguments.is_periodic); }
    if (!arguments.matrix.empty()) { return matrix_source(arguments.matrix, arguments.values); }
    return trace_source(arguments.trace);
}

Placement start_of(const PlaceArguments& arguments, const Source& source) {
    if (arguments.ppn.empty()) { return source.recorded; }
    const auto sizes = node_sizes(source.graph.ranks(), parse_ppn(arguments.ppn));
    return arguments.start == Start::block ? block_placement(sizes) : cyclic_placement(sizes);
}

size_t nodes_of(const Placement& placement) {
    return std::set<int>(placement.begin(), placement.end()).size();
}

void write_placement(const PlaceArguments& arguments, const Placement& placement) {
    if (const std::string why = complaint_of(placement, arguments.format); !why.empty()) {
        throw std::runtime_error(arguments.output + ": not written: " + why);
    }
    const size_t nodes = nodes_of(placement);
    std::vector<std::string> hosts;
    if (!arguments.hosts.empty()) {
        hosts = read_hosts(arguments.hosts, nodes);
    } else if (arguments.format == Format::slurm || arguments.format == Format::hydra) {
        for (size_t i = 0; i < nodes; ++i) { hosts.push_back("node" + std::to_string(i)); }
        std::fprintf(stderr, "nodeaware: node0, node1, ... stand for the names of the hosts "
                             "(--hosts)\n");
    }
    tuning::write_text_file(arguments.output, to_text(placement, arguments.format, hosts));
}

void print_row(const char* what, uint64_t before, uint64_t after) {
    std::printf("%-36s %15llu %15llu", what, static_cast<unsigned long long>(before),
                static_cast<unsigned long long>(after));
    if (before > 0) {
        const auto old = static_cast<double>(before);
        std::printf(" %+8.1f %%", 100 * (static_cast<double>(after) - old) / old);
    }
    std::printf("\n");
}

std::string way_of(const TorusChoice& found) {
    const place::Choice& choice = found.choice;
    if (!choice.way.empty()) { return choice.way; }
    if (choice.before.messages == 0) {
        return "ranks stay where they are, for no messages pass between nodes";
    }
    const std::string why = "ranks stay where they are, for no placement was found that saves " +
                            std::to_string(std::lround(100 * least_gain)) +
                            " % of the messages between nodes ";
    return why + (found.is_rejected ? "without more traffic on links, or on the one with most"
                                    : "without more from the node that sends most");
}

/// Without a torus: no links.
TorusChoice choose(const PlaceArguments& arguments, const Source& source) {
    const Placement start = start_of(arguments, source);
    std::vector<place::Suggestion> suggestions;
    if (source.grid.dimensions.empty()) {
        suggestions = place::partitioned(source.graph, ranks_on_nodes(start));
    }
    if (arguments.topology.empty()) {
        return {choose_placement(source.graph, start, source.grid, place::Search::thorough,
                                 suggestions),
                {},
                {},
                {},
                false};
    }
    const Torus torus = parse_torus(arguments.topology);
    if (nodes_of(start) > torus.nodes()) {
        throw std::invalid_argument(
            "--topology: expected at least " + std::to_string(nodes_of(start)) + " nodes, found " +
            arguments.topology + ", which has " + std::to_string(torus.nodes()));
    }
    check_link_traffic(source.graph, torus);
    return choose_in_torus(source.graph, start, source.grid, torus, suggestions);
}

bool is_even(const Placement& placement) {
    std::map<int, int> ranks;
    for (const int node : placement) { ++ranks[node]; }
    return std::all_of(ranks.begin(), ranks.end(),
                       [&](const auto& node) { return node.second == ranks.begin()->second; });
}

void print_use(const PlaceArguments& arguments, const place::Choice& choice) {
    const std::string use =
        use_of(arguments.format, quoted({arguments.output}), !arguments.hosts.empty());
    if (!use.empty()) { std::printf("\n%s\n", use.c_str()); }
    if (arguments.format == Format::cray && !is_even(choice.placement)) {
        std::printf("The job has to be started with as many ranks on each node as a line has.\n");
    }
}

void print_links(const Source& source, const TorusChoice& found) {
    print_row("messages x hops", found.before.messages, found.after.messages);
    print_row("  most on a link", found.before.worst_messages, found.after.worst_messages);
    if (source.has_bytes) {
        print_row("bytes x hops", found.before.bytes, found.after.bytes);
        print_row("  most on a link", found.before.worst_bytes, found.after.worst_bytes);
    }
    if (found.node_aware.messages != found.after.messages) {
        print_row("messages x hops, nodes in order", found.before.messages,
                  found.node_aware.messages);
    }
}

/// What messages take by MPI before and after, in seconds.
struct Predicted {
    std::string table;
    double before = 0;
    double after = 0;
};

Predicted predict(const PlaceArguments& arguments, const Source& source,
                  const place::Choice& choice) {
    const UsedTable used = used_table();
    const Costs costs = tuning::costs_of(used.loaded.table);
    return {used.loaded.table.name,
            predicted_seconds(source.graph, start_of(arguments, source), costs),
            predicted_seconds(source.graph, choice.placement, costs)};
}

void print_predicted(const Predicted& predicted, bool has_bytes) {
    std::printf("%-36s %12.2f us %12.2f us", "predicted, by MPI alone", 1e6 * predicted.before,
                1e6 * predicted.after);
    if (predicted.before > 0) {
        std::printf(" %+8.1f %%", 100 * (predicted.after - predicted.before) / predicted.before);
    }
    std::printf("  (table %s%s)\n", predicted.table.c_str(),
                has_bytes ? "" : ", of messages of few bytes");
}

void print_choice(const PlaceArguments& arguments, const Source& source, const TorusChoice& found) {
    const place::Choice& choice = found.choice;
    const auto ranks = static_cast<int64_t>(choice.placement.size());
    const auto nodes = static_cast<int64_t>(nodes_of(choice.placement));
    std::printf("%s on %s: %s\n\n", doctor::counted(ranks, "rank").c_str(),
                doctor::counted(nodes, "node").c_str(), way_of(found).c_str());
    std::printf("%-36s %15s %15s\n", "", "before", "after");
    print_row("messages between nodes", choice.before.messages, choice.after.messages);
    print_row("  most that a node sends", choice.before.worst_messages,
              choice.after.worst_messages);
    if (source.has_bytes) {
        print_row("bytes between nodes", choice.before.bytes, choice.after.bytes);
        print_row("  most that a node sends", choice.before.worst_bytes, choice.after.worst_bytes);
    }
    print_predicted(predict(arguments, source, choice), source.has_bytes);
    if (!arguments.topology.empty()) { print_links(source, found); }
    if (!arguments.output.empty()) { print_use(arguments, choice); }
}

ordered_json off_node_json(const Carried& placed, bool has_bytes) {
    ordered_json json = {{"messages", placed.messages},
                         {"worst_node_messages", placed.worst_messages}};
    if (has_bytes) {
        json["bytes"] = placed.bytes;
        json["worst_node_bytes"] = placed.worst_bytes;
    }
    return json;
}

ordered_json links_json(const Carried& links, bool has_bytes) {
    ordered_json json = {{"messages", links.messages},
                         {"worst_link_messages", links.worst_messages}};
    if (has_bytes) {
        json["bytes"] = links.bytes;
        json["worst_link_bytes"] = links.worst_bytes;
    }
    return json;
}

ordered_json choice_json(const PlaceArguments& arguments, const Source& source,
                         const TorusChoice& found) {
    const place::Choice& choice = found.choice;
    ordered_json json = {{"ranks", choice.placement.size()},
                         {"nodes", nodes_of(choice.placement)},
                         {"is_start", choice.way.empty()},
                         {"way", choice.way},
                         {"before", off_node_json(choice.before, source.has_bytes)},
                         {"after", off_node_json(choice.after, source.has_bytes)}};
    const Predicted predicted = predict(arguments, source, choice);
    json["model_table"] = predicted.table;
    json["before"]["predicted_seconds"] = predicted.before;
    json["after"]["predicted_seconds"] = predicted.after;
    if (!arguments.topology.empty()) {
        json["topology"] = arguments.topology;
        json["links"] = {{"before", links_json(found.before, source.has_bytes)},
                         {"node_aware", links_json(found.node_aware, source.has_bytes)},
                         {"after", links_json(found.after, source.has_bytes)}};
    }
    json["node_of_rank"] = choice.placement;
    return json;
}

void place_ranks(const PlaceArguments& arguments) {
    if (arguments.grid.empty() && arguments.matrix.empty() && arguments.trace.empty()) {
        throw CLI::RequiredError("--grid, --matrix or --trace");
    }
    if (arguments.ppn.empty() && arguments.trace.empty()) { throw CLI::RequiredError("--ppn"); }
    const bool has_hosts = arguments.format != Format::map && arguments.format != Format::cray;
    if (!arguments.hosts.empty() && !has_hosts) {
        throw CLI::ValidationError("--hosts",
                                   "only slurm, rankfile and hydra have names of hosts in them");
    }
    const Source source = read_source(arguments);
    const TorusChoice found = choose(arguments, source);
    if (!arguments.output.empty()) { write_placement(arguments, found.choice.placement); }
    if (!arguments.output.empty() && tuning::is_standard_output(arguments.output)) {
        // that has the placement alone
    } else if (arguments.json) {
        print_json(choice_json(arguments, source, found));
    } else {
        print_choice(arguments, source, found);
    }
    if (!source.is_whole) { throw CLI::RuntimeError(1); }
}

void add_sources(CLI::App& command, PlaceArguments& arguments) {
    CLI::Option* const grid =
        command.add_option("--grid", arguments.grid,
                           "Ranks form such a grid (24x18x16), numbered as MPI_Cart_create does, "
                           "and send a message to each neighbour at their faces");
    command.add_flag("--periodic", arguments.is_periodic, "The grid is closed in each dimension")
        ->needs(grid);
    CLI::Option* const matrix =
        command
            .add_option("--matrix", arguments.matrix,
                        "Who sends to whom: a MatrixMarket matrix with a row and a column for "
                        "each rank, such as `nodeaware export --matrix` writes")
            ->excludes(grid);
    add_choice<ValuesOf>(command, "--matrix-of", arguments.values,
                         "What its values are: bytes (default) of a message, or messages; places: "
                         "they do not count, and each entry is a message, as without values",
                         {{"bytes", ValuesOf::bytes},
                          {"messages", ValuesOf::messages},
                          {"places", ValuesOf::places}})
        ->option_text("QUANTITY")
        ->needs(matrix);
    command.add_option("--trace", arguments.trace, "The folder of a trace that tells it")
        ->excludes(grid)
        ->excludes(matrix);
}

void add_output(CLI::App& command, PlaceArguments& arguments) {
    CLI::Option* const output =
        command.add_option("--output", arguments.output, "Write the placement to this file")
            ->check(not_empty());
    add_choice<Format>(command, "--format", arguments.format,
                       "Of that file: map (default; lines RANK NODE), rankfile (Open MPI), slurm "
                       "(SLURM_HOSTFILE), cray (MPICH_RANK_ORDER) or hydra (a machine "
                       "file of MPICH's mpiexec, which takes a host that comes up again for "
                       "another node: other placements than rounds of the same nodes are "
                       "refused)",
                       {{"map", Format::map},
                        {"rankfile", Format::rankfile},
                        {"slurm", Format::slurm},
                        {"cray", Format::cray},
                        {"hydra", Format::hydra}})
        ->option_text("FORMAT")
        ->needs(output);
    command
        .add_option(
            "--hosts", arguments.hosts,
            "A file with the name of each node's host on a line (default for slurm and hydra: "
            "node0, node1, ..., to be replaced; for rankfile: the nodes of the allocation)")
        ->check(not_empty())
        ->needs(output);
    command.add_flag("--json", arguments.json, "Print JSON");
}

} // namespace

void add_place_command(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "place", "Find a placement of ranks on nodes with few messages between nodes");
    auto arguments = std::make_shared<PlaceArguments>();
    add_sources(*command, *arguments);
    CLI::Option* const ppn =
        command->add_option("--ppn", arguments->ppn,
                            "Ranks per node, one number or several with commas between, which are "
                            "used in turn (default: the nodes of the trace)");
    add_choice<Start>(*command, "--start", arguments->start,
                      "How ranks lie otherwise: block (default; one node after the other) or "
                      "cyclic (dealt out one by one)",
                      {{"block", Start::block}, {"cyclic", Start::cyclic}})
        ->option_text("START")
        ->needs(ppn);
    command
        ->add_option("--topology", arguments->topology,
                     "The network, if it is a torus: torus:XxYxZ in routers with a node at each, "
                     "or torus:XxYxZxN with N nodes at each (of other than three dimensions: "
                     "torus:XxY*N); then ranks are placed so that messages pass few links. Nodes "
                     "are numbered with N fastest, then Z")
        ->option_text("TORUS")
        ->check(not_empty());
    add_output(*command, *arguments);
    command->callback([arguments] { place_ranks(*arguments); });
}

} // namespace nodeaware::tool
