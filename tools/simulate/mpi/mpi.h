/* <mpi.h> of SimGrid's SMPI, and where that is not as the standard has it. */
#ifndef NODEAWARE_SIMULATED_MPI_H
#define NODEAWARE_SIMULATED_MPI_H

/* Its status is not const. */
#define MPI_Get_elements_x SMPI_Get_elements_x_not_const
#include <smpi/mpi.h>
#undef MPI_Get_elements_x

/* Macros of its own by which it would get in the way. */
#undef MPI_CALL
#undef SEED

/* There they are of a type of their own. */
#define MPI_SUCCESS 0

#ifdef __cplusplus
extern "C" {
#endif
int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count);
int PMPI_Get_elements_x(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count);
#ifdef __cplusplus
}
#endif

#endif
