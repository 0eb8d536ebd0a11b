#include "runtime/point_to_point/communicator_messages.hpp"
#include "runtime/point_to_point/message_layer.hpp"

#include <algorithm>
#include <utility>

/// What is measured: with the library and without it.
namespace nodeaware {

namespace {

constexpr uint64_t period = 64;            ///< batches
constexpr uint64_t period_to_compare = 32; ///< those by MPI, as it takes longer
constexpr uint64_t to_settle = 16;         ///< batches by MPI before

/// What a comparison may cost, to what batches take.
constexpr double comparing_share = 0.05;

} // namespace

bool CommunicatorMessages::is_over(uint64_t batches) const {
    return batches >= (is_comparing_ ? period_to_compare : period);
}

/// Soon after all connections have been given back. What is measured while others are not that far
/// tells little: it is seen where they are of this node, or send to this rank, and others still
/// need some time. Yet they may never be.
void CommunicatorMessages::begin_to_compare() {
    if (engine_->outgoing_connections() > 0) { return; }
    const bool are_others_back = !engine_->is_active() && !layer_.mailboxes()->is_used();
    if (are_others_back) { compares_at_ = std::min(compares_at_, batches_ + to_settle); }
    if (batches_ < compares_at_) { return; }
    is_comparing_ = true;
    wants_back_ = false;
    changes_ = changes();
    learner_.begin_period(Mover::mixed);
    is_by_mpi_ = true;
}

/// Another rank of this node compares, or one of another node that sends to this one: what each
/// measures by itself, while the others go on by the library, tells nothing of what all would take
/// by MPI. Not where that would cost this rank too much, for it seems to gain, or surely does.
void CommunicatorMessages::join_comparison() {
    comparison_ = layer_.mailboxes()->comparison();
    const bool gathers = engine_->outgoing_connections() > 0 && !wants_back_;
    if (!gathers || awaits_comparison_ || is_asked_for()) { return; }
    const auto measured = learner_.library_to_mpi();
    if (measured && measured->is_of_whole_periods && measured->is_surely_below(1)) { return; }
    constexpr int sooner = 4; // than it would compare by itself
    if (sooner * (undecided_ + 1) >= periods_to_decide(measured)) { await_comparison(); }
}

void CommunicatorMessages::await_comparison() {
    constexpr int most = 1024; ///< periods
    compared_after_ = std::min(2 * compared_after_, most);
    periods_to_compare_ = compared_after_;
    undecided_ = 0;
    was_compared_ = true;
    awaits_comparison_ = true;
    ask_back(Verdict::compared);
}

/// Back to MPI what takes longer than by MPI.
void CommunicatorMessages::end_period() {
    const uint64_t now_changed = changes();
    const bool has_changed = std::exchange(changes_, now_changed) != now_changed; // in this period
    const bool is_native = engine_->outgoing_connections() == 0;
    if (!learner_.is_stable()) { note(Verdict::no_repetition); }
    layer_.mailboxes()->publish_anew();
    for (const batches::Batch& batch : learner_.batches()) {
        if (batch.repetitions >= 2) { layer_.mailboxes()->publish(batch, members_); }
    }
    if (is_native && !has_changed) { native_seconds_ = learner_.mean_seconds(); }
    const std::optional<batches::Batch> last =
        learner_.last() == nullptr ? std::nullopt : std::optional(*learner_.last());
    learner_.begin_period(has_changed ? Mover::mixed : is_native ? Mover::mpi : Mover::library);
    is_by_mpi_ = is_native;
    if (is_native) {
        wants_back_ = false;
        if (awaits_comparison_ && !has_changed) { compare(last); }
    } else if (wants_back_) {
        engine_->leave(awaits_comparison_ ? comparison_ : 0);
    } else if (awaits_comparison_) { // handed over late
        ask_back(Verdict::compared);
    } else if (!has_changed && !is_asked_for()) {
        judge();
    }
}

/// A whole period by MPI, after one by the library. What is faster goes on at once, not when it is
/// time to think of it again; of what the noise hides the model decides.
void CommunicatorMessages::compare(const std::optional<batches::Batch>& last) {
    awaits_comparison_ = false;
    is_comparing_ = false;
    const auto measured = learner_.library_to_mpi();
    was_faster_ = measured && measured->is_surely_below(1);
    constexpr int most_in_vain = 8;
    if (!measured) { // others have come
        was_compared_ = false;
        compared_in_vain_ = std::min(compared_in_vain_ + 1, most_in_vain);
    }
    if (measured && measured->is_surely_above(slower)) {
        give_back_slower();
        return note(Verdict::returned_slower);
    }
    if (last) { consider(*last); }
}

/// A whole period by the library. What is not surely faster is measured once more, for the first
/// batches by MPI may have taken longer than those to come, or have been others; and where that has
/// not told enough, ever more seldom again.
void CommunicatorMessages::judge() {
    if (layer_.mailboxes()->saved_share() < least_saved / 2) {
        return ask_back(Verdict::few_together);
    }
    const auto measured = learner_.library_to_mpi();
    if (measured && measured->is_of_whole_periods && measured->is_surely_below(1)) { return; }
    if (++undecided_ < periods_to_decide(measured)) { return; }
    undecided_ = 0;
    if (was_compared_ && measured && measured->is_surely_above(slower)) {
        give_back_slower();
        return ask_back(Verdict::returned_slower);
    }
    if (was_compared_ && --periods_to_compare_ > 0) { return; }
    comparison_ = layer_.mailboxes()->begin_comparison();
    await_comparison();
}

/// Before what takes so long, to what it takes by MPI, is measured once more. The more it seems to
/// gain, or, where batches were not seen by MPI, the more messages are saved, the more is lost by
/// that; and where that told nothing, it may do so again.
int CommunicatorMessages::periods_to_decide(
    const std::optional<BatchLearner::Comparison>& measured) const {
    if (measured && (measured->is_of_whole_periods || measured->is_surely_above(slower))) {
        return 1;
    }
    constexpr int some = 4; // what was seen by MPI may come again
    constexpr int many = 32;
    const double ratio = measured ? measured->ratio : 1 - layer_.mailboxes()->saved_share();
    const double share = double(to_settle + period_to_compare) / double(period) / comparing_share;
    constexpr double least = 0.01;
    const double lost = 1 / std::max(ratio, least) - 1;
    const int periods = std::clamp(static_cast<int>(share * lost), some, many);
    return measured ? periods : periods << compared_in_vain_;
}

/// It is not thought of again soon, and ever more seldom.
void CommunicatorMessages::give_back_slower() {
    was_faster_ = false;
    slower_until_ = 4 * batches_;
}

void CommunicatorMessages::ask_back(Verdict reason) {
    note(reason);
    wants_back_ = true;
    is_worth_it_ = false;
    compares_at_ = batches_ + 2 * to_settle;
    engine_->leave(awaits_comparison_ ? comparison_ : 0);
}

} // namespace nodeaware
