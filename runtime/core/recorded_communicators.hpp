#pragma once

#include "runtime/mpi/mpi.hpp"

#include <vector>

/// The communicators of the application, as the trace numbers them. Their numbers hang on them as
/// attributes; threads may ask at the same time.
namespace nodeaware::recorded_communicators {

/// To be called once, before anything else. Throws MpiError.
void open();

struct Known {
    int number = 0; ///< in the trace, or trace::no_communicator
    int size = 0;   ///< of the group that messages go to
    int rank = 0;
    bool is_inter = false;
};
/// Of a communicator that MPI has just accepted. Throws MpiError.
Known find(MPI_Comm comm);

/// Where this rank sends to in operations among neighbours. Throws MpiError.
std::vector<int> destinations(MPI_Comm comm, const Known& known);

} // namespace nodeaware::recorded_communicators
