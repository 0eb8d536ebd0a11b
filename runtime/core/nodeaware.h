/* What a program can call of libnodeaware itself: link it with libnodeaware-openmpi,
 * libnodeaware-mpich or libnodeaware-abi. It need not be preloaded; if it is, exchanges go by
 * nodes.
 *
 * Sparse exchanges: every rank knows to whom it sends and how much, and nobody knows what it
 * receives. Collective over an intracommunicator; the first on it makes a private communicator.
 * Returns MPI_SUCCESS or an error code, after the error handler of the communicator has been
 * called. What is wrong with the arguments of a rank (MPI_ERR_COUNT, MPI_ERR_RANK, MPI_ERR_TYPE,
 * MPI_ERR_BUFFER, MPI_ERR_ARG, MPI_ERR_COMM) is found before it sends anything; the others wait for
 * it, as in MPI. A rank that fails later, as without memory, takes part all the same: it gets an
 * error, and others may miss what it had for them, or was to hand on.
 *
 * Memory is that of the host. Datatypes must match as MPI demands of messages; those of what is
 * received must not have a negative lower bound or extent. Ranks may be listed several times, and
 * messages may be empty: all of them arrive. What has come is in the order of its sources, and of
 * one source in the order in which that lists it. More than INT_MAX messages or elements in all
 * are MPI_ERR_COUNT, parts of elements MPI_ERR_TRUNCATE, and then nothing is given.
 */
#ifndef NODEAWARE_H
#define NODEAWARE_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `sendcount` elements to each of the `send_nnz` ranks in `dest`, one block after the other in
 * `sendvals`. Gives the number of messages that have come, their sources and, at `recvvals`,
 * `recvcount` elements of each; a message that is longer is an error (MPI_ERR_TRUNCATE), and where
 * it is shorter the rest is zero. */
int nodeaware_alltoall_sparse(int send_nnz, const int* dest, int sendcount, MPI_Datatype sendtype,
                              const void* sendvals, int* recv_nnz, int** src, int recvcount,
                              MPI_Datatype recvtype, void** recvvals, MPI_Comm comm);

/* `sendcounts[i]` elements that begin at `sdispls[i]` to `dest[i]`, all of them among the
 * `send_size` elements at `sendvals`. Gives the number of messages that have come, of elements in
 * them, and for each message its source, the number of its elements and where they begin (`rdispls`
 * has one entry more, which is where the last one ends). */
int nodeaware_alltoall_sparse_v(int send_nnz, int send_size, const int* dest, const int* sendcounts,
                                const int* sdispls, MPI_Datatype sendtype, const void* sendvals,
                                int* recv_nnz, int* recv_size, int** src, int** recvcounts,
                                int** rdispls, MPI_Datatype recvtype, void** recvvals,
                                MPI_Comm comm);

/* Frees an array that those have given, none of which is ever NULL; NULL is nothing. */
int nodeaware_free(void* memory);

#ifdef __cplusplus
}
#endif

#endif
