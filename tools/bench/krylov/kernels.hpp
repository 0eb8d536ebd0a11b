// The kernels of Krylov solvers, measured one by one.
#pragma once

#include "tools/bench/statistics.hpp"

#include <mpi.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench::krylov {

struct Settings {
    int iterations = 0; // 0: the kernel's own default
    int repeats = 5;
    int warmup = 1; // repeats before the first that counts
    int bytes = 8;
    double overlap = 1;
    int cells = 8;
    int dimensions = 3;
    int points = 27;
    std::array<int, 3> grid{}; // of ranks
};

// The same computation after a blocking sum.
struct OverlapTimes {
    double allreduce = 0; // us
    double computation = 0;
    std::vector<double> blocking;
    std::vector<double> ratios; // blocking : nonblocking
};

// Of the rank with most.
struct HaloSize {
    int messages = 0;
    std::int64_t bytes = 0;
};

struct SolverFigures {
    bool is_converged = false;
    double residual = 0;        // |b - A x| / |b|
    std::uint64_t solution = 0; // a hash of all its bits
};

struct Result {
    std::string kernel;
    int iterations = 0;
    std::vector<double> times; // us per iteration, for each repeat the slowest rank's
    double allreduces = 0;     // calls of an iteration
    double iallreduces = 0;
    bool is_wrong = false; // what was computed or received, on any rank

    std::optional<OverlapTimes> overlap;
    std::optional<HaloSize> halo;
    std::optional<SolverFigures> solved;
};

// All names that measure() knows.
std::vector<std::string> kernel_names();

// Collective over `comm`, whose ranks are on the grid in their order; complete on rank 0.
Result measure(const std::string& kernel, const Settings& settings, MPI_Comm comm);

} // namespace bench::krylov
