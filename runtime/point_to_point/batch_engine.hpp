#pragma once

#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/memory/shared_memory.hpp"
#include "runtime/point_to_point/containers.hpp"
#include "runtime/point_to_point/receives.hpp"
#include "runtime/progress/clock.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace nodeaware {

/// Moves all messages between nodes of one communicator, from the vote of its ranks on. Messages of
/// learned batches leave in containers, others by themselves.
///
/// Why no program can wait for ever that would not without us: a send is over when its bytes have
/// been copied. A contribution leaves when the last contributor of its container comes, and
/// otherwise by its own sender: after the time limit in any call that waits, and at once before any
/// call that may block in MPI. So a message leaves without anything that another rank does. It goes
/// straight to its receiver, which takes it whenever it looks for messages, and nobody else waits
/// for that. Senders that do wait for their receiver, MPI_Ssend, get an acknowledgement when their
/// message is matched; and before a rank may block elsewhere in MPI it announces the receives that
/// it has posted, so that they need not wait for it to come back.
class BatchEngine {
  public:
    struct Settings {
        double timeout_seconds = 0;
        MPI_Comm comm = MPI_COMM_NULL; ///< of the application
        MPI_Comm self = MPI_COMM_NULL; ///< of this rank alone
        int tag = 0;                   ///< of its messages on the inner communicator
        /// Streams of this rank in learned batches.
        std::set<batches::Stream> learned;
    };

    /// What happened, for the vote and the report.
    struct Counts {
        uint64_t contributed = 0;
        uint64_t direct = 0;
        uint64_t unexpected = 0; ///< of these, not as learned
        uint64_t containers = 0; ///< sent complete
        uint64_t flushed = 0;    ///< sent before they were complete
        uint64_t overdue = 0;    ///< of these, because of the time limit
    };

    BatchEngine(std::shared_ptr<InnerCommunicator> inner, Containers containers,
                SharedMemory memory, Settings settings);
    ~BatchEngine();
    BatchEngine(const BatchEngine&) = delete;
    BatchEngine& operator=(const BatchEngine&) = delete;

    /// True if messages between this rank and `peer` are the engine's.
    bool owns(int peer) const { return topology_.node_of(peer) != node_; }

    /// Sends a copy of the memory. With `synchronous` a number comes back that is_acknowledged()
    /// knows.
    std::optional<uint64_t> send(const UserMemory& memory, int destination, int tag,
                                 bool synchronous);
    bool is_acknowledged(uint64_t number) const;
    /// Calls `then` when the message is acknowledged.
    void when_acknowledged(uint64_t number, std::function<void()> then);

    /// Posts a receive from another node, or from anywhere.
    void receive(const std::shared_ptr<Receive>& receive);
    Receives& receives() { return receives_; }

    /// Does what can be done.
    void progress();
    /// Before this rank may block in MPI: sends what waits in containers, and tells senders that
    /// wait for their receives that these are posted.
    void flush();
    bool has_unsent() const { return !unsent_.empty(); }
    /// A receive with wildcards was posted at such a moment; those cannot be announced.
    bool had_waiting_wildcard() const { return has_waiting_wildcard_; }

    /// Nothing is under way on this rank.
    bool is_idle() const;
    /// All sends of this rank have left its memory.
    bool has_sent() const { return outgoing_.empty() && unsent_.empty(); }
    const std::vector<uint32_t>& sent() const { return sequences_; } ///< messages by destination
    const Counts& counts() const { return counts_; }
    InnerCommunicator& inner() const { return *inner_; }

  private:
    using Channel = std::pair<int, int>; ///< destination, tag

    struct Unsent {
        Containers::Reservation place;
        double since;
    };
    struct Outgoing {
        MPI_Request request;
        std::unique_ptr<std::vector<std::byte>> bytes;
    };

    bool contribute(const UserMemory& memory, const wire::Entry& entry, int destination);
    void write(const UserMemory& memory, const wire::Entry& entry, std::byte* to);
    void send_cell(const Containers::Reservation& place);
    void send_bytes(std::vector<std::byte> bytes, int destination);
    void receive_some();
    void take_apart(std::vector<std::byte> bytes);
    void acknowledge();
    void announce();
    void take_note(const wire::Entry& entry);
    void settle(uint64_t number);
    void look_after_unsent();

    std::shared_ptr<InnerCommunicator> inner_;
    const Topology& topology_;
    Containers containers_;
    SharedMemory memory_;
    Settings settings_;
    MPI_Comm comm_; ///< of the library
    int rank_;
    int node_;
    Receives receives_;
    std::vector<uint32_t> sequences_;
    std::vector<Unsent> unsent_;
    std::vector<Outgoing> outgoing_;
    /// A message whose sender waits for its receive, the `index`-th of its channel.
    struct Unacknowledged {
        Channel channel;
        uint32_t index;
        std::function<void()> then;
    };
    std::map<uint64_t, Unacknowledged> unacknowledged_; ///< by destination and sequence
    std::map<Channel, uint32_t> sent_on_;
    std::map<Channel, uint32_t> expected_on_; ///< announced by their receivers
    bool has_waiting_wildcard_ = false;
    Counts counts_;
};

} // namespace nodeaware
