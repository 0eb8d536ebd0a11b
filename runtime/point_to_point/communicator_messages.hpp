#pragma once

#include "runtime/communicators/communicator.hpp"
#include "runtime/job/world.hpp"
#include "runtime/point_to_point/batch_engine.hpp"
#include "runtime/point_to_point/batch_learner.hpp"
#include "runtime/point_to_point/comparison_policy.hpp"
#include "runtime/point_to_point/message_counts.hpp"
#include "runtime/requests/requests.hpp"
#include "tuning/learned_choices.hpp"

#include <memory>
#include <optional>
#include <set>

namespace nodeaware {

class MessageLayer;

/// Point-to-point messages of one communicator. This rank learns what it sends again and again.
/// Where gathering that with what other ranks of its node send is thought to pay, it proposes to
/// the receivers to hand their connections over to the library (BatchEngine), and asks for them
/// back where that turns out to be slower. No other rank decides with it, but ranks compare at the
/// same time, unless that would cost one too much.
class CommunicatorMessages : public ReceiveObserver, public Attachment, public BatchEngine::Owner {
  public:
    /// `comm` has ranks on several nodes, this one is `rank`.
    CommunicatorMessages(MPI_Comm comm, Topology topology, int rank, MessageLayer& layer);

    MPI_Comm comm() const { return comm_; }
    /// nullptr: MPI moves everything, for good.
    const std::shared_ptr<BatchEngine>& engine() const { return engine_; }

    // What the application does, to learn from. Peers are ranks that exist.
    void post();
    void note_send(int destination, int tag, uint64_t bytes);
    void note_sent_by_mpi(int destination, int tag);
    /// By the library; what is noted as received by MPI is counted there.
    void note_receive(bool has_wildcards);
    void note_receive_in_mpi(int source, int tag);
    /// A receive of MPI with wildcards: what it takes is told later.
    void note_pending();
    void note_probed_in_mpi(int source, int tag);
    void received(const MPI_Status& status) override;
    void received_unknown() override;
    uint32_t era_of(int source) const;
    bool may_cancel(int source, int tag, uint32_t era) override;
    void may_be_cancelled(int source, int tag) override;
    void waits() override { has_waiting_wildcard_ = true; }
    void note_waiting_wildcard() override { has_waiting_wildcard_ = true; }
    /// A sender waits for its receiver. Where receives with wildcards wait while their rank may
    /// block elsewhere, only MPI could tell it that it has been matched.
    void note_synchronous(int destination);

    bool knows_receives(bool for_synchronous) const override;
    bool is_learned(int destination) const override { return learner_.is_learned(destination); }
    double patience() const override;
    void is_active() override;

    /// True if a message to or from one of these is an engine's; ranks may be out of range.
    bool concerns_engine(int destination, int source) const;
    void communicator_freed() override;
    /// On another node; not so of nobody's number.
    bool is_elsewhere(int peer) const {
        return peer >= 0 && peer < topology_.ranks() &&
               topology_.node_of(peer) != topology_.node_of(rank_);
    }

  private:
    using Verdict = message_counts::Verdict;
    using Mover = BatchLearner::Mover;
    using Decision = ComparisonPolicy::Decision;

    /// Of messages that ranks of a node send to a node, those that gathering must save: what it
    /// takes for others to come must pay, too.
    static constexpr double least_saved = 0.3;

    bool is_asked_for() const;
    bool is_sent_together() const;
    void begin_batch();
    bool is_time_to_look() const;
    void consider(const batches::Batch& batch);
    double native_seconds() const;
    void propose(const batches::Batch& batch);
    bool receives_by_wildcards() const;
    bool may_ask() const;
    std::optional<Verdict> obstacle(const batches::Batch& batch);
    // In communicator_comparison.cpp.
    bool is_over(uint64_t batches) const; ///< a period of so many
    void join_comparison();
    void await_comparison();
    void begin_to_compare();
    void end_period();
    void compare(const std::optional<batches::Batch>& last);
    void judge();
    void give_back_slower();
    tuning::ChoiceKey key_of(const batches::Batch& batch) const;
    void recall(const batches::Batch& batch);
    void keep(const char* faster, const std::optional<batches::Batch>& batch);
    uint64_t changes() const;
    void ask_back(Verdict reason);
    void note(Verdict verdict);

    MPI_Comm comm_;
    Topology topology_;
    int rank_;
    MessageLayer& layer_;
    std::vector<int> members_; ///< ranks in MPI_COMM_WORLD
    uint64_t seen_completions_ = 0;
    uint64_t batches_ = 0;
    uint64_t looks_ = 0; ///< of the mailboxes, when the last batch began
    BatchLearner learner_;
    std::shared_ptr<BatchEngine> engine_;
    uint32_t recent_receives_ = 0;
    uint32_t wildcards_ = 0; ///< of these
    int pending_ = 0;        ///< receives whose source is not known yet
    bool is_ineligible_ = false;
    bool has_waiting_wildcard_ = false;
    std::optional<Verdict> verdict_; ///< the last
    bool is_worth_it_ = false;       ///< what was considered last
    bool wants_back_ = false;
    double native_seconds_ = 0;      ///< of a batch
    bool awaits_comparison_ = false; ///< a period by MPI is awaited
    bool is_comparing_ = false;      ///< it has begun
    uint64_t compares_at_ = 0;       ///< batches; at the latest, if it can
    uint32_t comparison_ = 0;        ///< of the node, the last that this has taken part in
    ComparisonPolicy policy_;
    std::set<tuning::ChoiceKey> recalled_; ///< what runs before were asked for
    bool is_by_mpi_ = true;                ///< this period, until now
    uint64_t slower_until_ = 0;            ///< batches
    uint64_t changes_ = 0; ///< connections handed over or given back before this period
};

} // namespace nodeaware
