#pragma once

#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/memory/contributions.hpp"
#include "runtime/mpi/tags.hpp"

#include <cstdint>
#include <memory>

namespace nodeaware {

class OperationMessages;

/// What nonblocking operations that begin in the same order on all ranks use: tags of their own,
/// and memory that the ranks of a node share; their numbers tell them apart. Those of one
/// communicator have a context, and each of its persistent requests has one.
class NonblockingContext {
  public:
    /// Collective over the inner communicator. nullptr, on all ranks, if there is no shared memory
    /// or no tag left. Throws MpiError.
    static std::shared_ptr<NonblockingContext> create(std::shared_ptr<InnerCommunicator> inner);
    /// `contributions`: those of this rank's node. `number` tells the contexts of the inner
    /// communicator apart, of which each has a range of tags.
    NonblockingContext(std::shared_ptr<InnerCommunicator> inner, Contributions contributions,
                       int number, const tags::Range& range);
    ~NonblockingContext();
    NonblockingContext(const NonblockingContext&) = delete;
    NonblockingContext& operator=(const NonblockingContext&) = delete;

    InnerCommunicator& inner() { return *inner_; }
    const std::shared_ptr<InnerCommunicator>& shared_inner() const { return inner_; }
    const Parameters& parameters() const { return parameters_; }
    Contributions& contributions() { return contributions_; }
    uint64_t next_operation() { return operations_++; }
    tags::Tags tags_of(uint64_t operation) const;

    /// By mailboxes, if the job has them.
    std::shared_ptr<OperationMessages> messages;

  private:
    std::shared_ptr<InnerCommunicator> inner_;
    Parameters parameters_;
    Contributions contributions_;
    const int number_;
    const tags::Range range_;
    uint64_t operations_ = 0;
};

} // namespace nodeaware
