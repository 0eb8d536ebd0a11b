#include "runtime/point_to_point/communicator_messages.hpp"

#include "runtime/communicators/communicator.hpp"
#include "runtime/job/log.hpp"
#include "runtime/point_to_point/message_layer.hpp"
#include "runtime/point_to_point/vote_counts.hpp"
#include "strategies/forecast.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace nodeaware {

namespace {

/// Sums of these over all ranks are zero (but for chance of 2^-64) only if for every pair and tag
/// there are as many receives as messages. Then each message has met its receive: the n-th with the
/// n-th, for messages of a pair with one tag do not overtake each other.
uint64_t channel_hash(int source, int destination, int tag) {
    return mix(mix(mix(0x2545f4914f6cdd1dU, static_cast<uint64_t>(source)),
                   static_cast<uint64_t>(destination)),
               static_cast<uint64_t>(tag));
}

double a_few_messages(const World& world) {
    return 20 * world.options.parameters.costs.protocols[0].latency;
}

/// The configuration names a strategy: nothing is to be thought or measured to be faster by MPI.
bool is_asked_for(const World& world) {
    return world.options.choice(Operation::point_to_point).kind == Choice::Kind::fixed;
}

/// `batch_seconds`: what a batch takes by MPI. Ranks of a node are not expected to be further apart
/// than that, and what waits in vain should not take much longer than by MPI.
double timeout_of(const World& world, double batch_seconds) {
    if (world.options.batch_timeout >= 0) { return world.options.batch_timeout; }
    const double least =
        is_asked_for(world) ? automatic_batch_timeout(world) : a_few_messages(world);
    return std::max(least, batch_seconds);
}

constexpr int most_returns = 3;

/// Ranks that have used synchronous sends, and above these ranks whose wildcards have waited.
constexpr uint64_t one_waits = uint64_t{1} << 32;
bool is_risky(uint64_t sum) { return sum % one_waits > 0 && sum / one_waits > 0; }

/// What each of the ranks gives to all of them.
std::vector<std::vector<int64_t>> exchange_lists(const std::vector<int64_t>& mine,
                                                 const std::vector<int>& ranks, MPI_Comm comm) {
    std::vector<std::vector<int64_t>> lists(ranks.size());
    std::vector<MPI_Request> requests;
    for (const int peer : ranks) {
        MPI_CALL(Isend, mine.data(), static_cast<int>(mine.size()), MPI_INT64_T, peer, tags::setup,
                 comm, &requests.emplace_back());
    }
    for (size_t i = 0; i < ranks.size(); ++i) {
        MPI_Status status;
        int count = 0;
        MPI_CALL(Probe, ranks[i], tags::setup, comm, &status);
        MPI_CALL(Get_count, &status, MPI_INT64_T, &count);
        lists[i].resize(static_cast<size_t>(count));
        MPI_CALL(Recv, lists[i].data(), count, MPI_INT64_T, ranks[i], tags::setup, comm,
                 MPI_STATUS_IGNORE);
    }
    MPI_CALL(Waitall, static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return lists;
}

} // namespace

double automatic_batch_timeout(const World& world) {
    return std::max(a_few_messages(world), world.oversubscribed ? 20e-3 : 100e-6);
}

CommunicatorMessages::CommunicatorMessages(MPI_Comm comm, Topology topology, int rank,
                                           Requests& requests)
    : comm_(comm), topology_(std::move(topology)), rank_(rank), requests_(requests),
      unknown_cancels_(requests.unknown_cancels) {}

void CommunicatorMessages::post() {
    if (is_off_) { return; }
    if (seen_completions_ != requests_.completions.number()) {
        seen_completions_ = requests_.completions.number();
        learner_.complete(requests_.completions.last_seconds());
    }
    requests_.completions.is_time_wanted = true;
    learner_.post(learner_.begins_batch() ? now() : 0);
}

void CommunicatorMessages::note_send(int destination, int tag, uint64_t bytes) {
    if (!is_elsewhere(destination)) { return; }
    learner_.send({destination, tag, bytes});
    if (engine_ == nullptr) { balance_ += channel_hash(rank_, destination, tag); }
}

void CommunicatorMessages::note_receive(int source, int tag) {
    if (engine_ == nullptr && is_elsewhere(source)) {
        balance_ -= channel_hash(source, rank_, tag);
    }
}

void CommunicatorMessages::received(const MPI_Status& status) {
    --pending_;
    int cancelled = 0;
    MPI_CALL(Test_cancelled, &status, &cancelled);
    if (cancelled == 0 && status.MPI_SOURCE >= 0) {
        note_receive(status.MPI_SOURCE, status.MPI_TAG);
    }
}

void CommunicatorMessages::may_be_cancelled(int source, int tag) {
    if (engine_ == nullptr && is_elsewhere(source)) {
        balance_ += channel_hash(source, rank_, tag);
    }
    note_pending();
}

void CommunicatorMessages::received_unknown() {
    --pending_;
    is_ineligible_ = true;
}

bool CommunicatorMessages::vote(const World& world, MPI_Comm self, MPI_Comm meeting) {
    if (is_off_) { return false; }
    if (rank_ == 0) { vote_counts::add_vote(); }
    if (engine_ != nullptr) { return vote_to_return(is_asked_for(world), meeting); }
    vote_to_begin(world, self, meeting);
    return false;
}

/// To be added up over the ranks, for is_risky().
uint64_t CommunicatorMessages::risk() const {
    const bool waits =
        has_waiting_wildcard_ || (engine_ != nullptr && engine_->had_waiting_wildcard());
    return (has_synchronous_ ? 1U : 0U) + (waits ? one_waits : 0U);
}

bool CommunicatorMessages::all_are_ready(bool is_asked_for, MPI_Comm meeting) {
    const bool may_lack_receives = has_forgotten_ && requests_.unknown_cancels != unknown_cancels_;
    const bool is_unknown = is_ineligible_ || pending_ != 0 || may_lack_receives;
    const std::array<uint64_t, 6> mine = {
        balance_, is_unknown ? 1U : 0U,    learner_.is_stable() ? 0U : 1U, learner_.recent(),
        risk(),   shares_memory_ ? 1U : 0U};
    std::array<uint64_t, 6> sums{};
    MPI_CALL(Allreduce, mine.data(), sums.data(), static_cast<int>(mine.size()), MPI_UINT64_T,
             MPI_SUM, meeting);
    const auto [balance, unknown, unstable, recent, risks, shared] = sums;
    using Why = vote_counts::Verdict;
    const bool is_unsafe = !is_asked_for && is_risky(risks);
    const bool is_useless = !is_asked_for && shared > 0;
    const std::optional<Why> why = recent < 2     ? std::optional(Why::few_messages)
                                   : unstable > 0 ? std::optional(Why::no_repetition)
                                   : unknown > 0  ? std::optional(Why::waiting_wildcards)
                                   : balance != 0 ? std::optional(Why::under_way)
                                   : is_unsafe    ? std::optional(Why::risky)
                                   : is_useless   ? std::optional(Why::shared_memory)
                                                  : std::nullopt;
    if (why) { leave_to_mpi(*why); }
    return !why;
}

void CommunicatorMessages::leave_to_mpi(vote_counts::Verdict reason) const {
    if (rank_ != 0) { return; } // counts for all
    vote_counts::add(reason);
    log(LogLevel::info, "point-to-point on {} ranks: stays with MPI for now: {}", topology_.ranks(),
        vote_counts::text_of(reason));
}

void CommunicatorMessages::vote_to_begin(const World& world, MPI_Comm self, MPI_Comm meeting) {
    const double mine = learner_.mean_seconds();
    if (all_are_ready(is_asked_for(world), meeting)) {
        MPI_CALL(Allreduce, &mine, &native_seconds_, 1, MPI_DOUBLE, MPI_MAX, meeting);
        begin(world, self, meeting);
    }
    learner_.begin_period();
}

/// One that the ranks of `meeting` agree on.
Mailboxes::Name name_of_engine(Mailboxes& mailboxes, MPI_Comm meeting) {
    Mailboxes::Name name = mailboxes.new_name();
    MPI_CALL(Bcast, &name, 1, MPI_UINT64_T, 0, meeting);
    return name;
}

/// Every rank of the node gets the batches of all of them.
batches::NodeBatches CommunicatorMessages::share_batches(MPI_Comm comm) const {
    std::vector<int64_t> mine;
    for (const batches::Batch& batch : learner_.repeated()) {
        mine.push_back(static_cast<int64_t>(batch.streams.size()));
        mine.push_back(static_cast<int64_t>(batch.repetitions));
        for (const batches::Stream& stream : batch.streams) {
            mine.insert(mine.end(),
                        {stream.destination, stream.tag, static_cast<int64_t>(stream.bytes)});
        }
    }
    const auto& ranks = topology_.ranks_of(topology_.node_of(rank_));
    batches::NodeBatches shared(ranks.size());
    const auto lists = exchange_lists(mine, ranks, comm);
    for (size_t i = 0; i < lists.size(); ++i) {
        const std::vector<int64_t>& list = lists[i];
        for (size_t at = 0; at < list.size();) {
            batches::Batch& batch = shared[i].emplace_back();
            int64_t left = list[at];
            batch.repetitions = static_cast<uint64_t>(list[at + 1]);
            for (at += 2; left > 0; --left, at += 3) {
                batch.streams.push_back({static_cast<int32_t>(list[at]),
                                         static_cast<int32_t>(list[at + 1]),
                                         static_cast<uint64_t>(list[at + 2])});
            }
        }
    }
    return shared;
}

/// Collective over `meeting`: all have voted for it.
void CommunicatorMessages::begin(const World& world, MPI_Comm self, MPI_Comm meeting) {
    const std::shared_ptr<Mailboxes>& mailboxes = p2p::layer->mailboxes();
    Communicator& communicator = Communicator::of(meeting, world);
    if (mailboxes == nullptr || communicator.obstacle(Operation::point_to_point) != Reason::none) {
        is_off_ = true;
        leave_to_mpi(vote_counts::Verdict::no_memory);
        return;
    }
    const std::shared_ptr<InnerCommunicator>& inner = communicator.shared_inner();
    const Parameters& parameters = inner->parameters();
    const batches::NodeBatches shared = share_batches(inner->comm());
    const int local = topology_.local_of(rank_);
    const uint64_t most_bytes =
        std::min(gathered::limit(topology_, rank_, parameters), mailboxes->most_bytes());
    const std::vector<batches::Container> planned =
        batches::containers_of(shared, topology_, most_bytes);
    const batches::Forecast thought = batches::forecast(shared, planned, parameters.costs);
    const int number = inner->next_engine();
    const Mailboxes::Name name = name_of_engine(*mailboxes, meeting);
    BatchEngine::Settings settings{name,       timeout_of(world, native_seconds_),
                                   self,       tags::of_engine(number),
                                   most_bytes, batches::bytes_worth_a_copy(parameters.costs),
                                   {}};
    for (const batches::Batch& batch : shared[static_cast<size_t>(local)]) {
        settings.learned.insert(batch.streams.begin(), batch.streams.end());
    }
    const uint64_t saved = local == 0 ? batches::saved_messages(planned) : 0; // once for the node
    try {
        if (!all_begin(is_asked_for(world), saved, thought, meeting)) { return; }
        engine_ = std::make_shared<BatchEngine>(
            inner, mailboxes, payloads_of(*inner, number, meeting), std::move(settings));
    } catch (...) {
        mailboxes->give_up(name); // which others may have begun to send to
        throw;
    }
    if (shares_memory_) { engine_->send_at_once(); }
    last_counts_ = {};
    if (rank_ == 0) { vote_counts::add_taken_over(); }
    vote_counts::add_batches(shared[static_cast<size_t>(local)].size());
}

/// Collective over `meeting`. An engine before that has the same tags may live longer on some ranks
/// than on others.
Payloads CommunicatorMessages::payloads_of(InnerCommunicator& inner, int number, MPI_Comm meeting) {
    const MPI_Comm comm = inner.second_comm();
    if (comm == MPI_COMM_NULL) { return {}; }
    auto messages = StraightMessages::of(comm);
    const int part = number % PayloadTags::engines;
    const int mine = messages->is_taken[static_cast<size_t>(part)] ? 1 : 0;
    int any = 0;
    MPI_CALL(Allreduce, &mine, &any, 1, MPI_INT, MPI_MAX, meeting);
    return any == 0 ? Payloads(std::move(messages), part) : Payloads();
}

/// All have planned: true if it can and should be done.
bool CommunicatorMessages::all_begin(bool is_asked_for, uint64_t saved,
                                     const batches::Forecast& thought, MPI_Comm meeting) {
    uint64_t sum = 0;
    MPI_CALL(Allreduce, &saved, &sum, 1, MPI_UINT64_T, MPI_SUM, meeting);
    const std::array<double, 2> node = {thought.by_mpi, thought.gathered};
    std::array<double, 2> most{};
    MPI_CALL(Allreduce, node.data(), most.data(), static_cast<int>(node.size()), MPI_DOUBLE,
             MPI_MAX, meeting);
    // Some work of ours the model does not know.
    const bool should = is_asked_for || (sum > 0 && most[1] * trusted_difference < most[0]);
    if (rank_ == 0) {
        log(LogLevel::info,
            "point-to-point on {} ranks: containers would save {} messages of each repetition; "
            "thought to take {:.3g} s, by MPI {:.3g} s",
            topology_.ranks(), sum, most[1], most[0]);
    }
    if (!should) { leave_to_mpi(vote_counts::Verdict::not_worth_it); }
    return should;
}

uint64_t CommunicatorMessages::engine_balance() const {
    uint64_t sum = 0;
    const auto& sent = engine_->sent();
    const auto& matched = engine_->receives().matched();
    for (int peer = 0; peer < topology_.ranks(); ++peer) {
        const auto i = static_cast<size_t>(peer);
        if (sent[i] != 0) { sum += sent[i] * channel_hash(rank_, peer, 0); }
        if (matched[i] != 0) { sum -= matched[i] * channel_hash(peer, rank_, 0); }
    }
    return sum;
}

/// Back to MPI if too much of what was learned does not come, or if it takes longer than before.
bool CommunicatorMessages::vote_to_return(bool is_asked_for, MPI_Comm meeting) {
    const BatchEngine::Counts counts = engine_->counts();
    const uint64_t sent =
        counts.contributed - last_counts_.contributed + counts.direct - last_counts_.direct;
    const uint64_t bad =
        counts.late - last_counts_.late + counts.unexpected - last_counts_.unexpected;
    last_counts_ = counts;
    const std::array<uint64_t, 5> mine = {engine_balance(), engine_->is_idle() ? 0U : 1U, sent, bad,
                                          risk()};
    std::array<uint64_t, 5> sums{};
    MPI_CALL(Allreduce, mine.data(), sums.data(), static_cast<int>(mine.size()), MPI_UINT64_T,
             MPI_SUM, meeting);
    const double seconds = learner_.mean_seconds();
    double most_seconds = 0;
    MPI_CALL(Allreduce, &seconds, &most_seconds, 1, MPI_DOUBLE, MPI_MAX, meeting);
    learner_.begin_period();
    const bool is_measured = !is_asked_for && native_seconds_ > 0;
    const bool is_slower = is_measured && most_seconds > 1.02 * native_seconds_;
    const bool is_clearly_faster = is_measured && most_seconds < 0.9 * native_seconds_;
    const bool is_wrong = sums[3] * 20 > sums[2] && !is_clearly_faster;
    const bool is_unsafe = !is_asked_for && is_risky(sums[4]);
    if (!is_slower && !is_wrong && !is_unsafe) { return false; }
    if (sums[0] != 0 || sums[1] != 0) { return true; }
    if (rank_ == 0) {
        const auto why = is_unsafe  ? vote_counts::Verdict::returned_risky
                         : is_wrong ? vote_counts::Verdict::returned_otherwise
                                    : vote_counts::Verdict::returned_slower;
        vote_counts::add(why);
        log(LogLevel::info,
            "point-to-point on {} ranks: back to MPI: {} ({} messages, of these {} late or not "
            "learned; {:.3g} s a batch, {:.3g} s by MPI)",
            topology_.ranks(), vote_counts::text_of(why), sums[2], sums[3], most_seconds,
            native_seconds_);
    }
    vote_counts::add(counts);
    engine_.reset();
    learner_.forget();
    balance_ = 0;
    is_off_ = !is_asked_for && ++returns_ >= most_returns;
    return false;
}

} // namespace nodeaware
