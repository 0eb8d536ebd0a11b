#pragma once

#include "kernels.hpp"
#include "solvers.hpp"

namespace bench::krylov {

// Collective: the solver of that name on the 27-point Poisson problem, a cube of cells on each
// rank.
Result measure_solver(const std::string& name, const Settings& settings, MPI_Comm comm);

} // namespace bench::krylov
