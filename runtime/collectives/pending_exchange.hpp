#pragma once

#include "runtime/collectives/mpi_transport.hpp"
#include "runtime/communicators/nonblocking_context.hpp"

#include <memory>
#include <optional>

namespace nodeaware {

/// A nonblocking operation under way on this rank. What it has to do for other ranks it does while
/// it begins, which is at once unless it is far ahead of them; see strategies/gathered.hpp. The
/// rest concerns this rank alone, and waits until somebody calls progress().
class PendingExchange {
  public:
    PendingExchange(std::shared_ptr<NonblockingContext> context, Exchange exchange);
    PendingExchange(const PendingExchange&) = delete;
    PendingExchange& operator=(const PendingExchange&) = delete;

    /// Does what can be done now; true when nothing is left to do.
    bool progress();

    /// MPI_SUCCESS or the code of the first failure.
    int error() const;
    uint64_t messages_sent() const { return messages_sent_; }
    uint64_t bytes_sent() const { return bytes_sent_; }

  private:
    /// A schedule and what executes it.
    struct Part {
        Part(Schedule compiled, const NonblockingContext& context, InnerCommunicator& inner,
             const Exchange& exchange, uint64_t operation);
        Schedule schedule;
        OwnMemory memory;
        MpiTransport transport;
        Execution<MpiTransport> execution;
    };

    void begin();
    /// As the last of its node: takes what all have contributed, and sends it.
    void send_for_all();

    std::shared_ptr<NonblockingContext> context_;
    Exchange exchange_;
    const uint64_t operation_;
    bool has_begun_ = false;
    gathered::OwnPart own_part_;
    std::optional<Part> own_;
    Exchange contributed_; ///< by all ranks of the node, as messages
    std::optional<Part> for_all_;
    uint64_t messages_sent_ = 0;
    uint64_t bytes_sent_ = 0;
};

} // namespace nodeaware
