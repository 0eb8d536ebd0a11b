#pragma once

#include "runtime/memory/datatype.hpp"
#include "runtime/point_to_point/handover.hpp"
#include "runtime/point_to_point/straight_messages.hpp"
#include "runtime/point_to_point/unexpected.hpp"
#include "runtime/requests/requests.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace nodeaware {

/// A receive of the application whose message the library may bring.
struct Receive {
    UserMemory memory;
    MPI_Datatype kept_type = MPI_DATATYPE_NULL; ///< if the datatype will be needed
    int source = 0;                             ///< or MPI_ANY_SOURCE
    int tag = 0;                                ///< or MPI_ANY_TAG
    /// The same receive in MPI, if its message may come that way.
    MPI_Request shadow = MPI_REQUEST_NULL;
    /// Of the bytes of a message that goes straight: that of the message that was matched, or of
    /// the one with the `number` that will be if it goes straight.
    MPI_Request payload = MPI_REQUEST_NULL;
    uint32_t number = 0;
    int payload_tag = 0;
    /// Where these come to, if not to `memory`, see memory_to_withdraw().
    std::unique_ptr<std::byte[]> packed_shadow;
    std::unique_ptr<std::byte[]> packed_payload;
    MPI_Request request =
        MPI_REQUEST_NULL;          ///< the generalized request, if the receive is not blocking
    MPI_Comm comm = MPI_COMM_NULL; ///< of the application, until that frees it
    Requests* requests = nullptr;  ///< where failures of `request` are told

    /// Counted in an answer: its message has been sent by MPI, or will be first.
    bool is_answered = false;
    uint32_t era = 0; ///< if so, see handover::Receiver
    bool is_done = false;
    bool is_cancelled = false;
    int error = MPI_SUCCESS;
    int actual_source = MPI_ANY_SOURCE;
    int actual_tag = MPI_ANY_TAG;
    uint64_t bytes = 0;

    Receive() = default;
    ~Receive();
    Receive(const Receive&) = delete;
    Receive& operator=(const Receive&) = delete;

    bool has_wildcards() const { return source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG; }
    bool has_any_tag() const { return tag == MPI_ANY_TAG; }
    bool accepts(int from, int with) const {
        return (source == MPI_ANY_SOURCE || source == from) && (tag == MPI_ANY_TAG || tag == with);
    }
    /// A message was matched, of which as much is received as there is room for.
    void take_note(const wire::Entry& entry);
    /// Fills in what MPI promises of the status of a completed receive.
    void fill(MPI_Status* status) const;
    /// Done: tells MPI, if the application holds a request.
    void finish();
    /// MPI has completed the shadow.
    void take_outcome(int code, const MPI_Status& status);
};

/// The matching of MPI on one communicator: receives in the order in which they were posted,
/// messages in the order in which each source sent them. Messages of a source come by MPI, by the
/// library, or first the one way and then the other (see handover.hpp).
class Receives {
  public:
    /// `self`: a communicator of this rank alone. `members`: ranks in MPI_COMM_WORLD. `payloads`:
    /// nullptr if no message goes straight. `note`: takes what is no message, in its order.
    Receives(MPI_Comm self, std::vector<int> members, std::shared_ptr<StraightMessages> payloads,
             std::function<void(const wire::Arrived&)> note)
        : self_(self), members_(std::move(members)), payloads_(std::move(payloads)),
          note_(std::move(note)), sources_(members_.size()) {}
    ~Receives();
    Receives(const Receives&) = delete;
    Receives& operator=(const Receives&) = delete;

    /// True if a receive from there is to be posted here: some of its messages may come by the
    /// library.
    bool concerns(int source) const;
    /// A receive of MPI that names source and tag was posted, or was taken back; or one with
    /// wildcards has got this message.
    void note_posted_in_mpi(int source, int tag);
    void note_taken_back_in_mpi(int source, int tag);
    /// A receive that was posted in MPI is being cancelled, see handover::Receiver::era().
    uint32_t era_of(int source) const;
    /// `era`: when it was posted.
    bool may_cancel_in_mpi(int source, int tag, uint32_t era);
    void cancelling_in_mpi(int source, int tag);
    void was_not_cancelled_in_mpi(int source, int tag);
    /// MPI has given a message to a matched probe.
    void probed_in_mpi(int source, int tag);
    /// A message for such a receive or probe may come by MPI.
    bool may_come_by_mpi(int source, int tag) const;

    // The receiver's end of handovers.
    struct Answer {
        handover::Count count;
        int part; ///< see StraightMessages
    };
    /// Nothing: not now.
    std::optional<Answer> answer(int source);
    void given_up(int source);
    void handed_over(int source, std::span<const int> tags);
    /// False: not now.
    bool leave(int source);
    void left(int source);
    /// Connections that are not MPI's alone.
    int connections() const { return connections_; }

    /// Posts a receive; it may be done at once.
    void post(const std::shared_ptr<Receive>& receive);
    /// Takes a message that has come in, in whatever order.
    void arrive(wire::Arrived message);
    /// The application's communicator, which receives that are posted outlive.
    void communicator_freed();
    /// The first message that such a receive would take, or nullptr.
    const wire::Entry* find(int source, int tag) const;
    /// Takes it away, for a matched probe: its bytes, or the message of MPI that is its payload.
    struct Probed {
        wire::Entry entry;
        wire::Bytes bytes;
        MPI_Message message = MPI_MESSAGE_NULL;
    };
    /// Nothing if there is none, or its payload has not come yet.
    std::optional<Probed> extract(int source, int tag);
    /// A message of MPI that was extracted is received: `receive` has its payload.
    void receive_extracted(const std::shared_ptr<Receive>& receive);
    /// Looks after what MPI does for receives.
    void advance();
    /// True if the receive could be taken back.
    bool cancel(Receive& receive);

