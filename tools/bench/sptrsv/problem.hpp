// The triangular system that is solved.
#pragma once

#include "tools/triangular/factor.hpp"

#include <mpi.h>

#include <string>

namespace bench::sptrsv {

using namespace triangular;

struct Problem {
    LowerFactor factor;
    std::vector<double> right_side;
};

// Collective: the factor of the matrix in a MatrixMarket file, or, where `file` is empty, of the
// Laplacian on `grid`. Rank 0 makes it; all have it then. Throws InputError on all ranks.
Problem make_problem(const std::string& file, const std::string& grid, MPI_Comm comm);

// |b - L x| / |b|
double relative_residual(const Problem& problem, const std::vector<double>& x);

} // namespace bench::sptrsv
