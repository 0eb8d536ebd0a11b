#pragma once

#include "runtime/collectives/gathering_transport.hpp"
#include "runtime/communicators/nonblocking_context.hpp"
#include "runtime/memory/copied_together.hpp"

#include <memory>
#include <optional>

namespace nodeaware {

/// A nonblocking operation under way on this rank. What it has to do for other ranks it does while
/// it begins; see strategies/gathered.hpp. The rest concerns this rank alone, and waits until
/// somebody calls progress(). The operation begins with the first call, at once unless something
/// has run out: room for contributions, see Contributions, or memory; then with one of the next.
/// Small messages to other nodes go by OperationMessages, where there are any.
class PendingExchange {
  public:
    /// Takes the number of the operation. With an `error`, and where memory runs out, the operation
    /// fails on this rank; it begins nevertheless, with nothing to say, for others need that.
    PendingExchange(std::shared_ptr<NonblockingContext> context, Exchange exchange,
                    int error) noexcept;
    ~PendingExchange();
    PendingExchange(const PendingExchange&) = delete;
    PendingExchange& operator=(const PendingExchange&) = delete;

    /// Does what can be done now; true when nothing is left to do.
    bool progress();
    bool has_begun() const { return has_begun_; }

    /// MPI_SUCCESS or the code of the first failure.
    int error() const;
    uint64_t messages_sent() const { return messages_sent_; }
    uint64_t bytes_sent() const { return bytes_sent_; }

  private:
    /// A schedule and what executes it.
    struct Part {
        Part(Schedule compiled, const NonblockingContext& context, InnerCommunicator& inner,
             const Exchange& exchange, uint64_t operation,
             std::shared_ptr<OperationMessages> messages);
        Schedule schedule;
        OwnMemory memory;
        GatheringTransport transport;
        Execution<GatheringTransport> execution;
    };

    bool begin();
    /// As the last of its node: takes what all have contributed, and sends it.
    void send_for_all();
    void take();
    /// It is done, and should not end yet.
    bool is_ahead();
    void bring_back();

    std::shared_ptr<NonblockingContext> context_;
    Exchange exchange_;
    CopiedTogether small_;
    const uint64_t operation_;
    int error_; ///< that it began with
    bool has_begun_ = false;
    bool is_last_ = false; ///< of its node to begin
    double done_at_ = 0;
    gathered::OwnPart own_part_;
    std::optional<Part> own_; ///< nothing if it began with an error
    Exchange contributed_;    ///< by all ranks of the node, as messages
    std::optional<Part> for_all_;
    uint64_t messages_sent_ = 0;
    uint64_t bytes_sent_ = 0;
};

} // namespace nodeaware
