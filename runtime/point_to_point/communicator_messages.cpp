#include "runtime/point_to_point/communicator_messages.hpp"

#include "runtime/job/log.hpp"
#include "runtime/point_to_point/message_layer.hpp"
#include "strategies/forecast.hpp"
#include "strategies/gathered.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace nodeaware {

namespace {

constexpr int handover_messages = 3; ///< proposal, answer, note

} // namespace

CommunicatorMessages::CommunicatorMessages(MPI_Comm comm, Topology topology, int rank,
                                           MessageLayer& layer)
    : comm_(comm), topology_(std::move(topology)), rank_(rank), layer_(layer) {
    const World& world = layer.world();
    const uint64_t name = Communicator::as_it_is(comm).name;
    const std::shared_ptr<Mailboxes>& mailboxes = layer.mailboxes();
    if (mailboxes == nullptr || name == 0) {
        note(mailboxes == nullptr ? Verdict::no_memory : Verdict::unknown_communicator);
        return;
    }
    members_ = world.ranks_of(comm).value_or(std::vector<int>());
    const Parameters& parameters = world.options.parameters;
    const uint64_t most_gathered =
        std::min(gathered::limit(topology_, rank_, parameters), mailboxes->most_bytes());
    engine_ = std::make_shared<BatchEngine>(
        *this, mailboxes, layer.payloads(),
        BatchEngine::Settings{name, layer.self(), rank_, members_, most_gathered,
                              batches::bytes_worth_a_copy(parameters.costs)});
    engine_->open();
}

bool CommunicatorMessages::is_asked_for() const { return layer_.is_asked_for(); }

/// Ranks of a node are not expected to be further apart than a batch takes, or some messages,
/// whatever these take on this machine; and what waits in vain should not take much longer than by
/// MPI.
double CommunicatorMessages::patience() const {
    const World& world = layer_.world();
    if (world.options.batch_timeout >= 0) { return world.options.batch_timeout; }
    const double least = is_asked_for() ? automatic_batch_timeout(world) : a_few_messages(world);
    const double measured = a_few * layer_.mailboxes()->round_trip() / 2;
    return std::max({least, measured, native_seconds_});
}

void CommunicatorMessages::post() {
    if (engine_ == nullptr) { return; }
    layer_.note_threads();
    CompletionCalls& completions = layer_.requests.completions;
    if (seen_completions_ != completions.number()) {
        seen_completions_ = completions.number();
        learner_.complete(completions.last_seconds());
    }
    completions.is_time_wanted = true;
    if (!learner_.begins_batch()) { return learner_.post(0); }
    learner_.post(now());
    begin_batch();
}

void CommunicatorMessages::note_send(int destination, int tag, uint64_t bytes) {
    learner_.send({destination, tag, bytes});
    if (engine_ != nullptr) {
        layer_.mailboxes()->note_send(members_[static_cast<size_t>(destination)]);
    }
}

void CommunicatorMessages::note_synchronous(int destination) {
    if (engine_ != nullptr && is_elsewhere(destination)) { engine_->note_synchronous(destination); }
}

void CommunicatorMessages::note_sent_by_mpi(int destination, int tag) {
    if (engine_ == nullptr) { return; }
    engine_->sent_by_mpi(destination, tag);
}

void CommunicatorMessages::note_receive(bool has_wildcards) {
    constexpr uint32_t recent = 256;
    if (has_wildcards) { ++wildcards_; }
    if (++recent_receives_ < recent) { return; }
    recent_receives_ /= 2; // older ones count less
    wildcards_ /= 2;
}

void CommunicatorMessages::note_pending() {
    ++pending_;
    note_receive(true);
}

void CommunicatorMessages::note_receive_in_mpi(int source, int tag) {
    note_receive(false);
    if (engine_ != nullptr && is_elsewhere(source)) {
        engine_->receives().note_posted_in_mpi(source, tag);
    }
}

void CommunicatorMessages::note_probed_in_mpi(int source, int tag) {
    if (engine_ != nullptr && is_elsewhere(source)) {
        engine_->receives().probed_in_mpi(source, tag);
    }
}

