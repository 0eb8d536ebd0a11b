#pragma once

#include "runtime/memory/datatype.hpp"
#include "runtime/point_to_point/wire.hpp"
#include "runtime/requests/requests.hpp"

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <vector>

namespace nodeaware {

/// A receive that the application has posted on a communicator whose messages between nodes the
/// library moves.
struct Receive {
    UserMemory memory;
    MPI_Datatype kept_type = MPI_DATATYPE_NULL; ///< duplicate, if the datatype will be needed
    int source = 0;                             ///< or MPI_ANY_SOURCE
    int tag = 0;                                ///< or MPI_ANY_TAG
    /// Of a receive from any source: the same receive in MPI, for senders on this node.
    MPI_Request shadow = MPI_REQUEST_NULL;
    MPI_Request request =
        MPI_REQUEST_NULL;          ///< the generalized request, if the receive is not blocking
    MPI_Comm comm = MPI_COMM_NULL; ///< of the application
    Requests* requests = nullptr;  ///< where failures of `request` are told

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

    bool accepts(const wire::Entry& entry) const {
        return (source == MPI_ANY_SOURCE || source == entry.source) &&
               (tag == MPI_ANY_TAG || tag == entry.tag);
    }
    /// Fills in what MPI promises of the status of a completed receive.
    void fill(MPI_Status* status) const;
    /// Done: tells MPI, if the application holds a request.
    void finish();
    /// MPI has completed the shadow.
    void finish_as(int code, const MPI_Status& status);
};

/// The matching of MPI: receives in the order in which they were posted, messages in the order in
/// which each source sent them.
class Receives {
  public:
    /// `self`: a communicator of this rank alone.
    explicit Receives(MPI_Comm self) : self_(self) {}

    /// Posts a receive; it may be done at once.
    void post(const std::shared_ptr<Receive>& receive);
    /// Takes a message that has come in, in whatever order. Returns those that were matched and
    /// whose senders want to know.
    void arrive(wire::Arrived message);
    /// The first message that such a receive would take, or nullptr.
    const wire::Arrived* find(int source, int tag) const;
    /// Takes it away, for a matched probe.
    wire::Arrived extract(int source, int tag);
    /// Looks after receives that MPI may have completed.
    void check_shadows();
    /// True if the receive could be taken back.
    bool cancel(Receive& receive);

    /// Matched messages whose senders wait for an acknowledgement; the caller empties the list.
    std::vector<wire::Entry>& to_acknowledge() { return to_acknowledge_; }
    /// Sum of pair hashes over matched messages, see CommunicatorMessages.
    const std::vector<uint64_t>& matched() const { return matched_; }
    void count_sources(int ranks) { matched_.assign(static_cast<size_t>(ranks), 0); }

    /// What senders that wait for their receives must know before this rank may block: one entry
    /// for each channel on which a receive is posted that has not been announced.
    std::vector<wire::Entry> announcements();

    bool has_posted() const { return !posted_.empty(); }
    /// Some receive that has been posted could take messages of several senders or tags.
    bool has_posted_wildcard() const;
    bool has_arrived() const { return !arrived_.empty() || !early_.empty(); }

  private:
    void sort_in(wire::Arrived message);
    bool give(const wire::Arrived& message, Receive& receive);
    bool withdraw_shadow(Receive& receive);
    void note_match(const wire::Entry& entry);

    MPI_Comm self_;
    std::list<std::shared_ptr<Receive>> posted_;
    std::list<wire::Arrived> arrived_; ///< unexpected, in order for each source
    std::map<std::pair<int, uint32_t>, wire::Arrived> early_; ///< others of the source come first
    std::map<int, uint32_t> next_sequence_;
    std::vector<uint64_t> matched_; ///< by source
    std::vector<wire::Entry> to_acknowledge_;
    using Channel = std::pair<int, int>; ///< source, tag
    std::map<Channel, uint32_t> matched_on_;
    std::map<Channel, uint32_t> announced_;
};

} // namespace nodeaware
