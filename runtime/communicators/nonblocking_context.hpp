#pragma once

#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/memory/shared_memory.hpp"
#include "runtime/mpi/tags.hpp"
#include "strategies/gathered.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace nodeaware {

/// What the nonblocking operations of one communicator use: tags of their own, and memory that the
/// ranks of a node share. Operations on one communicator begin in the same order on all ranks, so
/// their numbers tell them apart; those of different communicators do not, so each has a context.
class NonblockingContext {
  public:
    /// Operations that may have begun on some ranks of a node and not yet on others. Beginning one
    /// more has to wait, and then this rank is needed by others as it must not be, so these are
    /// more than a program will have.
    static constexpr uint32_t window = 1024;

    /// Collective over the inner communicator. nullptr, on all ranks, if there is no shared memory
    /// or no tag left. `number`: the contexts of an inner communicator count from 0. Throws
    /// MpiError.
    static std::shared_ptr<NonblockingContext> create(std::shared_ptr<InnerCommunicator> inner,
                                                      int number);

    InnerCommunicator& inner() { return *inner_; }
    const Parameters& parameters() const { return parameters_; }
    uint64_t next_operation() { return operations_++; }
    tags::Tags tags_of(uint64_t operation) const;

    /// True if this rank can contribute `part` to `operation` now: it has contributed to the one
    /// before, and there is memory for it, which it gets. To be called until it is true.
    bool make_room(uint64_t operation, const gathered::OwnPart& part);

    /// Where this rank packs `part`, whose contributions it lists.
    std::byte* contribute(uint64_t operation, const gathered::OwnPart& part);
    /// The contributions to `operation` are complete. True for the rank that is the last of its
    /// node: it has to send for all.
    bool arrive(uint64_t operation);

    /// For that rank: what a rank of the node has contributed, and where the bytes are.
    struct Contributed {
        std::vector<gathered::Contribution> list;
        std::byte* bytes = nullptr;
    };
    Contributed contributed(uint64_t operation, int local) const;
    /// It has read them: others may use the memory.
    void release(uint64_t operation);

  private:
    /// Of the operations whose numbers differ by a multiple of `window`, one after the other.
    struct alignas(64) Set {
        std::atomic<uint64_t> arrivals{0};
        std::atomic<uint64_t> released{0};
    };
    /// Memory of this rank that others have yet to read.
    struct Held {
        uint64_t operation;
        uint64_t begin;
        uint64_t end;
    };
    /// The memory of a rank has room for this many contributions of the largest size, and for the
    /// whole window if they are small.
    static constexpr uint64_t largest_contributions = 8;
    static constexpr uint64_t small_contribution = 256;

    explicit NonblockingContext(std::shared_ptr<InnerCommunicator> inner);
    Set& set_of(uint64_t operation) const { return sets_[operation % window]; }
    bool is_released(uint64_t operation) const;
    uint64_t& position(uint64_t operation, int local) const;
    std::byte* region(uint64_t operation, int local) const;

    std::shared_ptr<InnerCommunicator> inner_;
    Parameters parameters_;
    int node_ = 0;
    int local_ = 0;
    int first_tag_ = 0;
    uint64_t bytes_of_a_rank_ = 0;
    SharedMemory memory_;
    Set* sets_ = nullptr;
    uint64_t* positions_ = nullptr; ///< for each set: where the contributions of each rank are
    std::byte* data_ = nullptr;
    std::vector<Held> held_; ///< in ascending order of position
    uint64_t operations_ = 0;
    uint64_t arrived_ = 0; ///< operations that this rank has contributed to
};

} // namespace nodeaware