void CommunicatorMessages::received(const MPI_Status& status) {
    --pending_;
    int cancelled = 0;
    MPI_CALL(Test_cancelled, &status, &cancelled);
    if (cancelled != 0 || status.MPI_SOURCE < 0 || engine_ == nullptr) { return; }
    if (is_elsewhere(status.MPI_SOURCE)) {
        engine_->receives().was_not_cancelled_in_mpi(status.MPI_SOURCE, status.MPI_TAG);
    }
}

uint32_t CommunicatorMessages::era_of(int source) const {
    return engine_ == nullptr ? 0 : engine_->receives().era_of(source);
}

bool CommunicatorMessages::may_cancel(int source, int tag, uint32_t era) {
    return engine_ == nullptr || engine_->receives().may_cancel_in_mpi(source, tag, era);
}

void CommunicatorMessages::may_be_cancelled(int source, int tag) {
    if (engine_ != nullptr && is_elsewhere(source)) {
        engine_->receives().cancelling_in_mpi(source, tag);
    }
    ++pending_; // until it is known whether it has taken a message
}

void CommunicatorMessages::received_unknown() {
    --pending_;
    is_ineligible_ = true;
}

bool CommunicatorMessages::knows_receives(bool for_synchronous) const {
    const bool is_of_one_thread = is_asked_for() || !MessageLayer::has_several_threads();
    return is_of_one_thread && !is_ineligible_ && pending_ == 0 &&
           !(for_synchronous && has_waiting_wildcard_);
}

void CommunicatorMessages::is_active() { layer_.activate(engine_); }

bool CommunicatorMessages::concerns_engine(int destination, int source) const {
    if (engine_ == nullptr) { return false; }
    const auto is_rank = [this](int peer) { return peer >= 0 && peer < topology_.ranks(); };
    if (is_rank(destination) && engine_->sends_to(destination)) { return true; }
    return (source == MPI_ANY_SOURCE || is_rank(source)) && engine_->receives().concerns(source);
}

void CommunicatorMessages::communicator_freed() {
    if (p2p::layer != nullptr) { layer_.requests.forget(this); }
    if (engine_ != nullptr) { engine_->communicator_freed(); }
}

void CommunicatorMessages::note(Verdict verdict) {
    if (verdict_ == verdict) { return; }
    verdict_ = verdict;
    message_counts::add(verdict);
}

bool CommunicatorMessages::is_sent_together() const {
    return layer_.mailboxes()->surely_saved_share() >= least_saved;
}

/// In passing, for other ranks may have proposed something; and the last batch is complete.
void CommunicatorMessages::begin_batch() {
    ++batches_;
    layer_.requests.look_at_kept();
    // Who has asked for connections back has to see the answer before it sends anything. Otherwise
    // it is enough to look while this rank waits, unless it waits in MPI.
    Mailboxes& mailboxes = *layer_.mailboxes();
    mailboxes.look_for_cells();
    const bool has_looked = std::exchange(looks_, mailboxes.looks()) != mailboxes.looks();
    if (engine_->asks_back() || (!has_looked && is_time_to_look())) {
        mailboxes.receive_some();
        looks_ = mailboxes.looks();
    }
    if (is_by_mpi_ && changes() != changes_) {
        is_by_mpi_ = false;
        learner_.moved_by_mpi_until_now();
    }
    const batches::Batch* const last = learner_.last();
    constexpr uint64_t few = 8;
    // Ever more seldom, for what has not helped may help later.
    const uint64_t times = last == nullptr ? 0 : last->times;
    const bool is_early = verdict_ == Verdict::few_together && is_sent_together();
    if (times >= 2 && (times <= few || is_early || std::has_single_bit(times))) { consider(*last); }
    const bool are_several = MessageLayer::has_several_threads() && !is_asked_for();
    if (times >= 2 && is_worth_it_ && !are_several) { propose(*last); }
    if (are_several && !wants_back_ && engine_->outgoing_connections() > 0) {
        ask_back(Verdict::several_threads);
    }
    if (mailboxes.comparison() != comparison_) { join_comparison(); }
    if (awaits_comparison_ && !is_comparing_) { begin_to_compare(); }
    if (is_over(learner_.recent())) { end_period(); }
}

