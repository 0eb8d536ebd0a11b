#pragma once

#include "runtime/mpi/mpi.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace nodeaware {

/// Messages of an operation in which the counts of two nodes did not match, that come when this
/// rank has left it: their senders may wait until they are received, while this rank waits in MPI,
/// where it cannot look for them. So receives for them stay behind. What they bring is forgotten.
class Strays {
  public:
    explicit Strays(MPI_Comm comm) : comm_(comm) {}
    ~Strays() { end(); }
    Strays(const Strays&) = delete;
    Strays& operator=(const Strays&) = delete;

    /// This rank has left `operation`, in which it has given up on a node with these ranks. About
    /// so many pieces and direct messages that still come from there are received: more than are on
    /// their way to one rank at a time. (From other nodes they tell that those are to be given up.)
    static constexpr size_t most_of_a_kind = 512;
    void receive(uint32_t operation, const std::vector<int>& ranks);

    /// The end of that for operations before this one.
    void end_before(uint32_t operation);
    void end() { end_before(UINT32_MAX); }

  private:
    void begin(uint32_t operation, int source, int tag);

    struct Receive {
        uint32_t operation;
        MPI_Request request;
    };
    MPI_Comm comm_;
    std::deque<Receive> receives_; ///< by operation
};

} // namespace nodeaware
