// A triangular solve in one layout, measured.
#pragma once

#include "problem.hpp"
#include "solve.hpp"
#include "tools/bench/start_line.hpp"

#include <string>
#include <vector>

namespace bench::sptrsv {

struct Settings {
    SupernodeLimits limits;
    Solver::Settings solver;
    StartLine::Mode start = StartLine::Mode::barrier;
    double pause = 0; // s, before the start on a shared clock
    int repeats = 5;
    int warmup = 2;
    double tolerance = 1e-12; // of the relative residual
};

struct Case {
    ProcessGrid grid;
    TreeKind tree = TreeKind::binary;
};

struct Result {
    Case of;
    std::vector<double> times;  // us, for each repeat the slowest rank's
    MessageCounts sent;         // by all ranks in the last solve
    MessageCounts computed;     // from the trees
    double residual = 0;        // the largest of all solves
    std::uint64_t solution = 0; // a hash of all bits of the last
    bool is_wrong = false;
};

// Which node each rank of `comm` is on: as MPI says, or, with ranks_per_node > 0, as many ranks of
// a machine on each. Collective.
nodeaware::Topology topology_of(int ranks_per_node, MPI_Comm comm);

// Collective over `comm`; complete on rank 0.
Result measure(const Case& of, const System& system, const Settings& settings,
               const nodeaware::Topology& topology, MPI_Comm comm);

std::string tree_name(TreeKind kind);

} // namespace bench::sptrsv
