#pragma once

namespace nodeaware {

/// The ranks of MPI_COMM_WORLD that can share memory with this one.
struct MachineRanks {
    int position = 0; ///< of this rank among them
    int ranks = 1;
    int first_rank = 0;
};

/// Collective over MPI_COMM_WORLD. As MPI says; one that says of every rank that it is alone may
/// have been built without shared memory (MPICH 5 over UCX is), and there the operating system
/// tells.
MachineRanks find_machine_ranks(int rank, int size);

} // namespace nodeaware
