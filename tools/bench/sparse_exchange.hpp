// Sparse exchanges: a rank knows what it sends, and nobody what comes. By the library's function,
// which is looked for while the program runs, and as a program does it without.
#pragma once

#include "layout.hpp"
#include "mpi_forms.hpp"

#include <mpi.h>

#include <vector>

namespace bench {

// Collective: all ranks have the functions of nodeaware.h, in a library that is preloaded or
// linked.
bool has_sparse_functions(MPI_Comm comm);

// The messages of one rank's buffers, again and again. Memory is that of the host.
class SparseExchange {
  public:
    // Native: by nonblocking consensus (MPI_Issend, MPI_Iprobe, MPI_Ibarrier), all of it PMPI_X.
    // Else by nodeaware_alltoall_sparse_v.
    SparseExchange(const Form& form, MPI_Comm comm, Buffers& buffers);

    void run();
    // What has come, into the buffers.
    void deliver();

  private:
    // The messages that have come to a rank without the library.
    struct Arrivals {
        std::vector<Arrived> messages;
        std::vector<std::vector<unsigned char>> memory;
    };
    // What the library has given.
    struct Given {
        int messages = 0;
        int bytes = 0;
        int* sources = nullptr;
        int* counts = nullptr;
        int* displacements = nullptr;
        void* data = nullptr;
    };

    void run_natively();
    bool receive_one(int tag);
    void run_by_library();

    bool is_native_;
    MPI_Comm comm_;
    Buffers* buffers_;
    std::vector<int> destinations_;
    std::vector<int> counts_;
    std::vector<int> displacements_;
    int send_size_ = 0;
    int calls_ = 0;
    std::vector<MPI_Request> requests_;
    Arrivals arrivals_;
    Given given_;
};

} // namespace bench
