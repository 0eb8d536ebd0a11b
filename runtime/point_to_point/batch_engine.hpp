#pragma once

#include "runtime/mailboxes/mailboxes.hpp"
#include "runtime/point_to_point/credits.hpp"
#include "runtime/point_to_point/detached_sends.hpp"
#include "runtime/point_to_point/receives.hpp"
#include "strategies/topology.hpp"

#include <map>
#include <memory>
#include <vector>

namespace nodeaware {

/// Moves the messages between nodes of one communicator, connection by connection as they are
/// handed over (handover.hpp). Messages of learned batches leave together with others of the node
/// (Mailboxes), large ones straight (StraightMessages), others by themselves.
///
/// Why no program can wait for ever that would not without us: a send of a message that is copied
/// is over when its bytes have been copied, and have left if MPI lets go of them without their
/// receiver. What was put into a container leaves when all ranks of the node wait or are away;
/// otherwise any of them that waits in the library sends it after the time limit, and its own
/// sender at once before any call that may block in MPI. So a message leaves without anything that
/// its receiver does, or that ranks do which are away. Senders that do wait for their receiver,
/// MPI_Ssend, get an acknowledgement when their message is matched; and before a rank may block
/// elsewhere in MPI it announces the receives that it has posted, so that they need not wait for it
/// to come back. A send that waits so that memory is bounded, MPI_Send of a large message, asks for
/// that of a receiver that waits in the library, and waits for longest_wait(). Nobody waits for a
/// handover.
class BatchEngine final : public Mailboxes::Addressee {
  public:
    using Mode = PersistentRequest::Mode;

    /// Who knows what the application does on the communicator.
    class Owner {
      public:
        /// It is known what receives posted in MPI will take.
        virtual bool knows_receives(bool for_synchronous) const = 0;
        /// Messages are sent there again and again, together with others.
        virtual bool is_learned(int destination) const = 0;
        /// Seconds that a message waits for others at most.
        virtual double patience() const = 0;
        /// There is something to look after from now on.
        virtual void is_active() = 0;
        /// A receive with wildcards is posted while this rank may block in MPI.
        virtual void note_waiting_wildcard() = 0;

      protected:
        Owner() = default;
        Owner(const Owner&) = default;
        Owner& operator=(const Owner&) = default;
        ~Owner() = default;
    };

    struct Settings {
        Mailboxes::Name name = 0;      ///< the same on all ranks
        MPI_Comm self = MPI_COMM_NULL; ///< of this rank alone
        int rank = 0;
        std::vector<int> members;   ///< ranks in MPI_COMM_WORLD
        uint64_t most_gathered = 0; ///< bytes of a message that travels with others
        uint64_t bytes_worth_a_copy = surely_eager;
    };

    /// What happened, for the report.
    struct Counts {
        uint64_t contributed = 0;
        uint64_t direct = 0;
        uint64_t straight = 0;   ///< of these, from memory to memory
        uint64_t unexpected = 0; ///< of these, not as learned
        uint64_t late = 0;       ///< of those contributed, left after the time limit
        uint64_t proposed = 0;   ///< connections
        uint64_t declined = 0;
        uint64_t given_up = 0;
        uint64_t handed_over = 0;
        uint64_t returned = 0;
    };

    /// `payloads`: nullptr if no message goes straight.
    BatchEngine(Owner& owner, std::shared_ptr<Mailboxes> mailboxes,
                std::shared_ptr<StraightMessages> payloads, Settings settings);
    BatchEngine(const BatchEngine&) = delete;
    BatchEngine& operator=(const BatchEngine&) = delete;
    ~BatchEngine();

    /// Messages of other ranks may come from now on; some may be here.
    void open();

    int size() const { return static_cast<int>(settings_.members.size()); }
    /// Messages to that rank go by the library.
    bool sends_to(int destination) const {
        const auto& connection = connections_[static_cast<size_t>(destination)];
        return connection != nullptr && connection->sender.is_by_library();
    }
    /// A message goes by MPI; before anything else may happen to the connection.
    void sent_by_mpi(int destination, int tag);
    /// So many did, since messages were last given back.
    uint64_t sent_by_mpi(int destination) const {
        const auto& connection = connections_[static_cast<size_t>(destination)];
        return connection == nullptr ? 0 : connection->sender.sent_by_mpi();
    }
    /// It is time to propose to hand over.
    bool may_propose(int destination) const {
        const auto& connection = connections_[static_cast<size_t>(destination)];
        return connection != nullptr && connection->sender.may_propose();
    }
    void propose(int destination);
    const Proposals::Share& proposals() const { return proposals_; }
    /// Asks for all connections back that are not MPI's alone, until they are. Receivers are told
    /// of the `comparison` with MPI that it is for.
    void leave(uint32_t comparison = 0);
    bool asks_back() const { return wanted_back_ > 0; }
    /// A send waits for its receiver, now or from some call on. A receiver that has not been told
    /// when it answered is asked for the connection back, and told with the next proposal.
    void note_synchronous(int destination);
    /// Most sends there wait for their receiver: each would go by itself, and be answered.
    bool is_mostly_synchronous(int destination) const {
        const auto& connection = connections_[static_cast<size_t>(destination)];
        return connection != nullptr &&
               2 * connection->synchronous_sends > sent_by_mpi(destination);
    }

    /// False: a blocking send of a message of so many bytes is to wait until this is true.
    bool may_send(uint64_t bytes, int destination, int tag) const;
    /// The number of the next message there with the tag, and whether one is matched, or will be by
    /// a receive that is posted.
    uint32_t next_number(int destination, int tag) const {
        return credits_.next({destination, tag});
    }
    bool is_announced(const Channel& channel, uint32_t number) const;
    /// While it waits, now and then: its receiver may wait for it in the library.
    void ask_for_receive(int destination);
    /// Sends; nullptr if the memory may be used again at once, which that of a buffered message may
    /// in any case. `is_blocking`: somebody will wait.
    std::shared_ptr<PendingSend> send(const UserMemory& memory, int destination, int tag, Mode mode,
                                      bool is_blocking);

