#pragma once

#include "tests/mpi/conformance/context.hpp"

namespace nodeaware::conformance {

/// The arguments of a function that sends or receives.
struct Message {
    void* buffer = nullptr;
    MPI_Count count = learned_count;
    MPI_Datatype type = MPI_INT;
    int peer = MPI_PROC_NULL;
    int tag = learned_tag;
    MPI_Comm comm = MPI_COMM_NULL;
};

enum class Way { blocking, nonblocking, persistent };

/// One of MPI's functions that send or that receive.
struct Transfer {
    const char* name;
    Way way;
    bool is_large; ///< counts are MPI_Count
    int (*invoke)(const Message&, MPI_Request*, MPI_Status*);
};

const std::vector<Transfer>& sends();
const std::vector<Transfer>& receives();

/// One of those that do both; the _replace ones take buffer and count from what is sent.
struct Combined {
    const char* name;
    bool replaces;
    bool is_nonblocking;
    bool is_large;
    int (*invoke)(const Message& sent, const Message& received, MPI_Request*, MPI_Status*);
};

const std::vector<Combined>& combined_functions();

/// 0 if no tag is above the largest.
int tag_above();
int largest_tag();
/// Of ints, and never committed.
MPI_Datatype uncommitted_type();

} // namespace nodeaware::conformance
