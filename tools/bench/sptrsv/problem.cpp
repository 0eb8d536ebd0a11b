#include "problem.hpp"

#include "tools/bench/mpi_forms.hpp"
#include "tools/bench/program.hpp"

#include <cstddef>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace bench::sptrsv {
namespace {

template <class T> void broadcast(std::vector<T>& values, MPI_Datatype type, MPI_Comm comm) {
    auto count = static_cast<int>(values.size());
    check(MPI_Bcast(&count, 1, MPI_INT, 0, comm), "MPI_Bcast");
    values.resize(static_cast<std::size_t>(count));
    check(MPI_Bcast(values.data(), count, type, 0, comm), "MPI_Bcast");
}

} // namespace

System make_system(const FactorOptions& options, MPI_Comm comm) {
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    LowerFactor factor;
    std::string error;
    if (rank == 0) {
        try {
            factor = factor_of(options);
        } catch (const std::exception& failure) { error = failure.what(); }
    }
    throw_everywhere(error, comm);
    check(MPI_Bcast(&factor.size, 1, MPI_INT, 0, comm), "MPI_Bcast");
    broadcast(factor.begin, MPI_INT, comm);
    broadcast(factor.rows, MPI_INT, comm);
    broadcast(factor.values, MPI_DOUBLE, comm);
    return system_of(std::move(factor));
}

} // namespace bench::sptrsv
