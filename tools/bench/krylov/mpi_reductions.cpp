#include "mpi_reductions.hpp"

#include "tools/bench/mpi_forms.hpp"

namespace bench::krylov {

void MpiReductions::do_sum(std::span<double> values) {
    check(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE,
                        MPI_SUM, comm_),
          "MPI_Allreduce");
}

void MpiReductions::do_begin(std::span<double> values) {
    check(MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE,
                         MPI_SUM, comm_, &pending_),
          "MPI_Iallreduce");
}

void MpiReductions::finish() { check(MPI_Wait(&pending_, MPI_STATUS_IGNORE), "MPI_Wait"); }

bool MpiReductions::progress() {
    if (pending_ == MPI_REQUEST_NULL) return false;
    int done = 0;
    check(MPI_Test(&pending_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done == 0;
}

} // namespace bench::krylov
