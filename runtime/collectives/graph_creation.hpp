#pragma once

#include "runtime/mpi/mpi.hpp"

/// MPI_Dist_graph_create as a sparse exchange and MPI_Dist_graph_create_adjacent: who lists an edge
/// tells the ranks at its ends, with one message between two nodes (sparse_node_pairs.hpp). The
/// neighbours of a rank come in the order of the ranks that have listed them, and of each in its
/// order.
namespace nodeaware::graph_creation {

/// What MPI_Dist_graph_create gets.
struct GraphArguments {
    MPI_Comm comm = MPI_COMM_NULL;
    int nodes = 0; ///< n: of the graph, that this rank lists edges of
    const int* sources = nullptr;
    const int* degrees = nullptr;
    const int* destinations = nullptr;
    const int* weights = nullptr;
    MPI_Info info = MPI_INFO_NULL;
    bool may_reorder = false;
};

/// How it has ended here.
struct Outcome {
    int code = MPI_SUCCESS;       ///< what the call is to return
    bool is_failed_alone = false; ///< this rank's own failure; all ranks have made the communicator
};

/// Returns false, on all ranks of the communicator that have passed what MPI accepts, if MPI itself
/// is to do it, in the application's own call; else `*made` has been made, or that has failed.
/// Collective over these ranks. A rank without memory for edges makes a graph without neighbours,
/// as the others wait for it, and gets an error. Throws nothing.
bool create(const GraphArguments& graph, MPI_Comm* made, Outcome& outcome);

} // namespace nodeaware::graph_creation
