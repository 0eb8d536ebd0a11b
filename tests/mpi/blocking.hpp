#pragma once

#include "tests/mpi/harness.hpp"

#include <csignal>
#include <dlfcn.h>
#include <functional>
#include <unistd.h>

/// What the tests of functions that may block share.
namespace nodeaware::test {

/// A message that waits in a container has to leave before its sender blocks in MPI: its receiver
/// may come there later. Ranks 0 and 1, on one node, send to rank 2 together, so that the library
/// learns to; then rank 0 alone sends before each function that may block, and rank 2 receives that
/// message before it comes to the function. Run with 4 ranks, NODEAWARE_PPN=2,
/// NODEAWARE_STRATEGY=p2p:gathered and a long NODEAWARE_BATCH_TIMEOUT.
class LonelyMessages {
  public:
    static constexpr int receiver = 2;

    explicit LonelyMessages(Harness& harness) : harness_(harness), rank_(harness.rank()) {
        find_unseen_barrier();
        std::signal(SIGALRM, complain);
        for (int i = 0; i < 12; ++i) {
            send();
            receive(0);
            receive(1);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }

    /// `function` may block rank 0 until rank 2 comes to it; the barrier, which the library does
    /// not see, does.
    void before(const char* name, const std::function<void()>& function) {
        current = name;
        alarm(patience);
        if (rank_ == 0) { send(); }
        receive(0);
        function();
        unseen_barrier_(MPI_COMM_WORLD);
        if (rank_ == 1) { send(); } // later than the other, which has gone by itself
        receive(1);
        alarm(0);
    }

  private:
    static constexpr unsigned patience = 60; ///< seconds for a function, on a busy machine
    static inline const char* current = "learning";

    static void complain(int /*signal*/) {
        // Not safe in a signal handler in general; here the process waits in MPI.
        std::fprintf(stderr, "a message did not leave before %s\n", current);
        std::_Exit(EXIT_FAILURE);
    }

    /// That of the library in which a function is that nobody intercepts.
    void find_unseen_barrier() {
        Dl_info info = {};
        void* mpi = nullptr;
        if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Comm_rank"), &info) != 0) {
            mpi = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        }
        if (mpi != nullptr) {
            unseen_barrier_ = reinterpret_cast<int (*)(MPI_Comm)>(dlsym(mpi, "PMPI_Barrier"));
        }
        if (unseen_barrier_ == nullptr) { harness_.skip("MPI's own functions cannot be found"); }
    }

    /// Of ranks 0 and 1.
    void send() {
        if (rank_ > 1) { return; }
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(&rank_, 1, MPI_INT, receiver, 1, MPI_COMM_WORLD, &request);
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    }
    void receive(int sender) {
        if (rank_ != receiver) { return; }
        int received = -1;
        MPI_Recv(&received, 1, MPI_INT, sender, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        harness_.expect(received == sender, "a wrong message came");
    }

    Harness& harness_;
    int rank_;
    int (*unseen_barrier_)(MPI_Comm) = nullptr;
};

} // namespace nodeaware::test
