#pragma once

#include "tools/models/krylov_figures.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace nodeaware::tool {

/// What `nodeaware model` takes for the kernels of the paper on Krylov solvers.
struct KrylovArguments {
    tuning::KrylovInput input; ///< nodes and processes; the rest comes from the options below
    std::string run_data;
    std::string times;     ///< a file; empty: none
    std::string topology;  ///< empty: not known
    std::string algorithm; ///< of allreduces; empty: that of the table's MPI
};

inline const std::vector<std::string> krylov_kernels = {"allreduce", "halo",   "cg",     "sapcg",
                                                        "nbpcg",     "pipecg", "pipe2cg"};

void add_krylov_options(CLI::App& command, KrylovArguments& arguments);

/// Throws std::invalid_argument where an option is given that has no meaning for the kernel, or for
/// its figure; it names the option and what was expected.
void check_kernel_options(const CLI::App& command, const std::string& kernel, int figure);

/// The curves of one of krylov_kernels. Throws as tuning::krylov_curves(), and std::runtime_error
/// for a file that cannot be read.
tuning::CurveTable krylov_curves_of(const tuning::ModelTable& table, const std::string& kernel,
                                    int figure, const KrylovArguments& arguments,
                                    const std::vector<double>& sizes);

} // namespace nodeaware::tool
