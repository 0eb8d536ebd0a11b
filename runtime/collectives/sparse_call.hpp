#pragma once

#include "runtime/mpi/mpi.hpp"

namespace nodeaware::sparse {

/// What the application passes: messages of `count` elements one after the other, or with `counts`
/// and `displacements`, among `size` elements.
struct Sent {
    int messages = 0;
    const int* destinations = nullptr;
    bool has_counts = false;
    int count = 0;
    int size = 0;
    const int* counts = nullptr;
    const int* displacements = nullptr;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const void* buffer = nullptr;
};

/// Where it wants what comes: `count` elements of each message, or as many as there are.
struct Wanted {
    bool has_counts = false;
    int count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int* messages = nullptr;
    int* size = nullptr;
    int** sources = nullptr;
    int** counts = nullptr;
    int** displacements = nullptr;
    void** buffer = nullptr;
};

/// A sparse exchange, see nodeaware.h. Throws nothing; what it returns the application's call
/// returns.
int exchange(const Sent& sent, const Wanted& wanted, MPI_Comm comm);

} // namespace nodeaware::sparse
