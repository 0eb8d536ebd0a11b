// Triangular matrices as sparse factorizations make them.
#pragma once

#include "tools/bench/matrix_market.hpp"

#include <array>
#include <string>
#include <vector>

namespace triangular {

// Lower triangular, by columns: rows ascend, the first is the diagonal.
struct LowerFactor {
    int size = 0;
    std::vector<int> begin; // of each column in rows and values, and the end
    std::vector<int> rows;
    std::vector<double> values;
};

// Whether this was built with Eigen, without which cholesky() throws.
bool has_factorization();

// L of L L^T, the Cholesky factor of the matrix's symmetric part, whose places are those of A +
// A^T, in nested dissection order and postordered: L then has the places that an LU factorization
// without pivoting has, too. Entries of a matrix without values are -1; where the symmetric part is
// not positive definite, its diagonal is raised until it is dominant. Throws std::invalid_argument,
// which begins with `name`, for a matrix that is not square or too large, and where there is no
// Eigen.
LowerFactor cholesky(const bench::Matrix& matrix, const std::string& name);

// Of a grid: up to three numbers, such as 20x20x20. Throws std::invalid_argument,
// which begins with "--grid".
std::array<int, 3> parse_extents(const std::string& text);

// The matrix of the 7-point Laplacian on a grid.
bench::Matrix poisson(const std::array<int, 3>& grid);

} // namespace triangular
