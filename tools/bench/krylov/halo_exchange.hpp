// A halo exchange by MPI_Irecv, MPI_Isend and MPI_Waitall.
#pragma once

#include "halo.hpp"

#include <mpi.h>

#include <array>
#include <cstdint>
#include <vector>

namespace bench::krylov {

class HaloExchange {
  public:
    struct Part {
        Direction direction;
        int neighbour;
        int number; // the message's, which is its tag
        std::vector<double> sent;
        std::vector<double> received;
    };

    // All messages to neighbours that there are: the grid has ends.
    HaloExchange(MPI_Comm comm, const std::array<int, 3>& grid,
                 const std::vector<HaloMessage>& messages);

    std::vector<Part>& parts() { return parts_; }
    std::int64_t bytes() const; // sent each time

    void begin();
    void finish();

  private:
    MPI_Comm comm_;
    int last_; // number of a message
    std::vector<Part> parts_;
    std::vector<MPI_Request> requests_;
};

} // namespace bench::krylov