    /// Before this rank may be away: MPI is to take payloads for receives of more than `above`
    /// bytes, see StraightMessages.
    void open(uint64_t above);
    /// When it is back.
    void is_back() {
        if (payloads_ != nullptr) { payloads_->catch_all().withdraw(); }
    }
    /// No payload is coming of which nobody knows whose it is. Only then may senders be told that
    /// messages are matched.
    bool knows_payloads() const {
        return payloads_ == nullptr || !payloads_->catch_all().is_catching();
    }

    /// Matched messages whose senders want to be told; the caller empties the list.
    std::vector<wire::Entry>& to_acknowledge() { return to_acknowledge_; }

    /// What senders that wait for their receives must know before this rank may block: one entry
    /// for each channel on which one is posted, or matched, of which they have not been told.
    std::vector<wire::Entry> announcements();

    /// Nothing has changed since the last open() and announcements(), and no receive has wildcards,
    /// for which MPI is to look again each time.
    bool is_flushed() const { return is_flushed_; }
    void note_flushed() { is_flushed_ = !has_posted_wildcard(); }

    bool is_idle() const {
        return posted_.empty() && !doubtful_ && receiving_.empty() && by_mpi_.empty() &&
               unexpected_.empty() && early_.empty() && extracted_ == 0 && to_acknowledge_.empty();
    }
    /// Some receive that has been posted could take messages of several senders or tags.
    bool has_posted_wildcard() const;

  private:
    using List = std::list<std::shared_ptr<Receive>>;
    struct Source {
        handover::Receiver receiver;
        int part = StraightMessages::no_part;
        uint32_t next_sequence = 0;
        /// The sender has asked for the way back in vain: receives get shadows from now on, for
        /// some programs post the next before the last is over.
        bool is_asked_back = false;
    };

    const Source* find_source(int source) const;
    bool needs_shadow(int source, int tag) const;
    Source& at(int source); ///< which may change
    handover::Receiver& receiver(int source) { return at(source).receiver; }
    int world(int source) const { return members_[static_cast<size_t>(source)]; }
    std::optional<int> payload_tag(int source, int tag, uint32_t number) const;
    std::vector<int> waiting(int source) const;
    uint32_t from_before(const Channel& channel) const;
    void end_connection(Source& known, int source);
    void forget_numbers(int source);
    void close_payload(Receive& receive) const;
    const wire::Arrived* find_arrived(int source, int tag) const;
    void note_blocked(const Receive& receive);
    void matched_by_mpi(const Receive& receive);
    void sort_again();
    bool is_claimed(const wire::Entry& entry) const;
    void begin_shadow(Receive& receive);

    void sort_in(wire::Arrived message);
    bool give(const wire::Arrived& message, const std::shared_ptr<Receive>& receive);
    void give_withdrawn(const wire::Arrived& message, const std::shared_ptr<Receive>& receive);
    void settle_doubt();
    void give_bytes(const std::byte* bytes, Receive& receive) const;
    void unpack(const std::byte* bytes, Receive& receive) const;
    void expect_payload(const std::shared_ptr<Receive>& receive);
    void begin_payload(Receive& receive) const;
    bool close_from(List::iterator first);
    bool cancel_answered(Receive& receive);
    void note_match(const wire::Entry& entry);
    std::map<int, size_t> payloads_ahead(int tag, uint32_t ahead,
                                         const std::function<uint32_t(int)>& receives) const;
    void catch_payloads(const std::vector<const Receive*>& wildcards,
                        const std::map<Channel, uint32_t>& named, uint64_t above) const;
    void check_payloads();
    void check_shadows();
    static bool has_ended(MPI_Request* request, int* code, MPI_Status* status);
    static bool shadow_has_ended(Receive& receive, int* code, MPI_Status* status);

    MPI_Comm self_;
    std::vector<int> members_;
    std::shared_ptr<StraightMessages> payloads_;
    std::function<void(const wire::Arrived&)> note_;
    std::vector<std::unique_ptr<Source>> sources_; ///< nullptr: never heard of
    int connections_ = 0;
    bool is_flushed_ = false;
    List posted_;
    /// A receive whose shadow MPI has not yet withdrawn nor refused to, and the message that it is
    /// to have in the first case; others wait until that is known, as they may not overtake.
    struct Doubt {
        std::shared_ptr<Receive> receive;
        wire::Arrived message;
    };
    std::optional<Doubt> doubtful_;
    std::deque<wire::Arrived> held_;
    std::vector<std::shared_ptr<Receive>> receiving_; ///< matched, their payloads are coming
    std::vector<std::shared_ptr<Receive>> by_mpi_;    ///< MPI has matched their shadows
    int shadows_ = 0;
    int extracted_ = 0; ///< messages of MPI that the application holds
    Unexpected unexpected_;
    std::set<int> blocked_; ///< sources of which some wait there for others by MPI
    std::map<std::pair<int, uint32_t>, wire::Arrived> early_; ///< others of the source come first
    std::vector<wire::Entry> to_acknowledge_;
    std::map<Channel, uint32_t> matched_on_;
    std::map<Channel, uint32_t> announced_;
};

} // namespace nodeaware
