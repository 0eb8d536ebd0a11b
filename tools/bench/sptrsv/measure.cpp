#include "measure.hpp"

#include "tools/bench/krylov/timing.hpp"
#include "tools/bench/value_hash.hpp"

#include <algorithm>

namespace bench::sptrsv {
namespace {

MessageCounts sum_of(const MessageCounts& mine, MPI_Comm comm) {
    MessageCounts sum;
    check(MPI_Allreduce(&mine.all, &sum.all, 1, MPI_INT64_T, MPI_SUM, comm), "MPI_Allreduce");
    check(MPI_Allreduce(&mine.between_nodes, &sum.between_nodes, 1, MPI_INT64_T, MPI_SUM, comm),
          "MPI_Allreduce");
    return sum;
}

// Of all parts, which are zero where they are other ranks'.
std::vector<double> whole(const std::vector<double>& part, MPI_Comm comm) {
    std::vector<double> x(part.size());
    check(MPI_Allreduce(part.data(), x.data(), static_cast<int>(part.size()), MPI_DOUBLE, MPI_SUM,
                        comm),
          "MPI_Allreduce");
    return x;
}

} // namespace

nodeaware::Topology topology_of(int ranks_per_node, MPI_Comm comm) {
    int rank = 0;
    int ranks = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
    MPI_Comm machine = MPI_COMM_NULL;
    check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine),
          "MPI_Comm_split_type");
    int place = 0;
    check(MPI_Comm_rank(machine, &place), "MPI_Comm_rank");
    int first = rank; // of the machine, which names it
    check(MPI_Bcast(&first, 1, MPI_INT, 0, machine), "MPI_Bcast");
    check(MPI_Comm_free(&machine), "MPI_Comm_free");
    // Nodes of a machine come one after the other, so that no two names are alike.
    const int mine = first + (ranks_per_node > 0 ? ranks * (place / ranks_per_node) : 0);
    std::vector<int> node_of(static_cast<std::size_t>(ranks));
    check(MPI_Allgather(&mine, 1, MPI_INT, node_of.data(), 1, MPI_INT, comm), "MPI_Allgather");
    return nodeaware::Topology(node_of);
}

Result measure(const Case& of, const System& system, const Settings& settings,
               const nodeaware::Topology& topology, MPI_Comm comm) {
    Supernodes supernodes = supernodes_of(system.factor, settings.limits);
    const Distribution distribution = distribute(supernodes, of.grid, of.tree, topology);
    Solver solver(std::move(supernodes), distribution, settings.solver, topology, comm);
    const StartLine line(settings.start, settings.pause, topology.ranks());
    Result result;
    result.of = of;
    result.computed = count_messages(distribution, topology);
    for (int repeat = -settings.warmup; repeat < settings.repeats; ++repeat) {
        // Ranks meet, or a message of the next solve would be taken in this.
        const double start = line.wait(comm).time;
        solver.solve(system.right_side);
        const double end = now();
        line.rest();
        const double time = krylov::slowest(end - start, comm) * 1e6;
        if (repeat >= 0) result.times.push_back(time);
        const std::vector<double> x = whole(solver.solution(), comm);
        const double residual = relative_residual(system, x);
        result.is_wrong |= !(residual <= settings.tolerance); // also where it is no number
        result.residual = std::max(result.residual, residual);
        result.solution = value_hash(x);
    }
    result.sent = sum_of(solver.sent(), comm);
    result.is_wrong |= result.sent.all != result.computed.all ||
                       result.sent.between_nodes != result.computed.between_nodes;
    return result;
}

std::string tree_name(TreeKind kind) {
    switch (kind) {
    case TreeKind::flat: return "flat";
    case TreeKind::binary: return "binary";
    case TreeKind::node: return "node";
    }
    return "";
}

} // namespace bench::sptrsv
