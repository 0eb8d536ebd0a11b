#pragma once

#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/memory/contributions.hpp"
#include "runtime/mpi/tags.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace nodeaware {

class OperationMessages;

/// What nonblocking operations that begin in the same order on all ranks use: tags of their own,
/// and a lane of memory that the ranks of a node share; their numbers tell them apart. Those of one
/// communicator have a context, and each of its persistent requests has one.
class NonblockingContext {
  public:
    /// One for nonblocking operations, followed by as many as can be had for persistent requests,
    /// of which there are `most_lanes` at most. Collective over the inner communicator. Empty, on
    /// all ranks, if there is no memory or no tag left. Throws MpiError.
    static std::vector<std::shared_ptr<NonblockingContext>>
    create(const std::shared_ptr<InnerCommunicator>& inner);
    static constexpr int most_lanes = 32;

    NonblockingContext(const NonblockingContext&) = delete;
    NonblockingContext& operator=(const NonblockingContext&) = delete;

    InnerCommunicator& inner() const { return *common_->inner; }
    const std::shared_ptr<InnerCommunicator>& shared_inner() const { return common_->inner; }
    const Parameters& parameters() const { return common_->parameters; }
    Contributions& contributions() { return contributions_; }
    uint64_t next_operation() { return operations_++; }
    tags::Tags tags_of(uint64_t operation) const;

    /// By mailboxes, if the job has them.
    std::shared_ptr<OperationMessages> messages;

  private:
    /// What those that are made together share.
    struct Common {
        explicit Common(std::shared_ptr<InnerCommunicator> inner);
        ~Common();
        Common(const Common&) = delete;
        Common& operator=(const Common&) = delete;

        std::shared_ptr<InnerCommunicator> inner;
        Parameters parameters;
        int number = -1; ///< tells them apart from others of the inner communicator, once it is set
    };

    NonblockingContext(std::shared_ptr<Common> common, Contributions contributions)
        : common_(std::move(common)), contributions_(std::move(contributions)) {}
    static std::vector<std::shared_ptr<NonblockingContext>>
    make(const std::shared_ptr<InnerCommunicator>& inner, SharedMemory memory,
         const Contributions::Shape& shape, int own);

    std::shared_ptr<Common> common_;
    Contributions contributions_;
    tags::Range range_;
    uint64_t operations_ = 0;
};

} // namespace nodeaware
