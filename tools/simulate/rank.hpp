#pragma once

#include "tools/simulate/cores.hpp"

#include <mpi.h>

#include <memory>
#include <vector>

namespace nodeaware::simulation {

/// What a program on one rank calls: MPI functions that go through the library's core as the
/// wrappers of interpose/ send them, or straight to MPI. All throw MpiError.
class Rank {
  public:
    /// After MPI_Init, collective. Without a file: no core.
    explicit Rank(const std::string& core);
    /// Before MPI_Finalize, collective.
    ~Rank();
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;

    /// What all ranks send and receive, in bytes, counts and places by rank.
    struct Lists {
        std::vector<int> sent_counts, sent_places, received_counts, received_places;
    };
    void alltoallv(const void* sent, const Lists& lists, void* received);
    void isend(const void* memory, int bytes, int peer, int tag, MPI_Request* request);
    void irecv(void* memory, int bytes, int peer, int tag, MPI_Request* request);
    void waitall(std::vector<MPI_Request>& requests);
    void barrier();
    /// Before this rank waits outside of MPI: what it has sent leaves the library, as before a call
    /// that blocks. It stays there otherwise while all ranks of its node are away.
    void go_away();

    bool has_core() const { return core_ != nullptr; }
    /// A function of nodeaware.h by its name; nullptr without a core.
    void* own_function(const char* name) const;

  private:
    LoadedCore loaded_;
    const abi::Core* core_ = nullptr; ///< nullptr: MPI alone
};

} // namespace nodeaware::simulation
