#include "runtime/point_to_point/message_layer.hpp"

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/progress/activity.hpp"
#include "runtime/progress/clock.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace nodeaware {

bool MessageLayer::is_wanted(const World& world) {
    if (world.options.choice(Operation::point_to_point).kind == Choice::Kind::native) {
        return false;
    }
    const std::set<int> nodes(world.node_of.begin(), world.node_of.end());
    return !world.threads_at_once && nodes.size() > 1 && nodes.size() < world.node_of.size();
}

MessageLayer::MessageLayer(const World& world, Requests& requests, Progress& progress)
    : requests(requests), progress(progress), world_(world), mailboxes_(Mailboxes::create(world)) {
    if (mailboxes_ != nullptr) { progress.add(*mailboxes_); }
}

MessageLayer::~MessageLayer() {
    if (mailboxes_ != nullptr) { progress.remove(*mailboxes_); }
    if (self_ != MPI_COMM_NULL) { mpi.Comm_free(&self_); }
}

void MessageLayer::close() {
    std::optional<MpiError> failed;
    try {
        progress.before_blocking();
        progress.wait_until([&] {
            return detached.empty() &&
                   std::all_of(engines_.begin(), engines_.end(),
                               [](const auto& engine) { return engine->has_sent(); });
        });
    } catch (const MpiError& error) { failed = error; } // others wait for this rank
    if (mailboxes_ != nullptr) {
        mailboxes_->close(progress);
        vote_counts::add(mailboxes_->counts());
    }
    for (const auto& engine : engines_) { vote_counts::add(engine->counts()); }
    engines_.clear();
    if (failed) { throw MpiError(*failed); }
}

MPI_Comm MessageLayer::self() {
    if (self_ == MPI_COMM_NULL) { self_ = InnerCommunicator::create_private(MPI_COMM_SELF); }
    return self_;
}

CommunicatorMessages* MessageLayer::find(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) { return nullptr; }
    if (comm == last_comm_ && Communicator::freed() == freed_before_last_) { return last_; }
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
                                                                         rank, requests);
                made->relatives = std::make_shared<RelatedCommunicators>();
                made->relatives->join(made);
                communicator.point_to_point = made;
            }
        }
    }
    last_comm_ = comm;
    freed_before_last_ = Communicator::freed();
    last_ = static_cast<CommunicatorMessages*>(communicator.point_to_point.get());
    return last_;
}

std::shared_ptr<BatchEngine> MessageLayer::engine(MPI_Comm comm) {
    CommunicatorMessages* const found = find(comm);
    return found == nullptr ? nullptr : found->engine();
}

void CommunicatorMessages::communicator_freed() {
    if (p2p::layer != nullptr) { requests_.forget(this); }
    if (engine_ == nullptr) { return; }
    engine_->receives().communicator_freed();
    engine_->inner().leave_communicator();
}

void MessageLayer::meeting(MPI_Comm comm) {
    CommunicatorMessages* const found = find(comm);
    if (found == nullptr || !found->relatives->is_time_to_vote()) { return; }
    const std::shared_ptr<RelatedCommunicators> relatives = found->relatives;
    for (const auto& voter : relatives->voters(comm)) {
        if (memory_is_shared_) { voter->note_shared_memory(); }
        const auto before = voter->engine();
        const bool is_soon = voter->vote(world_, self(), comm);
        const auto after = voter->engine();
        if (is_soon) { relatives->vote_soon(); }
        if (before == after) { continue; }
        relatives->vote_later();
        if (before != nullptr) { std::erase(engines_, before); }
        if (after != nullptr) { engines_.push_back(after); }
    }
    count_engines();
}

void MessageLayer::created(MPI_Comm parent, MPI_Comm comm) {
    int relation = MPI_UNEQUAL;
    MPI_CALL(Comm_compare, parent, comm, &relation);
    CommunicatorMessages* const of_parent = relation == MPI_CONGRUENT ? find(parent) : nullptr;
    if (of_parent == nullptr || of_parent->relatives->is_full()) { return; }
    const std::shared_ptr<RelatedCommunicators> relatives = of_parent->relatives;
    find(comm);
    const auto made =
        std::static_pointer_cast<CommunicatorMessages>(Communicator::as_it_is(comm).point_to_point);
    if (made == nullptr || made->relatives == relatives) { return; }
    made->relatives = relatives;
    relatives->join(made);
}

void MessageLayer::before_blocking() {
    for (const auto& engine : engines_) { engine->flush(); }
    for (const auto& [request, observer] : requests.observed()) { observer->waits(); }
}

void MessageLayer::before_meeting() {
    const auto has_unsent = [](const auto& engine) { return engine->has_unsent(); };
    const double patience = automatic_batch_timeout(world_);
    const double start = now();
    progress.wait_until([&] {
        return std::none_of(engines_.begin(), engines_.end(), has_unsent) ||
               now() - start > patience;
    });
}

void MessageLayer::memory_shared() {
    memory_is_shared_ = true;
    for (const auto& engine : engines_) { engine->send_at_once(); }
}

bool MessageLayer::is_busy() const { return !engines_.empty() || !detached.empty(); }

void MessageLayer::advance() {
    for (const auto& engine : engines_) { engine->progress(); }
    // Those of freed communicators go when all that was under way has arrived.
    const auto ended = std::erase_if(engines_, [](const std::shared_ptr<BatchEngine>& engine) {
        const bool is_over = engine.use_count() == 1 && engine->is_idle();
        if (is_over) { vote_counts::add(engine->counts()); }
        return is_over;
    });
    if (ended > 0) { count_engines(); }
    detached.advance();
}

void MessageLayer::count_engines() const {
    activity.pending_work.store(static_cast<int>(engines_.size()), std::memory_order_relaxed);
}

} // namespace nodeaware
