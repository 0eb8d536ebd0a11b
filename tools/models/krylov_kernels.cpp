#include "tools/models/krylov_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace nodeaware::tuning {

namespace {

constexpr double bytes_of_number = 8;

struct Solver {
    std::string_view name;
    double (*seconds)(const SolverParts&, double);
    bool is_nonblocking = false;
    /// Dot products that one allreduce adds up.
    double numbers = 1;
};

// PIPE2CG's allreduce is that of two iterations.
constexpr Solver solvers[] = {{"cg", pcg, false, 1},
                              {"sapcg", sapcg, false, 2},
                              {"nbpcg", nbpcg, true, 1},
                              {"pipecg", pipecg, true, 2},
                              {"pipe2cg", pipe2cg, true, 4}};

const Solver& solver_of(std::string_view name) {
    const auto* found = std::find_if(std::begin(solvers), std::end(solvers),
                                     [&](const Solver& one) { return one.name == name; });
    if (found == std::end(solvers)) {
        throw std::invalid_argument("no solver " + std::string(name));
    }
    return *found;
}

void need(bool is_there, const ModelTable& table, const std::string& what, const char* who) {
    if (is_there) { return; }
    throw TableError("model table " + table.name + " has no parameters " + what + ", which " + who);
}

} // namespace

bool is_solver(std::string_view kernel) {
    return std::any_of(std::begin(solvers), std::end(solvers),
                       [&](const Solver& one) { return one.name == kernel; });
}

double solver_seconds(std::string_view solver, const SolverParts& parts, double iterations) {
    return solver_of(solver).seconds(parts, iterations);
}

KrylovKernels::KrylovKernels(const ModelTable& table, const KrylovInput& input)
    : table_(table), input_(input), processes_per_node_(input.processes_per_node) {
    if (processes_per_node_ <= 0) { processes_per_node_ = table.fingerprint.processes_per_node; }
    need(processes_per_node_ > 0, table, "fingerprint.processes_per_node", "kernels need");
    need(!has_hops() || (table.network && hop_latency(*table.network) > 0), table, "network.links",
         "hops need");
    need(!has_congestion() || (table.network && table.network->stall_seconds > 0), table,
         "network.stall_seconds", "stalls need");
}

bool KrylovKernels::has_hops() const {
    return input_.run.hops || static_cast<bool>(input_.distances.hops);
}

AllreduceHops KrylovKernels::hops_of_allreduce(int nodes) const {
    if (input_.run.hops) { return {*input_.run.hops, *input_.run.hops, *input_.run.hops}; }
    if (!input_.distances.spans) { return {}; }
    return allreduce_hops(input_.distances.spans(nodes), nodes);
}

Penalties KrylovKernels::penalties(double cores, Counted counted, double hops) const {
    Penalties result;
    if (counted.max_rate) { result.cores = cores; }
    if (counted.congestion) { result.stalls_per_byte = input_.run.stalls; }
    if (counted.hops && hops > 0) {
        result.hops = hops;
        result.hop_latency = hop_latency(*table_.network);
    }
    return result;
}

AllreduceAlgorithm KrylovKernels::algorithm_of(Call call, int nodes, double bytes) const {
    if (input_.algorithm) { return *input_.algorithm; }
    return usual_algorithm(table_.fingerprint.mpi, {.is_nonblocking = call == Call::nonblocking,
                                                    .bytes = bytes,
                                                    .elements = std::ceil(bytes / bytes_of_number),
                                                    .nodes = nodes,
                                                    .ranks = int64_t{nodes} * processes_per_node_});
}

KernelCost KrylovKernels::allreduce(int nodes, double bytes, Counted counted, double hops,
                                    Call call) const {
    AllreduceInput input;
    input.bytes = bytes;
    input.elements = std::ceil(bytes / bytes_of_number);
    input.cores = processes_per_node_;
    input.nodes = nodes;
    input.penalties = penalties(1, counted, hops);
    const AllreduceAlgorithm algorithm = algorithm_of(call, nodes, bytes);
    if (algorithm == AllreduceAlgorithm::tree) { return tuning::allreduce(table_, input); }
    check_ranks(nodes);
    if (counted.max_rate) { input.penalties.cores = processes_per_node_; }
    return tuning::allreduce(table_, input,
                             count_allreduce(algorithm, nodes, processes_per_node_).rounds);
}

void KrylovKernels::check_ranks(int nodes) const {
    const int64_t ranks = int64_t{nodes} * processes_per_node_;
    if (ranks > most_halo_ranks) {
        throw std::invalid_argument("--nodes, --ppn: expected at most " +
                                    std::to_string(most_halo_ranks) + " ranks, found " +
                                    std::to_string(ranks));
    }
}

HaloCounts KrylovKernels::count(int nodes, HaloPlacement how) const {
    check_ranks(nodes);
    const place::Grid grid = balanced_grid(nodes * processes_per_node_);
    return count_halo(grid, place_halo(grid, nodes, processes_per_node_, how),
                      input_.distances.hops);
}

