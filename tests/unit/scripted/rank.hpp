#pragma once

#include "interpose/abi.hpp"
#include "tests/unit/scripted/functions.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace scripted {

/// What an application on one rank calls: MPI functions that go through the library's core as the
/// wrappers of interpose/ send them. Each rank has a copy of the core of its own.
class Rank {
  public:
    /// After MPI_Init.
    Rank();
    ~Rank();
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;

    int number() const { return job().rank(); }
    int size() const { return job().size(); }
    bool has_core() const { return core_ != nullptr; }
    bool is_elsewhere(int peer) const;

    int send(const void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm);
    int ssend(const void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm);
    int bsend(const void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm);
    int isend(const void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request);
    int issend(const void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
               MPI_Request* request);
    int recv(void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
             MPI_Status* status);
    int irecv(void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request);
    int iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status);
    int probe(int source, int tag, MPI_Comm comm, MPI_Status* status);
    int mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status);
    int mrecv(void* memory, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status);
    int imrecv(void* memory, int count, MPI_Datatype type, MPI_Message* message,
               MPI_Request* request);
    int cancel(MPI_Request* request);
    int request_free(MPI_Request* request);
    int wait(MPI_Request* request, MPI_Status* status);
    int test(MPI_Request* request, int* flag, MPI_Status* status);
    int waitall(int count, MPI_Request* requests, MPI_Status* statuses);
    int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status);
    int waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses);
    int testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
    int ialltoallv(const void* sent, const int* counts, const int* places, void* received,
                   const int* received_counts, const int* received_places, MPI_Datatype type,
                   MPI_Comm comm, MPI_Request* request);

    /// The same, blocking; MPI_ERR_ARG, as from MPI, if the library does not take it.
    int alltoallv(const void* sent, const int* counts, const int* places, void* received,
                  const int* received_counts, const int* received_places, MPI_Datatype type,
                  MPI_Comm comm);

    /// An exchange of nothing that is left to MPI, and the meeting that it asks for: those that
    /// follow are the library's. Collective.
    int prepare(MPI_Comm comm);

    int barrier(MPI_Comm comm);         ///< the library may meet in it
    int refused_barrier(MPI_Comm comm); ///< by MPI, on this rank alone
    /// Of integers, by the library or by MPI.
    int allreduce(const int* sent, int* received, int count, MPI_Op op, MPI_Comm comm);
    int gather(MPI_Comm comm); ///< it does not, and all wait for all
    int dup(MPI_Comm comm, MPI_Comm* made);
    int comm_free(MPI_Comm* comm);
    /// Of edges without weights that leave this rank. MPI_ERR_ARG, as from MPI, if the library does
    /// not take it.
    int dist_graph_create(MPI_Comm comm, const std::vector<int>& destinations, MPI_Comm* made);
    /// Is away from MPI until `ready`.
    void compute(const std::function<bool()>& ready);
    /// The core is told that MPI_Finalize begins to delete attributes; ends MPI.
    int finalize();

  private:
    void at(const char* function) const;
    template <class Work> int call(const char* function, Work work);

    const nodeaware::abi::Core* core_ = nullptr;
};

/// Runs a job in which every rank begins with the library and ends with MPI_Finalize. Empty, or
/// what went wrong; what is left over in the end counts unless a failure was asked for.
std::string run(Job& job, const std::function<void(Rank&)>& program);

/// Options of the library for the jobs that follow, by their names without NODEAWARE_.
void set_options(const std::map<std::string, std::string>& options);

/// Seeds of a test, half as many with a second MPI and a quarter with sanitizers; SCRIPTED_SEED=N
/// in the environment runs that one alone.
std::vector<uint64_t> seeds(uint64_t count);

} // namespace scripted
