#pragma once

#include "tools/simulate/virtual_time.hpp"

#include <mpi.h>

#include <array>

namespace nodeaware::simulation {

/// A nonblocking barrier. SMPI's own goes through rank 0, one by one; in round k of this one each
/// rank has heard of 2^k others. A failure to begin a round is told by the next advance().
class Barrier {
  public:
    explicit Barrier(MPI_Comm comm) : comm_(comm) {
        PMPI_Comm_rank(comm, &rank_);
        PMPI_Comm_size(comm, &size_);
        begin_round();
    }

    /// True when it is over; `code`: of the first failure.
    bool advance(int& code) {
        int is_over = 0;
        while (distance_ < size_) {
            code = error_ != MPI_SUCCESS
                       ? error_
                       : PMPI_Testall(2, requests_.data(), &is_over, MPI_STATUSES_IGNORE);
            if (code != MPI_SUCCESS) { return true; }
            if (is_over == 0) { return false; }
            distance_ *= 2;
            begin_round();
            virtual_time::note_progress();
        }
        return true;
    }

  private:
    static constexpr int tag = 999999; // the library uses none as high

    void begin_round() {
        if (distance_ >= size_) { return; }
        virtual_time::before_call();
        error_ = PMPI_Irecv(nullptr, 0, MPI_BYTE, (rank_ + size_ - distance_) % size_, tag, comm_,
                            &requests_[0]);
        if (error_ != MPI_SUCCESS) { return; }
        error_ = PMPI_Isend(nullptr, 0, MPI_BYTE, (rank_ + distance_) % size_, tag, comm_,
                            &requests_[1]);
    }

    MPI_Comm comm_;
    int rank_ = 0;
    int size_ = 0;
    int distance_ = 1;
    int error_ = MPI_SUCCESS;
    std::array<MPI_Request, 2> requests_ = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

} // namespace nodeaware::simulation
