// What programs call of the library itself.

#include "runtime/collectives/sparse_call.hpp"
#include "runtime/core/nodeaware.h"
#include "runtime/job/log.hpp"
#include "runtime/memory/datatype.hpp"
#include "runtime/requests/library.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <string>

namespace nodeaware {

namespace {

std::mutex opening;
bool is_open = false;

/// Where the preloaded part has not started the library: MPI as the program finds it.
int open_without_preload() {
    const std::lock_guard lock(opening);
    if (is_open || library != nullptr) { return MPI_SUCCESS; }
    if (mpi.Comm_rank == nullptr) {
        const char* const missing =
            load_mpi([](const char* name) { return dlsym(RTLD_DEFAULT, name); });
        if (missing != nullptr) {
            write_log(LogLevel::warn, std::string("this MPI has no ") + missing);
            return MPI_ERR_INTERN;
        }
    }
    try {
        open_datatypes();
    } catch (const MpiError& error) { return error.code; }
    is_open = true;
    return MPI_SUCCESS;
}

int exchange_sparse(const sparse::Sent& sent, const sparse::Wanted& wanted, MPI_Comm comm) {
    const int code = library == nullptr ? open_without_preload() : MPI_SUCCESS;
    return code == MPI_SUCCESS ? sparse::exchange(sent, wanted, comm) : code;
}

} // namespace

} // namespace nodeaware

#define NODEAWARE_EXPORT extern "C" __attribute__((visibility("default")))

NODEAWARE_EXPORT int nodeaware_alltoall_sparse(int send_nnz, const int* dest, int sendcount,
                                               MPI_Datatype sendtype, const void* sendvals,
                                               int* recv_nnz, int** src, int recvcount,
                                               MPI_Datatype recvtype, void** recvvals,
                                               MPI_Comm comm) {
    return nodeaware::exchange_sparse({.messages = send_nnz,
                                       .destinations = dest,
                                       .count = sendcount,
                                       .type = sendtype,
                                       .buffer = sendvals},
                                      {.count = recvcount,
                                       .type = recvtype,
                                       .messages = recv_nnz,
                                       .sources = src,
                                       .buffer = recvvals},
                                      comm);
}

NODEAWARE_EXPORT int
nodeaware_alltoall_sparse_v(int send_nnz, int send_size, const int* dest, const int* sendcounts,
                            const int* sdispls, MPI_Datatype sendtype, const void* sendvals,
                            int* recv_nnz, int* recv_size, int** src, int** recvcounts,
                            int** rdispls, MPI_Datatype recvtype, void** recvvals, MPI_Comm comm) {
    return nodeaware::exchange_sparse({.messages = send_nnz,
                                       .destinations = dest,
                                       .has_counts = true,
                                       .size = send_size,
                                       .counts = sendcounts,
                                       .displacements = sdispls,
                                       .type = sendtype,
                                       .buffer = sendvals},
                                      {.has_counts = true,
                                       .type = recvtype,
                                       .messages = recv_nnz,
                                       .size = recv_size,
                                       .sources = src,
                                       .counts = recvcounts,
                                       .displacements = rdispls,
                                       .buffer = recvvals},
                                      comm);
}

NODEAWARE_EXPORT int nodeaware_free(void* memory) {
    std::free(memory);
    return MPI_SUCCESS;
}
