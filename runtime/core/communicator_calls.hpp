#pragma once

#include "interpose/abi.hpp"

/// Hooks of calls that block, and of those that make communicators; what each does is said in
/// interpose/abi.hpp.
namespace nodeaware::communicator_calls {

void before_blocking();
void before_meeting();
int meeting(abi::MPI_Comm comm, int result);
int created(abi::MPI_Comm parent, abi::MPI_Comm* comm);
void not_created();
bool make_grid(int* result, abi::MPI_Comm comm, int dimensions, const int* sizes,
               const int* periods, int may_reorder, abi::MPI_Comm* made);
bool make_graph(int* result, abi::MPI_Comm comm, int nodes, const int* sources, const int* degrees,
                const int* destinations, const int* weights, abi::MPI_Info info, int may_reorder,
                abi::MPI_Comm* made);
int map_grid(abi::MPI_Comm comm, int dimensions, const int* sizes, const int* periods, int* rank);
void communicator_begun();
void degrees(abi::MPI_Comm comm, bool neighborhood, int* sends, int* receives);

} // namespace nodeaware::communicator_calls
