#pragma once

#include "runtime/communicators/communicator.hpp"
#include "runtime/job/world.hpp"
#include "runtime/point_to_point/batch_engine.hpp"
#include "runtime/point_to_point/batch_learner.hpp"
#include "runtime/point_to_point/related_communicators.hpp"
#include "runtime/point_to_point/vote_counts.hpp"
#include "runtime/requests/requests.hpp"

#include <map>
#include <memory>
#include <vector>

namespace nodeaware {

/// How long a contribution waits for others if nothing else is asked for (seconds): the time of a
/// few messages, and with more ranks than cores time for all of them to run.
double automatic_batch_timeout(const World& world);

/// Point-to-point messages of one communicator. First its ranks learn what they send again and
/// again, and leave everything to MPI. In some of the blocking collective calls on it, or on
/// another related to it, they vote: if all are in batches that repeat, every message between nodes
/// that was sent has met its receive, and gathering is thought to pay, then from there on the
/// library moves them (BatchEngine). Later votes give them back to MPI where that turns out to be
/// faster. Both changes happen at a point where nothing is under way, so every message finds its
/// receive on the same side.
class CommunicatorMessages : public ReceiveObserver, public Attachment {
  public:
    /// `comm` has ranks on several nodes, this one is `rank`.
    CommunicatorMessages(MPI_Comm comm, Topology topology, int rank, Requests& requests);

    MPI_Comm comm() const { return comm_; }
    /// nullptr: MPI moves everything.
    const std::shared_ptr<BatchEngine>& engine() const { return engine_; }
    bool is_learning() const { return engine_ == nullptr && !is_off_; }
    /// MPI moves everything, for good.
    bool is_off() const { return is_off_; }

    // What the application does, to learn from. Peers are ranks that exist.
    void post();
    void note_send(int destination, int tag, uint64_t bytes);
    void note_receive(int source, int tag);
    /// A receive of MPI with wildcards: what it takes is told later.
    void note_pending() { ++pending_; }
    void received(const MPI_Status& status) override;
    void received_unknown() override;
    void may_be_cancelled(int source, int tag) override;
    void has_forgotten() override { has_forgotten_ = true; }
    void waits() override { note_waiting_wildcard(); }
    /// A sender waits for its receiver.
    void note_synchronous() { has_synchronous_ = true; }
    /// A receive with wildcards waits while this rank may block elsewhere in MPI. Then only MPI
    /// could tell a sender that it has been matched, so a communicator with such receives and such
    /// senders is left to MPI, unless the configuration asks for something else.
    void note_waiting_wildcard() { has_waiting_wildcard_ = true; }
    /// The program has memory that ranks share, see MessageLayer::memory_shared().
    void note_shared_memory() { shares_memory_ = true; }

    /// The communicators that this one was made from, or that were made from it.
    std::shared_ptr<RelatedCommunicators> relatives;

    /// In a blocking collective call on `meeting`, a communicator of related ones. True if the next
    /// vote should be soon, for something was under way.
    bool vote(const World& world, MPI_Comm self, MPI_Comm meeting);

    /// True if a message to or from one of these is an engine's; ranks may be out of range.
    bool concerns_engine(int destination, int source) const {
        const auto is_far = [this](int peer) {
            return peer >= 0 && peer < topology_.ranks() && is_elsewhere(peer);
        };
        return engine_ != nullptr &&
               (is_far(destination) || source == MPI_ANY_SOURCE || is_far(source));
    }
    void communicator_freed() override;
    bool is_elsewhere(int peer) const {
        return topology_.node_of(peer) != topology_.node_of(rank_);
    }

  private:
    void vote_to_begin(const World& world, MPI_Comm self, MPI_Comm meeting);
    bool all_are_ready(bool is_asked_for, MPI_Comm meeting);
    void begin(const World& world, MPI_Comm self, MPI_Comm meeting);
    static Payloads payloads_of(InnerCommunicator& inner, int number, MPI_Comm meeting);
    bool all_begin(bool is_asked_for, uint64_t saved, const batches::Forecast& thought,
                   MPI_Comm meeting);
    batches::NodeBatches share_batches(MPI_Comm comm) const;
    bool vote_to_return(bool is_asked_for, MPI_Comm meeting);
    uint64_t risk() const;
    void leave_to_mpi(vote_counts::Verdict reason) const;
    uint64_t engine_balance() const;

    MPI_Comm comm_;
    Topology topology_;
    int rank_;
    Requests& requests_;
    uint64_t seen_completions_ = 0;
    BatchLearner learner_;
    std::shared_ptr<BatchEngine> engine_;
    BatchEngine::Counts last_counts_; ///< at the last vote
    uint64_t balance_ = 0;            ///< hashes of channels: messages sent less receives posted
    int pending_ = 0;                 ///< receives whose source is not known yet
    bool is_ineligible_ = false;
    bool has_forgotten_ = false;     ///< see ReceiveObserver
    const uint64_t unknown_cancels_; ///< when this was made
    bool has_synchronous_ = false;
    bool has_waiting_wildcard_ = false;
    bool shares_memory_ = false;
    bool is_off_ = false;
    double native_seconds_ = 0; ///< of a batch, on the slowest rank
    int returns_ = 0;
};

} // namespace nodeaware
