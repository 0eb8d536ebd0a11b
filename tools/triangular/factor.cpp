#include "factor.hpp"

#include "dissection.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <sstream>
#include <stdexcept>

#ifdef NODEAWARE_HAS_EIGEN
#include <Eigen/SparseCholesky>
#include <Eigen/SparseCore>
#endif

namespace triangular {

namespace {

constexpr std::int64_t most_rows = 1 << 24; // places of the factor must be counted by int

} // namespace

#ifdef NODEAWARE_HAS_EIGEN

namespace {

using Sparse = Eigen::SparseMatrix<double>;

// Both triangles, with a diagonal entry in every row.
Sparse symmetric_part(const bench::Matrix& matrix) {
    std::vector<Eigen::Triplet<double>> entries;
    entries.reserve(2 * matrix.entries.size() + static_cast<std::size_t>(matrix.rows));
    for (const bench::Matrix::Entry& entry : matrix.entries) {
        const double half = (matrix.has_values ? entry.value : -1) / 2;
        const int row = static_cast<int>(entry.row);
        const int column = static_cast<int>(entry.column);
        entries.emplace_back(row, column, half);
        entries.emplace_back(column, row, half);
    }
    const int size = static_cast<int>(matrix.rows);
    for (int i = 0; i < size; ++i) entries.emplace_back(i, i, 0);
    Sparse result(size, size);
    result.setFromTriplets(entries.begin(), entries.end());
    return result;
}

Graph graph_of(const Sparse& matrix) {
    Graph graph(static_cast<std::size_t>(matrix.cols()));
    for (int column = 0; column < matrix.cols(); ++column) {
        for (Sparse::InnerIterator entry(matrix, column); entry; ++entry) {
            if (entry.row() != column)
                graph[static_cast<std::size_t>(column)].push_back(static_cast<int>(entry.row()));
        }
    }
    return graph;
}

Sparse reordered(const Sparse& matrix, const std::string& name) {
    const Graph graph = graph_of(matrix);
    const std::vector<int> dissected = nested_dissection(graph);
    constexpr std::int64_t most_entries =
        std::numeric_limits<int>::max(); // they are counted by int
    if (count_factor(graph, dissected, most_entries) > most_entries) {
        throw std::invalid_argument(name + ": expected a factor of at most " +
                                    std::to_string(most_entries) + " entries, found more");
    }
    const std::vector<int> places = postorder(elimination_tree(graph, dissected));
    Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> permutation(matrix.rows());
    for (std::size_t i = 0; i < places.size(); ++i) {
        permutation.indices()[dissected[static_cast<std::size_t>(places[i])]] = static_cast<int>(i);
    }
    Sparse result(matrix.rows(), matrix.cols());
    result = matrix.twistedBy(permutation);
    return result;
}

void raise_diagonal(Sparse& matrix) {
    for (int column = 0; column < matrix.cols(); ++column) {
        double* diagonal = nullptr;
        double others = 0;
        for (Sparse::InnerIterator entry(matrix, column); entry; ++entry) {
            if (entry.row() == column) {
                diagonal = &entry.valueRef();
            } else {
                others += std::abs(entry.value());
            }
        }
        *diagonal = std::max(*diagonal, others > 0 ? 1.01 * others : 1); // dominant in every row
    }
}

} // namespace

bool has_factorization() { return true; }

LowerFactor cholesky(const bench::Matrix& matrix, const std::string& name) {
    if (matrix.rows != matrix.columns) {
        throw std::invalid_argument(name + ": expected a square matrix, found " +
                                    std::to_string(matrix.rows) + " x " +
                                    std::to_string(matrix.columns));
    }
    if (matrix.rows > most_rows) {
        throw std::invalid_argument(name + ": expected at most " + std::to_string(most_rows) +
                                    " rows, found " + std::to_string(matrix.rows));
    }
    Sparse symmetric = reordered(symmetric_part(matrix), name);
    Eigen::SimplicialLLT<Sparse, Eigen::Lower, Eigen::NaturalOrdering<int>> llt(symmetric);
    if (llt.info() != Eigen::Success) {
        raise_diagonal(symmetric);
        llt.compute(symmetric);
    }
    if (llt.info() != Eigen::Success) {
        throw std::invalid_argument(name + ": expected values of which a factor can be computed");
    }
    const Sparse lower = llt.matrixL();
    LowerFactor factor;
    factor.size = static_cast<int>(lower.cols());
    factor.begin.assign(lower.outerIndexPtr(), lower.outerIndexPtr() + lower.cols() + 1);
    factor.rows.assign(lower.innerIndexPtr(), lower.innerIndexPtr() + lower.nonZeros());
    factor.values.assign(lower.valuePtr(), lower.valuePtr() + lower.nonZeros());
    return factor;
}

#else

bool has_factorization() { return false; }

LowerFactor cholesky(const bench::Matrix& /*matrix*/, const std::string& name) {
    throw std::invalid_argument(name + ": this was built without Eigen, which factorizes matrices");
}

#endif

std::array<int, 3> parse_extents(const std::string& text) {
    std::array<int, 3> extents = {1, 1, 1};
    std::istringstream words(text);
    bool is_read = true;
    std::int64_t points = 1;
    for (std::size_t d = 0; is_read && d < extents.size(); ++d) {
        char times = 'x';
        if (d > 0 && !(words >> times)) break;
        is_read = times == 'x' && words >> extents[d] && extents[d] >= 1;
        points *= extents[d];
        is_read = is_read && points <= most_rows;
    }
    char rest = 0;
    if (!is_read || words >> rest) {
        throw std::invalid_argument(
            "--grid: expected up to three numbers, such as 20x20x20, of at most " +
            std::to_string(most_rows) + " points, found " + text);
    }
    return extents;
}

bench::Matrix poisson(const std::array<int, 3>& grid) {
    bench::Matrix matrix;
    const std::array<std::int64_t, 3> extent = {grid[0], grid[1], grid[2]};
    const std::array<std::int64_t, 3> stride = {1, extent[0], extent[0] * extent[1]};
    matrix.rows = matrix.columns = stride[2] * extent[2];
    matrix.has_values = true;
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
        matrix.entries.push_back({row, row, 6});
        for (std::size_t d = 0; d < 3; ++d) {
            const std::int64_t position = row / stride[d] % extent[d];
            if (position + 1 == extent[d]) continue;
            matrix.entries.push_back({row, row + stride[d], -1});
            matrix.entries.push_back({row + stride[d], row, -1});
        }
    }
    return matrix;
}

} // namespace triangular
