#include "runtime/point_to_point/message_layer.hpp"

#include "runtime/collectives/nonblocking.hpp"
#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/job/log.hpp"
#include "runtime/progress/backoff.hpp"

#include <algorithm>
#include <set>

namespace nodeaware {

constinit std::atomic<int> running_engines{0};

bool MessageLayer::open() {
    if (world_.options.choice(Operation::point_to_point).kind == Choice::Kind::native) {
        return false;
    }
    const std::set<int> nodes(world_.node_of.begin(), world_.node_of.end());
    if (world_.threads_at_once || nodes.size() < 2 || nodes.size() == world_.node_of.size()) {
        return false;
    }
    // Every completion call and every meeting is of interest from now on.
    library_requests.fetch_add(1, std::memory_order_relaxed);
    waiting_communicators.fetch_add(1, std::memory_order_relaxed);
    return true;
}

MessageLayer::~MessageLayer() {
    if (self_ != MPI_COMM_NULL) { mpi.Comm_free(&self_); }
}

void MessageLayer::close() {
    flush();
    wait_until([&] {
        return detached_.empty() &&
               std::all_of(engines_.begin(), engines_.end(),
                           [](const auto& engine) { return engine->has_sent(); });
    });
    for (auto& [request, persistent] : persistent_) {
        if (persistent.kept_type != MPI_DATATYPE_NULL) { mpi.Type_free(&persistent.kept_type); }
    }
    for (const auto& engine : engines_) { vote_counts::add(engine->counts()); }
    engines_.clear();
}

MPI_Comm MessageLayer::self() {
    if (self_ == MPI_COMM_NULL) { self_ = InnerCommunicator::create_private(MPI_COMM_SELF); }
    return self_;
}

CommunicatorMessages* MessageLayer::find(MPI_Comm comm) {
    if (comm == last_comm_ && comm != MPI_COMM_NULL) { return last_; }
    if (comm == MPI_COMM_NULL) { return nullptr; }
    Communicator& communicator = Communicator::as_it_is(comm);
    if (!communicator.has_point_to_point) {
        communicator.has_point_to_point = true;
        int inter = 0;
        MPI_CALL(Comm_test_inter, comm, &inter);
        const auto nodes = inter != 0 ? std::nullopt : world_.nodes_of(comm);
        if (nodes) {
            Topology topology(*nodes);
            int rank = 0;
            MPI_CALL(Comm_rank, comm, &rank);
            if (topology.nodes() > 1 && topology.most_ranks_on_a_node() > 1) {
                const auto made = std::make_shared<CommunicatorMessages>(comm, std::move(topology),
                                                                         rank, completions_);
                made->relatives = std::make_shared<RelatedCommunicators>();
                made->relatives->join(made);
                communicator.point_to_point = made;
            }
        }
    }
    last_comm_ = comm;
    last_ = communicator.point_to_point.get();
    return last_;
}

std::shared_ptr<BatchEngine> MessageLayer::engine(MPI_Comm comm) {
    CommunicatorMessages* const found = find(comm);
    return found == nullptr ? nullptr : found->engine();
}

void MessageLayer::forget(const CommunicatorMessages* gone) {
    last_comm_ = MPI_COMM_NULL;
    last_ = nullptr;
    std::erase_if(tracked_, [&](const auto& entry) { return entry.second == gone; });
}

void MessageLayer::meeting(MPI_Comm comm) {
    settle();
    CommunicatorMessages* const found = find(comm);
    if (found == nullptr || !found->relatives->is_time_to_vote()) { return; }
    const std::shared_ptr<RelatedCommunicators> relatives = found->relatives;
    for (const auto& voter : relatives->voters(comm)) {
        const auto before = voter->engine();
        const bool is_soon = voter->vote(world_, self(), comm);
        const auto after = voter->engine();
        if (is_soon) { relatives->vote_soon(); }
        if (before == after) { continue; }
        relatives->vote_later();
        if (before != nullptr) { std::erase(engines_, before); }
        if (after != nullptr) { engines_.push_back(after); }
    }
    running_engines.store(static_cast<int>(engines_.size()), std::memory_order_relaxed);
}

void MessageLayer::created(MPI_Comm parent, MPI_Comm comm) {
    int relation = MPI_UNEQUAL;
    MPI_CALL(Comm_compare, parent, comm, &relation);
    CommunicatorMessages* const of_parent = relation == MPI_CONGRUENT ? find(parent) : nullptr;
    if (of_parent == nullptr || of_parent->relatives->is_full()) { return; }
    const std::shared_ptr<RelatedCommunicators> relatives = of_parent->relatives;
    find(comm);
    const auto& made = Communicator::as_it_is(comm).point_to_point;
    if (made == nullptr) { return; }
    made->relatives = relatives;
    relatives->join(made);
}

void MessageLayer::flush() {
    for (const auto& engine : engines_) { engine->flush(); }
    for (const auto& [request, communicator] : tracked_) { communicator->note_waiting_wildcard(); }
}

void MessageLayer::settle() {
    const auto has_unsent = [](const auto& engine) { return engine->has_unsent(); };
    const double patience = automatic_batch_timeout(world_);
    const double start = now();
    wait_until([&] {
        return std::none_of(engines_.begin(), engines_.end(), has_unsent) ||
               now() - start > patience;
    });
    flush();
}

void MessageLayer::progress() {
    for (const auto& engine : engines_) { engine->progress(); }
    // Those of freed communicators go when all that was under way has arrived.
    const auto ended = std::erase_if(engines_, [](const std::shared_ptr<BatchEngine>& engine) {
        const bool is_over = engine.use_count() == 1 && engine->is_idle();
        if (is_over) { vote_counts::add(engine->counts()); }
        return is_over;
    });
    if (ended > 0) {
        running_engines.store(static_cast<int>(engines_.size()), std::memory_order_relaxed);
    }
    if (nonblocking_.is_busy()) { nonblocking_.progress({}); }
    std::erase_if(detached_, [](Detached& send) {
        int flag = 0;
        MPI_CALL(Test, &send.request, &flag, MPI_STATUS_IGNORE);
        return flag != 0;
    });
}

void MessageLayer::detach(MPI_Request request, std::vector<std::byte> bytes) {
    detached_.push_back({request, std::move(bytes)});
}

void MessageLayer::completed() {
    ++completions_.count;
    if (completions_.is_time_wanted) { completions_.last_seconds = now(); }
}

void MessageLayer::pause(uint32_t round) {
    progress();
    backoff::pause(round, world_.oversubscribed);
}

} // namespace nodeaware
