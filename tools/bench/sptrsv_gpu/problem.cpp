#include "problem.hpp"

#include "tools/triangular/indices.hpp"

#include <cmath>
#include <cstdint>

namespace bench::sptrsv_gpu {
namespace {

using namespace triangular;

// to += scale L x
void add_product(const LowerFactor& factor, const std::vector<double>& x, double scale,
                 std::vector<double>& to) {
    for (int column = 0; column < factor.size; ++column) {
        for (int i = factor.begin[at(column)]; i < factor.begin[at(column + 1)]; ++i)
            to[at(factor.rows[at(i)])] += scale * factor.values[at(i)] * x[at(column)];
    }
}

double norm(const std::vector<double>& values) {
    double squared = 0;
    for (const double value : values) squared += value * value;
    return std::sqrt(squared);
}

} // namespace

Problem make_problem(const std::string& file, const std::string& grid) {
    Problem problem;
    problem.factor = file.empty() ? cholesky(poisson(parse_extents(grid)), "--grid")
                                  : cholesky(read_matrix_market(file), file);
    // Of a solution that all know: no two neighbours are alike.
    std::vector<double> x;
    x.reserve(at(problem.factor.size));
    for (int i = 0; i < problem.factor.size; ++i)
        x.push_back(static_cast<double>((std::int64_t{73} * i + 11) % 97 + 1) / 97);
    problem.right_side.resize(x.size());
    add_product(problem.factor, x, 1, problem.right_side);
    return problem;
}

double relative_residual(const Problem& problem, const std::vector<double>& x) {
    std::vector<double> rest = problem.right_side;
    add_product(problem.factor, x, -1, rest);
    return norm(rest) / norm(problem.right_side);
}

} // namespace bench::sptrsv_gpu
