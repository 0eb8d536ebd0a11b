#pragma once

#include <mpi.h>

#include <vector>

namespace nodeaware::conformance {

/// A datatype made of ints and what is odd about it.
struct OddType {
    const char* name;
    MPI_Datatype handle;
    int integers; ///< it holds
    int first;    ///< int of the memory at which its place 0 should be, for all that it touches to
                  ///< be within, where one to three of them are put behind one another
    int room;     ///< ints of memory that three of them need
};

/// They live until the program ends.
const std::vector<OddType>& odd_types();

} // namespace nodeaware::conformance
