#include "runtime/point_to_point/communicator_messages.hpp"
#include "runtime/point_to_point/message_layer.hpp"
#include "runtime/requests/library.hpp"

#include <algorithm>
#include <bit>
#include <utility>

/// What is measured: with the library and without it.
namespace nodeaware {

bool CommunicatorMessages::is_over(uint64_t batches) const {
    return batches >=
           (is_comparing_ ? ComparisonPolicy::period_to_compare : ComparisonPolicy::period);
}

/// Soon after all connections have been given back. What is measured while others are not that far
/// tells little: it is seen where they are of this node, or send to this rank, and others still
/// need some time. Yet they may never be.
void CommunicatorMessages::begin_to_compare() {
    if (engine_->outgoing_connections() > 0) { return; }
    const bool are_others_back = !engine_->is_active() && !layer_.mailboxes()->is_used();
    if (are_others_back) {
        compares_at_ = std::min(compares_at_, batches_ + ComparisonPolicy::to_settle);
    }
    if (batches_ < compares_at_) { return; }
    is_comparing_ = true;
    wants_back_ = false;
    changes_ = changes();
    learner_.begin_period(Mover::mixed);
    is_by_mpi_ = true;
}

/// Another rank of this node compares, or one of another node that sends to this one: what each
/// measures by itself, while the others go on by the library, tells nothing of what all would take
/// by MPI.
void CommunicatorMessages::join_comparison() {
    Mailboxes& mailboxes = *layer_.mailboxes();
    comparison_ = mailboxes.comparison();
    const bool gathers = engine_->outgoing_connections() > 0 && !wants_back_;
    if (!gathers || awaits_comparison_ || is_asked_for()) { return; }
    if (policy_.joins(learner_.library_to_mpi(), mailboxes.saved_share())) { await_comparison(); }
}

void CommunicatorMessages::await_comparison() {
    policy_.begin();
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

/// A whole period by MPI, after one by the library.
void CommunicatorMessages::compare(const std::optional<batches::Batch>& last) {
    awaits_comparison_ = false;
    is_comparing_ = false;
    const bool is_slower = policy_.end(learner_.library_to_mpi()) == Decision::give_back;
    if (is_slower || policy_.was_faster()) { keep(is_slower ? "native" : "gathered", last); }
    if (is_slower) {
        give_back_slower();
        return note(Verdict::returned_slower);
    }
    if (last) { consider(*last); }
}

/// A whole period by the library.
void CommunicatorMessages::judge() {
    Mailboxes& mailboxes = *layer_.mailboxes();
    const double saved = mailboxes.saved_share();
    if (saved < least_saved / 2) { return ask_back(Verdict::few_together); }
    switch (policy_.end_period(learner_.library_to_mpi(), saved)) {
    case Decision::go_on: break;
    case Decision::compare:
        comparison_ = mailboxes.begin_comparison();
        await_comparison();
        break;
    case Decision::give_back:
        give_back_slower();
        ask_back(Verdict::returned_slower);
        break;
    }
}

/// The calls that send such batches.
tuning::ChoiceKey CommunicatorMessages::key_of(const batches::Batch& batch) const {
    uint64_t bytes = 0;
    for (const batches::Stream& stream : batch.streams) { bytes += stream.bytes; }
    const uint64_t mean = bytes / std::max<uint64_t>(batch.streams.size(), 1);
    return {"p2p", topology_.ranks(), topology_.nodes(), topology_.most_ranks_on_a_node(),
            static_cast<int>(std::bit_width(mean))};
}

/// Ranks may find different things, as their messages are not alike: each decides alone in any
/// case.
void CommunicatorMessages::recall(const batches::Batch& batch) {
    const auto [key, is_new] = recalled_.insert(key_of(batch));
    if (!is_new) { return; }
    const std::string* const faster = library->learned.find(*key);
    if (faster == nullptr) { return; }
    constexpr uint64_t long_enough = 1024; // batches
    if (*faster == "native") {
        slower_until_ = batches_ + long_enough;
    } else {
        policy_.know_faster();
    }
}

void CommunicatorMessages::keep(const char* faster, const std::optional<batches::Batch>& batch) {
    const auto measured = learner_.library_to_mpi();
    if (!batch || !measured) { return; }
    const double seconds = native_seconds_ * std::min(measured->ratio, 1.0);
    library->learned.learn(this, {key_of(*batch), faster, seconds});
}

/// It is not thought of again soon, and ever more seldom.
void CommunicatorMessages::give_back_slower() { slower_until_ = 4 * batches_; }

void CommunicatorMessages::ask_back(Verdict reason) {
    note(reason);
    wants_back_ = true;
    is_worth_it_ = false;
    compares_at_ = batches_ + 2 * ComparisonPolicy::to_settle;
    engine_->leave(awaits_comparison_ ? comparison_ : 0);
}

} // namespace nodeaware
