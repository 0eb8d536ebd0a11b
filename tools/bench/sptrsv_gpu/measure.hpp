// A triangular solve in one layout, measured.
#pragma once

#include "plan.hpp"
#include "solver.hpp"
#include "tools/triangular/system.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace bench::sptrsv_gpu {

struct Case {
    int gpus = 1;
    triangular::ProcessGrid grid;
    triangular::TreeKind tree = triangular::TreeKind::binary;
};

struct Settings {
    triangular::SupernodeLimits limits;
    SolverSettings solver;
    bool is_on_host = false;
    int gpus_per_node = 0; // 0: all
    int repeats = 10;
    int warmup = 2;
    double tolerance = 1e-12; // of the relative residual
};

struct Result {
    Case of;
    std::vector<double> times;      // us
    std::int64_t puts = 0;          // of the last solve
    std::int64_t computed_puts = 0; // from the trees
    CriticalPath critical_path;
    int blocks = 0;      // of SOLVE, of each virtual GPU
    int elsewhere = 0;   // as in Outcome; the most of all solves
    double residual = 0; // the largest of all solves
    std::string failure; // what a block has waited for in vain, else empty
    bool is_wrong = false;

    const char* state() const { return !failure.empty() ? "STUCK" : is_wrong ? "WRONG" : "ok"; }
};

// After the first solve that gets stuck there are no more.
Result measure(const Case& of, const triangular::System& system, const Settings& settings);

} // namespace bench::sptrsv_gpu
