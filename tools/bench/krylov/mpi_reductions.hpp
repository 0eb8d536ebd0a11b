#pragma once

#include "solvers.hpp"

#include <mpi.h>

namespace bench::krylov {

class MpiReductions : public Reductions {
  public:
    explicit MpiReductions(MPI_Comm comm) : comm_(comm) {}

    void finish() override;
    // Lets MPI go on with the sum that is pending; false: none is.
    bool progress();

  private:
    void do_sum(std::span<double> values) override;
    void do_begin(std::span<double> values) override;

    MPI_Comm comm_;
    MPI_Request pending_ = MPI_REQUEST_NULL;
};

} // namespace bench::krylov
