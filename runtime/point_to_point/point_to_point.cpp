#include "runtime/point_to_point/point_to_point.hpp"

#include "runtime/communicator.hpp"
#include "runtime/log.hpp"

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

double timeout_of(const World& world) {
    const double given = world.options.batch_timeout;
    return given >= 0 ? given : automatic_batch_timeout(world);
}

/// The configuration names a strategy: nothing is to be thought or measured to be faster by MPI.
bool is_asked_for(const World& world) {
    return world.options.choice(Operation::point_to_point).kind == Choice::Kind::fixed;
}

constexpr int most_returns = 3;

struct Totals {
    uint64_t votes = 0;
    uint64_t agreed = 0;
    uint64_t handed_back = 0;
    BatchEngine::Counts counts; ///< of engines that have ended
};
Totals totals;

} // namespace

double automatic_batch_timeout(const World& world) {
    const double messages = 20 * world.options.parameters.costs.protocols[0].latency;
    return std::max(messages, world.oversubscribed ? 20e-3 : 100e-6);
}

void PointToPoint::add_to_report(const BatchEngine::Counts& counts) {
    totals.counts.contributed += counts.contributed;
    totals.counts.direct += counts.direct;
    totals.counts.containers += counts.containers;
    totals.counts.flushed += counts.flushed;
    totals.counts.overdue += counts.overdue;
}

std::vector<Report::Note> PointToPoint::report() {
    const BatchEngine::Counts& counts = totals.counts;
    return {{"point-to-point: votes on communicators", totals.votes},
            {"point-to-point: communicators whose batches were taken over", totals.agreed},
            {"point-to-point: communicators given back to MPI", totals.handed_back},
            {"point-to-point: messages between nodes in containers", counts.contributed},
            {"point-to-point: messages between nodes by themselves", counts.direct},
            {"point-to-point: containers sent complete", counts.containers},
            {"point-to-point: containers sent before they were complete", counts.flushed},
            {"point-to-point: of these because of the time limit", counts.overdue}};
}

PointToPoint::PointToPoint(MPI_Comm comm, Topology topology, int rank, Completions& completions)
    : comm_(comm), topology_(std::move(topology)), rank_(rank), completions_(completions) {}

void PointToPoint::post() {
    if (seen_completions_ != completions_.count) {
        seen_completions_ = completions_.count;
        learner_.complete(completions_.last_seconds);
    }
    learner_.post(now());
}

void PointToPoint::note_send(int destination, int tag, uint64_t bytes) {
    if (!is_elsewhere(destination)) { return; }
    learner_.send({destination, tag, bytes});
    if (engine_ == nullptr) { balance_ += channel_hash(rank_, destination, tag); }
}

void PointToPoint::note_receive(int source, int tag) {
    if (engine_ == nullptr && is_elsewhere(source)) {
        balance_ -= channel_hash(source, rank_, tag);
    }
}

void PointToPoint::meeting(const World& world, MPI_Comm self) {
    ++meetings_;
    if (is_off_ || meetings_ < next_vote_) { return; }
    next_vote_ = 2 * meetings_;
    if (rank_ == 0) { ++totals.votes; }
    if (engine_ == nullptr) {
        vote(world, self);
    } else {
        vote_to_return(is_asked_for(world));
    }
}

bool PointToPoint::all_are_ready(bool is_asked_for) {
    const bool is_ready = !is_ineligible_ && (is_asked_for || !has_synchronous_) && pending_ == 0 &&
                          learner_.is_stable();
    const std::array<uint64_t, 3> mine = {balance_, is_ready ? 0U : 1U, learner_.recent()};
    std::array<uint64_t, 3> sums{};
    MPI_CALL(Allreduce, mine.data(), sums.data(), static_cast<int>(mine.size()), MPI_UINT64_T,
             MPI_SUM, comm_);
    return sums[0] == 0 && sums[1] == 0 && sums[2] >= 2;
}

void PointToPoint::vote(const World& world, MPI_Comm self) {
    const double mine = learner_.mean_seconds();
    if (all_are_ready(is_asked_for(world))) {
        MPI_CALL(Allreduce, &mine, &native_seconds_, 1, MPI_DOUBLE, MPI_MAX, comm_);
        begin(world, self);
    }
    learner_.begin_period();
}

/// Every rank of the node gets the streams of all of them, as batches of numbers.
Containers::Streams PointToPoint::share_streams(MPI_Comm comm) const {
    std::vector<int64_t> mine;
    for (const BatchLearner::Batch& batch : learner_.batches()) {
        if (batch.recent < 2) { continue; }
        mine.push_back(static_cast<int64_t>(batch.streams.size()));
        for (const Stream& stream : batch.streams) {
            mine.insert(mine.end(),
                        {stream.destination, stream.tag, static_cast<int64_t>(stream.bytes)});
        }
    }
    const auto& ranks = topology_.ranks_of(topology_.node_of(rank_));
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
    Containers::Streams streams(lists.size());
    for (size_t i = 0; i < lists.size(); ++i) {
        for (size_t at = 0; at < lists[i].size();) {
            auto& batch = streams[i].emplace_back();
            for (int64_t left = lists[i][at++]; left > 0; --left, at += 3) {
                batch.push_back({static_cast<int32_t>(lists[i][at]),
                                 static_cast<int32_t>(lists[i][at + 1]),
                                 static_cast<uint64_t>(lists[i][at + 2])});
            }
        }
    }
    return streams;
}