uint64_t CommunicatorMessages::changes() const {
    return engine_->counts().handed_over + engine_->counts().returned;
}

/// A look at MPI takes long where ranks share processors. Others propose when this rank may, for
/// most programs send where they receive.
bool CommunicatorMessages::is_time_to_look() const {
    constexpr uint64_t eager = 64;
    constexpr uint64_t seldom = 8;
    if (std::has_single_bit(batches_) || batches_ % eager == 0) { return true; }
    return is_worth_it_ && (batches_ < eager || batches_ % seldom == 0);
}

void CommunicatorMessages::consider(const batches::Batch& batch) {
    recall(batch);
    layer_.mailboxes()->publish(batch, members_);
    const auto why = obstacle(batch);
    is_worth_it_ = !why;
    if (why) { return note(*why); }
    native_seconds_ = native_seconds();
}

/// Of a batch, as far as is known.
double CommunicatorMessages::native_seconds() const {
    const bool is_native = engine_->outgoing_connections() == 0 && learner_.recent() > 0;
    return is_native ? learner_.mean_seconds() : native_seconds_;
}

/// Most of those of late: so do those that it sends to, then.
bool CommunicatorMessages::receives_by_wildcards() const {
    return 2 * wildcards_ > recent_receives_;
}

bool CommunicatorMessages::may_ask() const {
    return is_asked_for() || engine_->proposals().may_ask(receives_by_wildcards());
}

/// Again and again what was declined, for that may be for a moment. Not before what would have been
/// saved is as much as it takes: for programs that are soon over, or send here and there.
void CommunicatorMessages::propose(const batches::Batch& batch) {
    const double saved = is_asked_for() ? 1 : layer_.mailboxes()->saved_share();
    const int least = is_asked_for() ? 0 : handover_messages;
    std::optional<int> last; // streams are sorted
    for (const batches::Stream& stream : batch.streams) {
        if (last == stream.destination) { continue; }
        last = stream.destination;
        const int rank = members_[static_cast<size_t>(stream.destination)];
        const auto sent = static_cast<double>(engine_->sent_by_mpi(stream.destination));
        const bool may_propose = engine_->may_propose(stream.destination) && saved * sent >= least;
        if (may_propose && !may_ask()) { return; }
        const bool gains = is_asked_for() || !engine_->is_mostly_synchronous(stream.destination);
        if (may_propose && gains && layer_.mailboxes()->is_shared(rank)) {
            engine_->propose(stream.destination);
        }
    }
}

/// Why the messages should not be gathered.
std::optional<CommunicatorMessages::Verdict>
CommunicatorMessages::obstacle(const batches::Batch& batch) {
    const auto is_shared = [&](const batches::Stream& stream) {
        return layer_.mailboxes()->is_shared(members_[static_cast<size_t>(stream.destination)]);
    };
    if (std::none_of(batch.streams.begin(), batch.streams.end(), is_shared)) {
        return Verdict::few_messages;
    }
    if (is_asked_for()) { return std::nullopt; }
    if (wants_back_ || awaits_comparison_) { return verdict_; }
    if (batches_ < slower_until_) { return Verdict::returned_slower; }
    if (layer_.memory_is_shared()) { return Verdict::shared_memory; }
    if (MessageLayer::has_several_threads()) { return Verdict::several_threads; }
    if (policy_.was_faster()) { return std::nullopt; } // whatever is thought
    if (!is_sent_together()) { return Verdict::few_together; }
    const batches::Forecast thought = layer_.mailboxes()->forecast();
    const double measured = native_seconds();
    log(LogLevel::debug,
        "point-to-point on {} ranks: thought to take {:.3g} s gathered, {:.3g} s by MPI; by MPI "
        "it takes {:.3g} s",
        topology_.ranks(), thought.gathered, thought.by_mpi, measured);
    // Some work of ours the model does not know. What it thinks to be lost is no reason where that
    // is nothing to what batches take: it is not of this machine, or they wait for other things.
    const double lost = thought.gathered * trusted_difference - thought.by_mpi;
    const bool pays = lost < (ComparisonPolicy::slower - 1) * measured;
    return pays ? std::nullopt : std::optional(Verdict::not_worth_it);
}

} // namespace nodeaware
