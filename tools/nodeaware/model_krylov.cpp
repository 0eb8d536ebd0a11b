#include "tools/nodeaware/model_krylov.hpp"

#include "tools/nodeaware/numbers.hpp"
#include "tools/nodeaware/place/source.hpp"

#include <algorithm>
#include <stdexcept>

namespace nodeaware::tool {

namespace {

using namespace nodeaware::tuning;

/// How far nodes are from each other that are numbered as in a Torus.
NodeDistances distances_in(const place::Torus& torus, int nodes) {
    std::vector<std::vector<int>> positions;
    positions.reserve(static_cast<size_t>(nodes));
    for (int node = 0; node < nodes; ++node) {
        positions.push_back(torus.position(static_cast<size_t>(node)));
    }
    NodeDistances distances;
    distances.hops = [torus, positions](int from, int to) {
        return static_cast<double>(place::hops(torus, positions[static_cast<size_t>(from)],
                                               positions[static_cast<size_t>(to)]));
    };
    distances.spans = [torus, positions](int count) {
        std::vector<TorusSpan> spans;
        for (const int ring : torus.dimensions) { spans.push_back({1, ring}); }
        for (int node = 0; node < count; ++node) {
            // The first node is at the origin.
            const std::vector<int>& position = positions[static_cast<size_t>(node)];
            for (size_t i = 0; i < spans.size(); ++i) {
                spans[i].length = std::max(spans[i].length, position[i] + 1);
            }
        }
        return spans;
    };
    return distances;
}

NodeDistances distances_of(const std::string& topology, int nodes) {
    const place::Torus torus = place::parse_torus(topology);
    if (static_cast<size_t>(nodes) > torus.nodes()) {
        throw std::invalid_argument("--topology: expected at least " + std::to_string(nodes) +
                                    " nodes, as --nodes has it, found " + topology +
                                    ", which has " + std::to_string(torus.nodes()));
    }
    return distances_in(torus, nodes);
}

void set_waits(KrylovInput& input, const std::string& times) {
    if (times.empty()) {
        input.blocking_wait = input.nonblocking_wait = input.run.sync.value_or(0);
        return;
    }
    if (input.run.sync) {
        throw std::invalid_argument("--times: expected no sync in --run-data beside it");
    }
    const auto measured = read_computation_times(times);
    input.blocking_wait = synchronization_penalty(measured, false);
    input.nonblocking_wait = synchronization_penalty(measured, true);
}

/// Throws if `option` is given.
void expect_not_given(const CLI::App& command, const char* option, const std::string& expected,
                      const std::string& found) {
    if (command.count(option) == 0) { return; }
    throw std::invalid_argument(std::string(option) + ": expected " + expected + ", found " +
                                found);
}

} // namespace

void add_krylov_options(CLI::App& command, KrylovArguments& arguments) {
    CLI::Option* const kernel = command.get_option("--kernel");
    command
        .add_option("--run-data", arguments.run_data,
                    "What the paper on Krylov solvers reads from saved runs, as KEY=NUMBER,...: "
                    "bytes of an allreduce (8); rows of each process (4096); points of halo "
                    "exchanges, 7 or 27 (27); iterations (100); "
                    "vectors, preconditioner, product: seconds of one process in an iteration "
                    "(default: at the peak of a core, if the table has that); sync: seconds that "
                    "an allreduce waits for the last process (0); stalls: of the network, per byte "
                    "(0); hops of each message; overlap: seconds of computation that nonblocking "
                    "kernels overlap (0.001)")
        ->check(not_empty())
        ->needs(kernel);
    command
        .add_option("--times", arguments.times,
                    "A file with the computation times of a solver, from which sync is computed: a "
                    "line for each iteration, with the seconds of each process between blanks")
        ->check(not_empty())
        ->needs(kernel);
    command
        .add_option("--algorithm", arguments.algorithm,
                    "What allreduces send: tree (to one process of each node, between these, and "
                    "back, as in the paper), doubling (recursive doubling of all processes), "
                    "node-doubling (of one process of each node, behind trees in the nodes), "
                    "halving and node-halving (the same in parts, which are gathered) or binomial "
                    "(trees of all processes). Default: of a table of Open MPI doubling, of larger "
                    "sums halving, nonblocking binomial; of MPICH node-doubling, of as many "
                    "numbers as nodes node-halving, nonblocking doubling; else tree")
        ->check(CLI::IsMember(allreduce_algorithms()))
        ->needs(kernel);
    command
        .add_option("--topology", arguments.topology,
                    "The network, from which hops are counted: torus:XxYxZ in routers with a node "
                    "at each, or torus:XxYxZxN with N nodes at each")
        ->check(not_empty())
        ->needs(kernel);
}

void check_kernel_options(const CLI::App& command, const std::string& kernel, int figure) {
    const std::string found = "--kernel " + kernel;
    if (!is_krylov_kernel(kernel)) {
        std::string expected = "--kernel";
        for (const std::string& name : krylov_kernels) {
            expected += (&name == &krylov_kernels.front() ? " " : ", ") + name;
        }
        for (const char* option : {"--run-data", "--times", "--algorithm", "--topology"}) {
            expect_not_given(command, option, expected, found);
        }
    }
    if (kernel == "copies" || kernel == "alltoallv") { return; }
    for (const char* option : {"--dup", "--gps"}) {
        expect_not_given(command, option, "--kernel copies or alltoallv", found);
    }
    if (!is_krylov_kernel(kernel)) { return; }
    if (!is_solver(kernel)) {
        expect_not_given(command, "--times", "--kernel cg, sapcg, nbpcg, pipecg or pipe2cg", found);
    }
    if (kernel == "halo") {
        expect_not_given(command, "--algorithm", "--kernel allreduce or a solver", found);
    }
    if (is_over_nodes(figure)) {
        const std::string of_figure =
            figure == 0 ? " without --figure" : " --figure " + std::to_string(figure);
        expect_not_given(command, "--sizes", "a figure over sizes", found + of_figure);
    }
}

CurveTable krylov_curves_of(const ModelTable& table, const std::string& kernel, int figure,
                            const KrylovArguments& arguments, const std::vector<double>& sizes) {
    KrylovInput input = arguments.input;
    input.run = parse_run_data(arguments.run_data);
    if (!arguments.topology.empty()) {
        if (input.run.hops) {
            throw std::invalid_argument("--topology: expected no hops in --run-data beside it");
        }
        input.distances = distances_of(arguments.topology, input.nodes);
    }
    set_waits(input, arguments.times);
    if (!arguments.algorithm.empty()) {
        input.algorithm = allreduce_algorithm(arguments.algorithm);
    }
    return krylov_curves(table, kernel, figure, input, sizes);
}

} // namespace nodeaware::tool
