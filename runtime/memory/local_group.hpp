#pragma once

#include "runtime/mpi/mpi.hpp"

#include <cstddef>
#include <vector>

namespace nodeaware {

/// The ranks of one node of a communicator, for the few words that they exchange while they set up
/// their shared memory. Messages go through `comm`, a private communicator, and never leave the
/// node. All functions are collective over the group and throw MpiError.
class LocalGroup {
  public:
    /// `ranks`: members by their rank in `comm`, the same list on all of them; `own` is the
    /// position of this rank.
    LocalGroup(MPI_Comm comm, std::vector<int> ranks, int own)
        : comm_(comm), ranks_(std::move(ranks)), own_(own) {}

    bool is_leader() const { return own_ == 0; }
    int size() const { return static_cast<int>(ranks_.size()); }
    int own() const { return own_; }

    /// Every member gets the leader's bytes.
    void broadcast(void* bytes, size_t size) const;

    /// True on all members if `mine` is true on all of them.
    bool all(bool mine) const;

  private:
    MPI_Comm comm_;
    std::vector<int> ranks_;
    int own_;
};

} // namespace nodeaware
