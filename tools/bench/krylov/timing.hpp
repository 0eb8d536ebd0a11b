// Times that all ranks know.
#pragma once

#include "tools/bench/mpi_forms.hpp"
#include "tools/bench/program.hpp"

namespace bench::krylov {

inline double slowest(double time, MPI_Comm comm) {
    check(MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, comm), "MPI_Allreduce");
    return time;
}

inline bool is_on_any_rank(bool mine, MPI_Comm comm) {
    int any = mine ? 1 : 0;
    check(MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, comm), "MPI_Allreduce");
    return any != 0;
}

// One repeat: so many calls after a barrier.
class Timing {
  public:
    Timing(int iterations, MPI_Comm comm) : iterations_(iterations), comm_(comm) {}

    // Collective. Microseconds of one call, on the slowest rank.
    template <class Function> double run(Function function) const {
        check(MPI_Barrier(comm_), "MPI_Barrier");
        const double begin = now();
        for (int i = 0; i < iterations_; ++i) function();
        return slowest(now() - begin, comm_) * 1e6 / iterations_;
    }

  private:
    int iterations_;
    MPI_Comm comm_;
};

} // namespace bench::krylov
