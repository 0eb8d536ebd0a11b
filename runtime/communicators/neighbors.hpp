#pragma once

#include "runtime/job/operation.hpp"
#include "runtime/mpi/mpi.hpp"

#include <vector>

namespace nodeaware {

/// The neighbours of this rank on a communicator with a topology, in the order of the blocks in the
/// application's buffers; MPI_PROC_NULL for a neighbour that does not exist.
struct Neighbors {
    int topology = MPI_UNDEFINED; ///< what MPI_Topo_test says
    std::vector<int> sources;
    std::vector<int> destinations;
    /// Where several messages pass between two ranks, the k-th block sent meets the k-th block
    /// received if blocks are received in this order (positions in `sources`).
    std::vector<int> receive_order;
};

/// Reads the topology of `comm`. Local. Throws MpiError; a communicator without a topology has no
/// neighbours.
Neighbors find_neighbors(MPI_Comm comm, Operation operation);

/// The same without the order.
Neighbors read_neighbors(MPI_Comm comm);

/// True if this rank has neighbours, and if `comm` has no topology. Local. Throws MpiError.
bool has_neighbors(MPI_Comm comm);

} // namespace nodeaware