    /// Posts a receive of a rank that receives().concerns().
    void receive(const std::shared_ptr<Receive>& receive);
    Receives& receives() { return receives_; }

    /// Does what can be done.
    void progress();
    // Before this rank may block in MPI, one after the other for all engines, as they have
    // StraightMessages in common.
    void catch_up();
    /// Opens receives for messages that go straight, and tells senders that wait for their receives
    /// that these are posted.
    void flush();
    bool has_unsent() const { return unsent_ > 0; }
    void take(const std::shared_ptr<const std::byte>& bytes, uint64_t size) override;
    void left(bool is_late) override;
    /// The communicator is gone for the application.
    void communicator_freed();
    bool has_owner() const { return owner_ != nullptr; } ///< until then

    /// Nothing is under way on this rank.
    bool is_idle() const;
    /// Nor may be.
    bool is_active() const {
        return outgoing_connections_ + receives_.connections() > 0 || !is_idle();
    }
    /// Connections whose messages this rank sends by the library.
    int outgoing_connections() const { return handed_over_; }
    /// All sends of this rank have left its memory.
    bool has_sent() const { return detached_.empty() && unsent_ == 0; }
    const Counts& counts() const { return counts_; }
    /// For the report, once.
    void report();

  private:
    enum class Way {
        copied,
        copied_without_credit, ///< as it cannot go straight
        straight
    };
    /// A message whose receiver is to tell that it is matched.
    struct Untold {
        Credits::Mark mark;
        bool counts = true;                   ///< not numbered anew since
        std::shared_ptr<PendingSend> pending; ///< who waits for that
    };
    struct Connection {
        handover::Sender sender;
        int part = StraightMessages::no_part;
        uint32_t sequence = 0; ///< of what the library sends next
        /// The note of the handover, until it has been sent.
        std::optional<std::vector<int>> owed_tags;
        bool is_asked_back = false; ///< and not answered
        uint32_t asked_at = 0;      ///< `sequence` after the question
        bool wants_back = false;    ///< it is asked for until it is
        double proposed_at = 0;
        bool is_synchronous = false; ///< sends there wait for their receiver
        uint64_t synchronous_sends = 0;
        bool has_told = false; ///< which the last proposal said
        /// The same of what comes from there; and that it was asked to take the connection back.
        bool brings_synchronous = false;
        bool is_refused = false;
    };

    Connection& connection(int destination);
    int world(int rank) const { return settings_.members[static_cast<size_t>(rank)]; }
    std::optional<int> payload_tag(const Channel& channel) const;
    Way way_of(uint64_t bytes, const Channel& channel) const;
    void send_payload(const UserMemory& memory, const Channel& channel, Mode mode,
                      std::shared_ptr<PendingSend>& pending);
    void await_match(const Credits::Mark& mark, uint32_t sequence, bool is_synchronous,
                     std::shared_ptr<PendingSend>& pending);
    void send_alone(const UserMemory& memory, const wire::Entry& entry, int destination,
                    bool is_blocking, bool is_buffered, std::shared_ptr<PendingSend>& pending);
    bool contribute(const UserMemory& memory, const wire::Entry& entry, int destination);
    void write(const UserMemory& memory, const wire::Entry& entry, std::byte* to);
    void send_note(wire::Entry entry, int destination, std::span<const std::byte> bytes = {});
    void acknowledge();
    void announce();
    void take_one(wire::Arrived message);
    void take_acknowledgement(const wire::Entry& entry);
    void take_announcement(const wire::Entry& entry);
    void forget_awaited(const Channel& channel, uint32_t number);

    // Handovers, in handover_notes.cpp.
    void take_control(const wire::Arrived& note);
    void take_numbered(const wire::Arrived& note);
    void send_numbered(int destination, uint32_t kind, std::span<const std::byte> bytes = {},
                       int tag = 0);
    void take_proposal(int source, bool is_synchronous);
    void refuse_synchronous();
    void take_refusal(int destination);
    bool want_back(Connection& known);
    void end_connection(Connection& known);
    void take_answer(int source, const wire::Answer& answer);
    void go_on(int destination, handover::Sender::Next next);
    void hand_over(int destination);
    void send_owed(int destination);
    void ask_back(bool also_idle);
    void take_confirmation(const wire::Entry& entry);
    void number_anew(int destination);
    void count_outgoing(int destination, int by);

    Owner* owner_; ///< nullptr: the communicator has been freed
    std::shared_ptr<Mailboxes> mailboxes_;
    std::shared_ptr<StraightMessages> payloads_;
    Settings settings_;
    Proposals::Share proposals_;
    Receives receives_;
    DetachedSends detached_; ///< payloads, and what blocking sends wait for
    Credits credits_;
    std::vector<std::unique_ptr<Connection>> connections_; ///< by destination, once it is sent to
    int outgoing_connections_ = 0;                         ///< that are not MPI's alone
    uint32_t comparison_ = 0; ///< for which connections are wanted back, or 0
    int handed_over_ = 0;
    uint64_t unsent_ = 0;               ///< messages in containers that have not left
    std::map<uint64_t, Untold> untold_; ///< by destination and sequence
    /// Of these, the ones that the application waits for and that count: by number on the channel.
    std::map<Channel, std::map<uint32_t, uint64_t>> awaited_;
    std::map<Channel, uint32_t> announced_;
    int wanted_back_ = 0; ///< connections
    Counts counts_;
    bool is_reported_ = false;
};

} // namespace nodeaware
