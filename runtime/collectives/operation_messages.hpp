#pragma once

#include "runtime/collectives/gathering_feedback.hpp"
#include "runtime/communicators/nonblocking_context.hpp"
#include "runtime/mailboxes/mailboxes.hpp"
#include "runtime/memory/exchange.hpp"
#include "runtime/progress/clock.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace nodeaware {

/// The small messages between nodes of the nonblocking operations of one context. They travel
/// with all others of the node, see Mailboxes, and may come before their operation begins here, in
/// any order, and twice.
class OperationMessages final : public Mailboxes::Addressee {
  public:
    /// Makes those of the contexts of a communicator; none, on all ranks, if memory has run out on
    /// one. `batch_timeout`: seconds that messages wait for others; negative: automatic. Collective
    /// over the communicator. Throws MpiError.
    static void create(std::span<NonblockingContext* const> contexts,
                       const std::shared_ptr<Mailboxes>& mailboxes, double batch_timeout);
    ~OperationMessages();
    OperationMessages(const OperationMessages&) = delete;
    OperationMessages& operator=(const OperationMessages&) = delete;

    /// The largest message of a rank of the communicator that travels so; both ends know it.
    uint64_t most_bytes(int source) const;

    /// The next operation has this number, and messages are taken until it is over. Throws
    /// std::bad_alloc; then they are dropped.
    void begin(uint64_t operation, const Exchange& exchange);
    void over(uint64_t operation) { operations_.erase(operation); }

    /// Sends message `number` of those of the operation from this rank to the destination:
    /// `write(where)` writes its bytes. Throws MpiError and std::bad_alloc.
    template <class Write>
    void send(uint64_t operation, int destination, uint32_t number, uint64_t bytes, Write write) {
        const Header header{operation, rank_, number, bytes};
        const auto write_all = [&](std::byte* where) {
            std::memcpy(where, &header, sizeof header);
            write(where + sizeof header);
        };
        const int world = members_[static_cast<size_t>(destination)];
        const uint64_t kind = mix(mix(static_cast<uint64_t>(rank_), number), bytes);
        const uint64_t size = container::padded(sizeof header + bytes);
        const bool may_put = gathers_ && (is_time_to_look(operation) || mailboxes_->gathers(world));
        if (may_put && mailboxes_->put(name_, world, kind, size, patience(), write_all, true)) {
            ++unsent_;
            return;
        }
        std::span<std::byte> at;
        std::vector<std::byte> framed = Mailboxes::framed(name_, size, &at);
        write_all(at.data());
        mailboxes_->send(std::move(framed), world);
    }
    /// What was sent since fills cells of this node. An operation that ended now would leave the
    /// messages of the next to travel one by one, so it waits, though not for long.
    bool fills_cells(double since) const {
        return gathers_ && now() < since + mailboxes_->soon() && mailboxes_->is_ahead();
    }
    /// All ranks of this node have sent what they have to send.
    void all_have_sent() { mailboxes_->others_are_in(); }

    struct Arrived {
        std::shared_ptr<const std::byte> bytes; ///< nullptr: it has not come
        uint64_t size = 0;
    };
    /// A message, once.
    Arrived take(uint64_t operation, int source, uint32_t number);

    void take(const std::shared_ptr<const std::byte>& bytes, uint64_t size) override;
    void left(bool /*is_late*/) override { --unsent_; }

  private:
    struct Header {
        uint64_t operation = 0;
        int32_t source = 0;
        uint32_t number = 0;
        uint64_t bytes = 0;
    };
    using Place = std::pair<int, uint32_t>; ///< source, number
    /// Without bytes: it has been taken.
    using Messages = std::map<Place, Arrived>;

    /// What goes straight, for there was nothing to gather, may find others now.
    static bool is_time_to_look(uint64_t operation) { return operation % 16 == 0; }
    double most_gain(const Exchange& exchange) const;
    /// Seconds that a message waits for those of other ranks.
    double patience() const {
        return batch_timeout_ >= 0 ? batch_timeout_ : mailboxes_->batch_timeout();
    }

    OperationMessages(std::shared_ptr<InnerCommunicator> inner, const Parameters& parameters,
                      std::shared_ptr<Mailboxes> mailboxes, double batch_timeout);

    std::shared_ptr<InnerCommunicator> inner_;
    Parameters parameters_;
    std::shared_ptr<Mailboxes> mailboxes_;
    const double batch_timeout_;      ///< seconds; negative: automatic
    const std::vector<int>& members_; ///< ranks in MPI_COMM_WORLD
    const int rank_;
    Mailboxes::Name name_ = 0;
    bool is_open_ = false;
    std::array<GatheringFeedback, operation_count> feedback_;
    bool gathers_ = true;                     ///< the operation that has begun last
    uint64_t next_ = 0;                       ///< operation to begin
    std::map<uint64_t, Messages> operations_; ///< that are not over
    uint64_t unsent_ = 0;                     ///< in containers that have not left
};

} // namespace nodeaware
