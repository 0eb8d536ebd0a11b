#pragma once

#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/mailboxes/mailboxes.hpp"
#include "runtime/point_to_point/credits.hpp"
#include "runtime/point_to_point/detached_sends.hpp"
#include "runtime/point_to_point/receives.hpp"
#include "strategies/batches.hpp"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace nodeaware {

/// Moves all messages between nodes of one communicator, from the vote of its ranks on. Messages of
/// learned batches leave together with others of the node (Mailboxes), large ones straight
/// (StraightMessages), others by themselves.
///
/// Why no program can wait for ever that would not without us: a send of a message that is copied
/// is over when its bytes have been copied, and have left if MPI lets go of them without their
/// receiver. What was put into a container leaves when all ranks of the node wait or are away;
/// otherwise any of them that waits in the library sends it after the time limit, and its own
/// sender at once before any call that may block in MPI. So a message leaves without anything that
/// its receiver does, or that ranks do which are away. Senders that do wait for their receiver,
/// MPI_Ssend, get an acknowledgement when their message is matched; and before a rank may block
/// elsewhere in MPI it announces the receives that it has posted, so that they need not wait for it
/// to come back.
class BatchEngine final : public Mailboxes::Addressee {
  public:
    using Mode = PersistentRequest::Mode;

    struct Settings {
        Mailboxes::Name name = 0; ///< the same on all ranks
        double timeout_seconds = 0;
        MPI_Comm self = MPI_COMM_NULL; ///< of this rank alone
        int tag = 0;                   ///< of its messages on the inner communicator
        uint64_t most_gathered = 0;    ///< bytes of a message that travels with others
        uint64_t bytes_worth_a_copy = surely_eager;
        /// Streams of this rank in learned batches.
        std::set<batches::Stream> learned;
    };

    /// What happened, for the vote and the report.
    struct Counts {
        uint64_t contributed = 0;
        uint64_t direct = 0;
        uint64_t straight = 0;   ///< of these, from memory to memory
        uint64_t unexpected = 0; ///< of these, not as learned
        uint64_t late = 0;       ///< of those contributed, left after the time limit
    };

    BatchEngine(std::shared_ptr<InnerCommunicator> inner, std::shared_ptr<Mailboxes> mailboxes,
                Payloads payloads, Settings settings);
    BatchEngine(const BatchEngine&) = delete;
    BatchEngine& operator=(const BatchEngine&) = delete;
    ~BatchEngine();

    /// True if messages between this rank and `peer` are the engine's.
    bool owns(int peer) const { return topology_.node_of(peer) != node_; }

    /// False: a blocking send of a message of so many bytes is to wait until this is true.
    bool may_send(uint64_t bytes, int destination, int tag) const;
    /// Sends; nullptr if the memory may be used again at once. `is_blocking`: somebody will wait.
    std::shared_ptr<PendingSend> send(const UserMemory& memory, int destination, int tag, Mode mode,
                                      bool is_blocking);

    /// Posts a receive from another node, or from anywhere.
    void receive(const std::shared_ptr<Receive>& receive);
    Receives& receives() { return receives_; }

    /// Does what can be done.
    void progress();
    /// Before this rank may block in MPI: sends what waits in containers, opens receives for
    /// messages that go straight, and tells senders that wait for their receives that these are
    /// posted.
    void flush();
    /// From now on no message waits for others.
    void send_at_once() { sends_at_once_ = true; }
    bool has_unsent() const { return unsent_ > 0; }
    void take(const std::shared_ptr<const std::byte>& bytes, uint64_t size) override;
    void left(bool is_late) override;
    /// A receive with wildcards was posted at such a moment; those cannot be announced.
    bool had_waiting_wildcard() const { return has_waiting_wildcard_; }

    /// Nothing is under way on this rank.
    bool is_idle() const;
    /// All sends of this rank have left its memory.
    bool has_sent() const { return outgoing_.empty() && detached_.empty() && unsent_ == 0; }
    const std::vector<uint32_t>& sent() const { return sequences_; } ///< messages by destination
    const Counts& counts() const { return counts_; }
    InnerCommunicator& inner() const { return *inner_; }

  private:
    enum class Way {
        copied,
        copied_without_credit, ///< as it cannot go straight
        straight
    };
    /// A message whose receiver is to tell that it is matched.
    struct Untold {
        Credits::Mark mark;
        std::shared_ptr<PendingSend> pending; ///< who waits for that
    };

    Way way_of(uint64_t bytes, const Channel& channel) const;
    void send_payload(const UserMemory& memory, const Channel& channel, Mode mode,
                      std::shared_ptr<PendingSend>& pending);
    void await_match(const Credits::Mark& mark, uint32_t sequence, bool is_synchronous,
                     std::shared_ptr<PendingSend>& pending);
    void send_alone(const UserMemory& memory, const wire::Entry& entry, int destination,
                    bool is_blocking, std::shared_ptr<PendingSend>& pending);
    bool contribute(const UserMemory& memory, const wire::Entry& entry, int destination);
    void write(const UserMemory& memory, const wire::Entry& entry, std::byte* to);
    void send_note(const wire::Entry& entry, int destination);
    void receive_some();
    void acknowledge();
    void announce();
    void take_one(wire::Arrived message);
    void take_note(const wire::Entry& entry);

    std::shared_ptr<InnerCommunicator> inner_;
    const Topology& topology_;
    std::shared_ptr<Mailboxes> mailboxes_;
    Settings settings_;
    MPI_Comm comm_; ///< of the library
    int rank_;
    int node_;
    Receives receives_;
    IncomingMessages incoming_;
    OutgoingMessages outgoing_;
    DetachedSends detached_; ///< payloads, and what blocking sends wait for
    Credits credits_;
    std::vector<uint32_t> sequences_;
    uint64_t unsent_ = 0;               ///< messages in containers that have not left
    std::map<uint64_t, Untold> untold_; ///< by destination and sequence
    std::map<Channel, uint32_t> announced_;
    bool has_waiting_wildcard_ = false;
    bool sends_at_once_ = false;
    Counts counts_;
};

} // namespace nodeaware
