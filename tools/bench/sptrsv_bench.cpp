// sptrsv_bench: times sparse triangular solves that are driven by messages. It knows nothing of the
// library but how it numbers nodes.
#include "command_line.hpp"
#include "json_file.hpp"
#include "mpi_forms.hpp"
#include "program.hpp"
#include "text_table.hpp"
#include "tools/bench/sptrsv/measure.hpp"
#include "value_hash.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace bench;
using namespace bench::sptrsv;

struct Options {
    FactorOptions factor;
    std::vector<std::string> layouts;
    std::vector<std::string> trees = {"binary"};
    Settings settings;
    double delay_us = 0;
    double shared_clock_ms = 0;
    int ranks_per_node = 0;
    std::string json;
};

const std::vector<TreeKind> tree_kinds = {TreeKind::flat, TreeKind::binary, TreeKind::node};

void add_options(CLI::App& app, Options& options) {
    add_factor_options(app, options.factor, options.settings.limits);
    std::vector<std::string> names;
    names.reserve(tree_kinds.size());
    for (const TreeKind kind : tree_kinds) names.push_back(tree_name(kind));
    app.add_option(
           "--layout", options.layouts,
           "Ranks as rows x columns, over which blocks are dealt out; one or more (default: "
           "Px1, as square as it can be, 1xP)")
        ->delimiter(',');
    app.add_option("--tree", options.trees,
                   "How parts of x and of sums go between ranks, one or more of flat, binary, and "
                   "node: one message to each node, and trees in nodes")
        ->delimiter(',')
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    app.add_flag("--in-order", options.settings.solver.is_in_order,
                 "Sums are added in the same order each time");
    app.add_option("--delay", options.delay_us,
                   "Microseconds that messages are held back at most, in random order")
        ->check(CLI::Range(0.0, 1e7))
        ->capture_default_str();
    app.add_option("--seed", options.settings.solver.delays.seed, "Of these")
        ->capture_default_str();
    app.add_option("--shared-clock", options.shared_clock_ms,
                   "All ranks run on this machine: start them at one moment, so many milliseconds "
                   "after a barrier, whose last messages are over then")
        ->check(CLI::Range(0.001, 1e4));
    app.add_option("--ppn", options.ranks_per_node,
                   "Ranks of a node (default: those that share a machine)")
        ->check(CLI::Range(1, 1 << 20));
    app.add_option("--repeats", options.settings.repeats, "Solves; medians are taken over them")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    app.add_option("--warmup", options.settings.warmup, "Solves before the first that counts")
        ->check(CLI::Range(0, 100000))
        ->capture_default_str();
    app.add_option("--json", options.json, "Write everything to this file");
}

ProcessGrid parse_layout(const std::string& text, int ranks) {
    ProcessGrid grid;
    char times = 0;
    char rest = 0;
    std::istringstream words(text);
    if (!(words >> grid.rows >> times >> grid.columns) || times != 'x' || words >> rest ||
        grid.rows < 1 || grid.columns < 1 ||
        std::int64_t{grid.rows} * grid.columns != std::int64_t{ranks}) {
        throw InputError("--layout " + text + ": expected rows x columns of all " +
                         std::to_string(ranks) + " ranks, such as " + std::to_string(ranks) + "x1");
    }
    return grid;
}

std::vector<Case> cases_of(const Options& options, int ranks) {
    std::vector<ProcessGrid> grids;
    for (const std::string& layout : options.layouts) grids.push_back(parse_layout(layout, ranks));
    if (grids.empty()) grids = usual_grids(ranks);
    std::vector<Case> cases;
    for (const ProcessGrid& grid : grids) {
        for (const std::string& tree : options.trees) {
            cases.push_back(
                {grid, *std::find_if(tree_kinds.begin(), tree_kinds.end(),
                                     [&](TreeKind kind) { return tree_name(kind) == tree; })});
        }
    }
    return cases;
}

std::string residual_text(const Result& result) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.2e", result.residual);
    return buffer;
}