/// Collective: all have voted for it.
void PointToPoint::begin(const World& world, MPI_Comm self) {
    Communicator& communicator = Communicator::with_lane(comm_, world);
    const std::shared_ptr<Lane> lane = communicator.lane();
    if (lane == nullptr) {
        is_off_ = true;
        return;
    }
    const MPI_Comm comm = lane->team().comm();
    const int node = topology_.node_of(rank_);
    const uint64_t most_bytes = gathered::limit(topology_, rank_, lane->parameters());
    Containers containers(share_streams(comm), topology_.local_of(rank_), most_bytes);
    const LocalGroup group(comm, topology_.ranks_of(node), topology_.local_of(rank_));
    const uint64_t memory_bytes = std::max<uint64_t>(containers.memory_bytes(), 64);
    const bool fits = memory_bytes <= lane->parameters().arena_bytes;
    SharedMemory memory;
    if (fits) { memory = SharedMemory::create(group, memory_bytes); }
    uint64_t messages = 0;
    for (const BatchLearner::Batch& batch : learner_.batches()) {
        if (batch.recent >= 2) { messages += batch.streams.size(); }
    }
    const bool is_first = topology_.local_of(rank_) == 0; // counts for its node
    const std::array<uint64_t, 3> mine = {memory.data() == nullptr ? 1U : 0U,
                                          is_first ? containers.saved_messages() : 0, messages};
    std::array<uint64_t, 3> sums{};
    MPI_CALL(Allreduce, mine.data(), sums.data(), static_cast<int>(mine.size()), MPI_UINT64_T,
             MPI_SUM, comm);
    const bool is_worth_it = is_asked_for(world) || (sums[1] * 10 >= sums[2] && sums[1] > 0);
    if (rank_ == 0) {
        log(LogLevel::info,
            "point-to-point on {} ranks: batches of {} messages between nodes, {} "
            "with containers{}",
            topology_.ranks(), sums[2], sums[2] - sums[1],
            sums[0] > 0   ? ", no shared memory"
            : is_worth_it ? ""
                          : ", left to MPI");
    }
    if (sums[0] > 0) { is_off_ = true; }
    if (sums[0] > 0 || !is_worth_it) { return; }
    if (rank_ == 0) { ++totals.agreed; }
    engine_ = std::make_shared<BatchEngine>(lane, std::move(containers), std::move(memory),
                                            BatchEngine::Settings{timeout_of(world), comm_, self});
    last_counts_ = {};
    next_vote_ = meetings_ + meetings_ / 2 + 4;
}

uint64_t PointToPoint::engine_balance() const {
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
void PointToPoint::vote_to_return(bool is_asked_for) {
    const BatchEngine::Counts counts = engine_->counts();
    const uint64_t contributed = counts.contributed - last_counts_.contributed;
    const uint64_t bad =
        counts.overdue - last_counts_.overdue + counts.direct - last_counts_.direct;
    last_counts_ = counts;
    const std::array<uint64_t, 4> mine = {engine_balance(), engine_->is_idle() ? 0U : 1U,
                                          contributed, bad};
    std::array<uint64_t, 4> sums{};
    MPI_CALL(Allreduce, mine.data(), sums.data(), static_cast<int>(mine.size()), MPI_UINT64_T,
             MPI_SUM, comm_);
    const double seconds = learner_.mean_seconds();
    double most_seconds = 0;
    MPI_CALL(Allreduce, &seconds, &most_seconds, 1, MPI_DOUBLE, MPI_MAX, comm_);
    learner_.begin_period();
    const bool is_slower =
        !is_asked_for && most_seconds > 1.02 * native_seconds_ && native_seconds_ > 0;
    const bool is_wrong = sums[3] * 10 > sums[2] + sums[3];
    if (!is_slower && !is_wrong) { return; }
    if (sums[0] != 0 || sums[1] != 0) {
        next_vote_ = meetings_ + 1; // something is under way
        return;
    }
    if (rank_ == 0) {
        log(LogLevel::info,
            "point-to-point on {} ranks: back to MPI, {} ({} contributions, {} "
            "others; {:.3g} s a batch, {:.3g} s by MPI)",
            topology_.ranks(), is_wrong ? "other messages than learned" : "slower", sums[2],
            sums[3], most_seconds, native_seconds_);
    }
    add_to_report(counts);
    if (rank_ == 0) { ++totals.handed_back; }
    engine_.reset();
    learner_.forget();
    balance_ = 0;
    is_off_ = !is_asked_for && ++returns_ >= most_returns;
}

} // namespace nodeaware
