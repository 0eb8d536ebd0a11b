#pragma once

#include "runtime/collectives/mpi_transport.hpp"
#include "runtime/collectives/operation_messages.hpp"

#include <map>
#include <memory>
#include <vector>

namespace nodeaware {

/// The Transport of a nonblocking operation: direct messages between nodes that are small travel
/// with others of the node, all else as MpiTransport has it.
class GatheringTransport : public MpiTransport {
  public:
    /// `messages`: nullptr if there are no mailboxes in this job.
    GatheringTransport(InnerCommunicator& inner, StepMemory& memory, const Exchange& exchange,
                       const tags::Tags& tags, std::shared_ptr<OperationMessages> messages,
                       uint64_t operation);

    /// For so many steps; beginning and ending them needs no more memory of this rank.
    void reserve(size_t steps);
    void send_item(int peer, uint32_t item, uint32_t step);
    void receive_item(int peer, uint32_t item, uint32_t step);
    std::span<const FinishedStep> poll();

    /// Messages to other nodes that were left to travel with others.
    uint64_t gathered() const { return gathered_; }
    uint64_t gathered_bytes() const { return gathered_bytes_; }

  private:
    struct Awaited {
        int source;
        uint32_t number; ///< of those from there
        uint32_t item;
        uint32_t step;
    };

    bool is_gathered(int source, int destination, uint64_t bytes) const;

    const Topology& topology_;
    const Exchange& exchange_;
    const int rank_;
    std::shared_ptr<OperationMessages> messages_;
    const uint64_t operation_;
    std::map<int, uint32_t> sent_; ///< messages, by destination
    std::map<int, uint32_t> received_;
    std::vector<Awaited> awaited_;
    std::vector<FinishedStep> finished_; ///< and not told
    std::vector<FinishedStep> polled_;
    uint64_t gathered_ = 0;
    uint64_t gathered_bytes_ = 0;
};

} // namespace nodeaware
