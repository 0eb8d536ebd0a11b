// The triangular system, in a program without MPI: that of sptrsv_bench.
#pragma once

#include "tools/triangular/factor.hpp"

#include <string>
#include <vector>

namespace bench::sptrsv_gpu {

struct Problem {
    triangular::LowerFactor factor;
    std::vector<double> right_side;
};

// The factor of the matrix in a MatrixMarket file, or, where `file` is empty, of the Laplacian on
// `grid`. Throws InputError or std::invalid_argument.
Problem make_problem(const std::string& file, const std::string& grid);

// |b - L x| / |b|
double relative_residual(const Problem& problem, const std::vector<double>& x);

} // namespace bench::sptrsv_gpu