TextTable<Result> result_table() {
    return TextTable<Result>({
        {"layout", -8, [](const Result& r) { return r.of.grid.text(); }},
        {"tree", -6, [](const Result& r) { return tree_name(r.of.tree); }},
        {"us/solve", 32, [](const Result& r) { return spread(summarize(r.times), 1); }},
        {"messages", 10, [](const Result& r) { return std::to_string(r.sent.all); }},
        {"between nodes", 13, [](const Result& r) { return std::to_string(r.sent.between_nodes); }},
        {"residual", 10, residual_text},
        {"result", -6, [](const Result& r) { return std::string(r.is_wrong ? "WRONG" : "ok"); }},
    });
}

nlohmann::ordered_json to_json(const Result& result) {
    return {{"layout", result.of.grid.text()},
            {"tree", tree_name(result.of.tree)},
            {"us_per_solve", bench::to_json(summarize(result.times))},
            {"repeats_us", result.times},
            {"messages", result.sent.all},
            {"messages_between_nodes", result.sent.between_nodes},
            {"computed_messages", result.computed.all},
            {"computed_messages_between_nodes", result.computed.between_nodes},
            {"relative_residual", result.residual},
            {"solution_hash", hash_text(result.solution)},
            {"wrong", result.is_wrong}};
}

nlohmann::ordered_json describe_run(const Options& options, const nodeaware::Topology& topology,
                                    int ranks_with_library) {
    return {{"program", "sptrsv_bench"},
            {"mpi_library", mpi_library_version()},
            {"ranks", topology.ranks()},
            {"nodes", topology.nodes()},
            {"ranks_with_library", ranks_with_library},
            {"options",
             {{"matrix", options.factor.matrix},
              {"grid", options.factor.grid},
              {"tree", options.trees},
              {"in_order", options.settings.solver.is_in_order},
              {"delay_us", options.delay_us},
              {"seed", options.settings.solver.delays.seed},
              {"shared_clock_ms", options.shared_clock_ms},
              {"ppn", options.ranks_per_node},
              {"widest", options.settings.limits.widest},
              {"relaxed", options.settings.limits.relaxed},
              {"repeats", options.settings.repeats},
              {"warmup", options.settings.warmup}}},
            {"cases", nlohmann::ordered_json::array()}};
}

int run(Options& options, MPI_Comm comm) {
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    options.settings.solver.delays.most = options.delay_us * 1e-6;
    if (options.shared_clock_ms > 0) options.settings.start = StartLine::Mode::shared_clock;
    options.settings.pause = options.shared_clock_ms * 1e-3;
    const nodeaware::Topology topology = topology_of(options.ranks_per_node, comm);
    const std::vector<Case> cases = cases_of(options, topology.ranks());
    const System system = make_system(options.factor, comm);
    nlohmann::ordered_json json =
        describe_run(options, topology, ranks_with_library("sptrsv_bench", false, comm));
    json["rows"] = system.factor.size;
    json["entries"] = system.factor.rows.size();
    json["supernodes"] = supernodes_of(system.factor, options.settings.limits).count();
    const TextTable<Result> table = result_table();
    if (rank == 0) {
        std::printf("%d rows, %zu entries, %s supernodes; %d ranks on %d nodes\n",
                    system.factor.size, system.factor.rows.size(),
                    json["supernodes"].dump().c_str(), topology.ranks(), topology.nodes());
        table.print_header();
    }
    bool is_wrong = false;
    for (const Case& one : cases) {
        const Result result = measure(one, system, options.settings, topology, comm);
        is_wrong |= result.is_wrong;
        if (rank == 0) table.print(result);
        json["cases"].push_back(to_json(result));
    }
    if (!options.json.empty())
        throw_everywhere(rank == 0 ? write_json(options.json, json) : "", comm);
    return is_wrong ? exit_wrong_data : exit_ok;
}

} // namespace

int main(int argc, char** argv) {
    return bench::program_status([&] {
        CLI::App app("Times sparse triangular solves that are driven by messages", "sptrsv_bench");
        Options options;
        add_options(app, options);
        return run_program(argc, argv, app, [&](MPI_Comm comm) { return run(options, comm); });
    });
}
