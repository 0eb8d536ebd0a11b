#pragma once

#include "runtime/job/world.hpp"

/// NODEAWARE_REORDER=cart: ranks of a Cartesian grid are numbered so that few messages between
/// neighbours in it pass between nodes (Krylov paper, sections 6.2 and 6.3). The first ranks of the
/// communicator take part, as many as the grid has places, as in MPI.
namespace nodeaware::grid_order {

/// What MPI_Cart_create and MPI_Cart_map get.
struct GridArguments {
    MPI_Comm comm = MPI_COMM_NULL;
    int dimensions = 0;
    const int* sizes = nullptr;
    const int* periods = nullptr; ///< 0: open; C's and Fortran's truth are both something else
};

/// MPI_Cart_create. Returns false, on all ranks of the communicator that have passed what MPI
/// accepts, if MPI itself is to make the grid; collective over them if the option is set. Otherwise
/// `*result` is what the call is to return. Rank 0 looks for the order, for that takes memory.
bool create(const World& world, const GridArguments& grid, bool may_reorder, MPI_Comm* made,
            int* result);

/// MPI_Cart_map, after MPI has answered it: corrects the rank, so that it is the one that `create`
/// gives. Local. Throws MpiError.
void map(const World& world, const GridArguments& grid, int* rank);

} // namespace nodeaware::grid_order
