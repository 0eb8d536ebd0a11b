#include "problem.hpp"

#include "tools/bench/mpi_forms.hpp"
#include "tools/bench/program.hpp"

#include <cmath>
#include <cstddef>
#include <exception>

namespace bench::sptrsv {
namespace {

template <class T> void broadcast(std::vector<T>& values, MPI_Datatype type, MPI_Comm comm) {
    auto count = static_cast<int>(values.size());
    check(MPI_Bcast(&count, 1, MPI_INT, 0, comm), "MPI_Bcast");
    values.resize(static_cast<std::size_t>(count));
    check(MPI_Bcast(values.data(), count, type, 0, comm), "MPI_Bcast");
}

// L x by columns, with `visit(row, value x of the column)`.
template <class Visit>
void multiply(const LowerFactor& factor, const std::vector<double>& x, Visit visit) {
    for (std::size_t column = 0; column < x.size(); ++column) {
        for (int i = factor.begin[column]; i < factor.begin[column + 1]; ++i) {
            const auto entry = static_cast<std::size_t>(i);
            visit(static_cast<std::size_t>(factor.rows[entry]), factor.values[entry] * x[column]);
        }
    }
}

// Of a solution that all know: no two neighbours are alike.
std::vector<double> right_side_of(const LowerFactor& factor) {
    std::vector<double> x;
    x.reserve(static_cast<std::size_t>(factor.size));
    for (int i = 0; i < factor.size; ++i)
        x.push_back(static_cast<double>((std::int64_t{73} * i + 11) % 97 + 1) / 97);
    std::vector<double> b(x.size(), 0);
    multiply(factor, x, [&](std::size_t row, double term) { b[row] += term; });
    return b;
}

} // namespace

Problem make_problem(const std::string& file, const std::string& grid, MPI_Comm comm) {
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    Problem problem;
    std::string error;
    if (rank == 0) {
        try {
            problem.factor = file.empty() ? cholesky(poisson(parse_extents(grid)), "--grid")
                                          : cholesky(read_matrix_market(file), file);
        } catch (const std::exception& failure) { error = failure.what(); }
    }
    throw_everywhere(error, comm);
    check(MPI_Bcast(&problem.factor.size, 1, MPI_INT, 0, comm), "MPI_Bcast");
    broadcast(problem.factor.begin, MPI_INT, comm);
    broadcast(problem.factor.rows, MPI_INT, comm);
    broadcast(problem.factor.values, MPI_DOUBLE, comm);
    problem.right_side = right_side_of(problem.factor);
    return problem;
}

double relative_residual(const Problem& problem, const std::vector<double>& x) {
    std::vector<double> rest = problem.right_side;
    multiply(problem.factor, x, [&](std::size_t row, double term) { rest[row] -= term; });
    double rest_squared = 0;
    double squared = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) {
        rest_squared += rest[i] * rest[i];
        squared += problem.right_side[i] * problem.right_side[i];
    }
    return std::sqrt(rest_squared / squared);
}

} // namespace bench::sptrsv
