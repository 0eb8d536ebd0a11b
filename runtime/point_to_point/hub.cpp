#include "runtime/point_to_point/hub.hpp"

#include "runtime/backoff.hpp"
#include "runtime/communicator.hpp"
#include "runtime/log.hpp"
#include "runtime/nonblocking.hpp"
#include "runtime/team.hpp"

#include <algorithm>
#include <set>

namespace nodeaware {

constinit std::atomic<int> running_engines{0};

bool Hub::open() {
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

Hub::~Hub() {
    if (self_ != MPI_COMM_NULL) { mpi.Comm_free(&self_); }
}

void Hub::close() {
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

MPI_Comm Hub::self() {
    if (self_ == MPI_COMM_NULL) { self_ = Team::create_private(MPI_COMM_SELF); }
    return self_;
}

PointToPoint* Hub::find(MPI_Comm comm) {
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
                const auto made =
                    std::make_shared<PointToPoint>(comm, std::move(topology), rank, completions_);
                made->family = std::make_shared<Family>();
                made->family->join(made);
                communicator.point_to_point = made;
            }
        }
    }
    last_comm_ = comm;
    last_ = communicator.point_to_point.get();
    return last_;
}

std::shared_ptr<BatchEngine> Hub::engine(MPI_Comm comm) {
    PointToPoint* const found = find(comm);
    return found == nullptr ? nullptr : found->engine();
}

void Hub::forget(const PointToPoint* gone) {
    last_comm_ = MPI_COMM_NULL;
    last_ = nullptr;
    std::erase_if(tracked_, [&](const auto& entry) { return entry.second == gone; });
}

void Hub::meeting(MPI_Comm comm) {
    settle();
    PointToPoint* const found = find(comm);
    if (found == nullptr || !found->family->is_time_to_vote()) { return; }
    const std::shared_ptr<Family> family = found->family;
    for (const auto& voter : family->voters(comm)) {
        const auto before = voter->engine();
        const bool is_soon = voter->vote(world_, self(), comm);
        const auto after = voter->engine();
        if (is_soon) { family->vote_soon(); }
        if (before == after) { continue; }
        family->vote_later();
        if (before != nullptr) { std::erase(engines_, before); }
        if (after != nullptr) { engines_.push_back(after); }
    }
    running_engines.store(static_cast<int>(engines_.size()), std::memory_order_relaxed);
}

void Hub::created(MPI_Comm parent, MPI_Comm comm) {
    int relation = MPI_UNEQUAL;
    MPI_CALL(Comm_compare, parent, comm, &relation);
    PointToPoint* const of_parent = relation == MPI_CONGRUENT ? find(parent) : nullptr;
    if (of_parent == nullptr || of_parent->family->is_full()) { return; }
    const std::shared_ptr<Family> family = of_parent->family;
    find(comm);
    const auto& made = Communicator::as_it_is(comm).point_to_point;
    if (made == nullptr) { return; }
    made->family = family;
    family->join(made);
}

void Hub::flush() {
    for (const auto& engine : engines_) { engine->flush(); }
    for (const auto& [request, communicator] : tracked_) { communicator->note_waiting_wildcard(); }
}

void Hub::settle() {
    const auto has_unsent = [](const auto& engine) { return engine->has_unsent(); };
    const double patience = automatic_batch_timeout(world_);
    const double start = now();
    wait_until([&] {
        return std::none_of(engines_.begin(), engines_.end(), has_unsent) ||
               now() - start > patience;
    });
    flush();
}

void Hub::progress() {
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

void Hub::detach(MPI_Request request, std::vector<std::byte> bytes) {
    detached_.push_back({request, std::move(bytes)});
}

void Hub::completed() {
    ++completions_.count;
    if (completions_.is_time_wanted) { completions_.last_seconds = now(); }
}

void Hub::pause(uint32_t round) {
    progress();
    backoff::pause(round, world_.oversubscribed);
}

} // namespace nodeaware