std::vector<double> KrylovKernels::links(const HaloCounts& counts, const HaloBytes& bytes) const {
    std::vector<double> seconds;
    for (const HaloCounts::Process& node : counts.by_node) {
        seconds.push_back(0);
        for (size_t kind = 0; kind < halo_kinds; ++kind) {
            if (bytes[kind] <= 0) { continue; }
            seconds.back() += node[kind].off_node * occupancy(table_, bytes[kind]);
        }
    }
    return seconds;
}

KernelCost KrylovKernels::halo(const HaloCounts& counts, Process process, const HaloBytes& bytes,
                               Counted counted, bool pipelined) const {
    const bool is_worst = process == Process::worst;
    const HaloCounts::Process& sent = is_worst ? counts.worst : counts.average;
    HaloInput input;
    for (size_t kind = 0; kind < halo_kinds; ++kind) {
        if (bytes[kind] <= 0) { continue; }
        input.messages.push_back({bytes[kind], sent[kind].on_node, sent[kind].off_node});
    }
    input.pipelined = pipelined;
    input.penalties =
        penalties(processes_per_node_, counted, input_.run.hops.value_or(counts.hops));
    if (counted.max_rate && knows_gaps(table_)) {
        const std::vector<double> all = links(counts, bytes);
        input.link = is_worst ? *std::max_element(all.begin(), all.end())
                              : std::accumulate(all.begin(), all.end(), 0.0) /
                                    static_cast<double>(all.size());
        // What the node sends is counted, and not taken for what all send who send as much.
        input.penalties.stalls_per_byte *= input.penalties.cores;
        input.penalties.cores = 1;
    }
    return halo_exchange(table_, input);
}

HaloBytes KrylovKernels::bytes_of_cube() const {
    const double side = std::cbrt(input_.run.rows);
    const double face = bytes_of_number * side * side;
    if (input_.run.points < 27) { return {face, 0, 0}; }
    return {face, bytes_of_number * side, bytes_of_number};
}

double KrylovKernels::computation(const std::optional<double>& measured, double operations) const {
    if (measured) { return *measured; }
    need(table_.network && table_.network->flop_seconds > 0, table_, "network.flop_seconds",
         "computation needs that --run-data does not give (vectors, preconditioner, product)");
    return operations * input_.run.rows * table_.network->flop_seconds;
}

KernelCost KrylovKernels::beside_halo(const KernelCost& allreduce, const HaloCounts& counts,
                                      int nodes, double bytes) const {
    const AllreduceAlgorithm algorithm = algorithm_of(Call::nonblocking, nodes, bytes);
    if (algorithm == AllreduceAlgorithm::tree || !knows_gaps(table_)) { return allreduce; }
    std::vector<double> all = links(counts, bytes_of_cube());
    const double alone = *std::max_element(all.begin(), all.end());
    const auto [rounds, sent] = count_allreduce(algorithm, nodes, processes_per_node_);
    for (size_t i = 0; i < rounds.size(); ++i) {
        const double each = occupancy(table_, rounds[i].part * bytes);
        for (size_t node = 0; node < all.size(); ++node) { all[node] += sent[i][node] * each; }
    }
    const double longer = *std::max_element(all.begin(), all.end()) - alone;
    const double postal = std::min(longer, allreduce.total());
    return {postal, allreduce.total() - postal};
}

SolverParts KrylovKernels::parts(std::string_view solver, int nodes, const HaloCounts& counts,
                                 Stage stage) const {
    // A row of the matrix has 27 numbers, each multiplied and added; incomplete Cholesky of its
    // pattern is as much. PCG has three vector updates and, at least, two dot products.
    constexpr double of_row = 2 * 27;
    constexpr double of_vectors = 2 * 5;
    const Solver& of_solver = solver_of(solver);
    const Counted counted = stage == Stage::postal ? Counted{} : all_penalties;
    SolverParts parts;
    parts.vectors = computation(input_.run.vectors, of_vectors);
    parts.preconditioner = computation(input_.run.preconditioner, of_row);
    parts.matrix_vector = computation(input_.run.product, of_row);
    parts.halo = halo(counts, Process::worst, bytes_of_cube(), counted, true).total();
    const double bytes = of_solver.numbers * bytes_of_number;
    parts.allreduce = allreduce(nodes, bytes, counted, hops_of_allreduce(nodes).average,
                                of_solver.is_nonblocking ? Call::nonblocking : Call::blocking);
    if (of_solver.is_nonblocking && stage != Stage::postal) {
        parts.allreduce = beside_halo(parts.allreduce, counts, nodes, bytes);
    }
    if (stage == Stage::synchronization) {
        parts.synchronization =
            of_solver.is_nonblocking ? input_.nonblocking_wait : input_.blocking_wait;
    }
    return parts;
}

} // namespace nodeaware::tuning
