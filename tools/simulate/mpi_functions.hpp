#pragma once

/// MPI of the simulation, under the names of MPI: what SMPI 3.32 has, what it lacks and the library
/// needs, and what it does not charge for as messages cost.
namespace nodeaware::simulation {

/// MPI_X by its name, or nullptr. For the cores, and, by load_mpi(), for the ranks' programs.
void* find_function(const char* name);

/// Node of each rank of MPI_COMM_WORLD, which MPI_Comm_split_type goes by.
void set_nodes(const int* node_of);

/// At the end of a rank, before its MPI_Finalize, which in SMPI tells nobody: the callback of the
/// attribute that has been set last on MPI_COMM_SELF.
void delete_attribute_of_self();

} // namespace nodeaware::simulation
