#include "runtime/point_to_point/message_layer.hpp"

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/point_to_point/message_counts.hpp"
#include "runtime/point_to_point/own_requests.hpp"
#include "runtime/progress/activity.hpp"
#include "runtime/progress/clock.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace nodeaware {

namespace {

/// Which no other communicator of these ranks has.
constexpr uint64_t name_of_world = 1;

uint64_t hash_of(const std::vector<int>& ranks) {
    uint64_t hash = ranks.size();
    for (const int rank : ranks) { hash = mix(hash, static_cast<uint64_t>(rank)); }
    return hash;
}

} // namespace

bool MessageLayer::is_wanted(const World& world) {
    return !world.leaves_to_mpi(Operation::point_to_point) && Mailboxes::are_wanted(world);
}

MessageLayer::MessageLayer(const World& world, Requests& requests, Progress& progress,
                           std::shared_ptr<Mailboxes> mailboxes)
    : requests(requests), progress(progress), world_(world), mailboxes_(std::move(mailboxes)) {
    if (mailboxes_ == nullptr) { return; }
    Communicator& communicator = Communicator::of(MPI_COMM_WORLD, world);
    communicator.name = name_of_world;
    const MPI_Comm comm = communicator.inner().second_comm();
    if (comm != MPI_COMM_NULL) { payloads_ = std::make_shared<StraightMessages>(comm); }
    // Later on Open MPI would wait for communicators that other threads are making.
    if (world.threads_at_once) {
        self();
        trials();
        other_trials_ = InnerCommunicator::create_private(MPI_COMM_SELF);
    }
}

MessageLayer::~MessageLayer() {
    end_trials();
    end_trials(); // the others
    if (self_ != MPI_COMM_NULL) { mpi.Comm_free(&self_); }
}

void MessageLayer::send_all() {
    progress.wait_until([&] {
        return detached.empty() &&
               std::all_of(engines_.begin(), engines_.end(),
                           [](const auto& engine) { return engine->has_sent(); });
    });
}

void MessageLayer::close() {
    for (const auto& known : known_) {
        if (const auto engine = known.lock()) { engine->report(); }
    }
    engines_.clear();
    requests.free_kept();
    transfers::free_ended();
}

MPI_Comm MessageLayer::self() {
    if (self_ == MPI_COMM_NULL) { self_ = InnerCommunicator::create_private(MPI_COMM_SELF); }
    return self_;
}

MPI_Comm MessageLayer::trials() {
    if (trials_ == MPI_COMM_NULL) { trials_ = InnerCommunicator::create_private(MPI_COMM_SELF); }
    return trials_;
}

void MessageLayer::end_trials() {
    if (trials_ != MPI_COMM_NULL) { mpi.Comm_free(&trials_); }
    trials_ = std::exchange(other_trials_, MPI_COMM_NULL);
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
                communicator.point_to_point =
                    std::make_shared<CommunicatorMessages>(comm, std::move(topology), rank, *this);
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

/// Those who make a communicator call the same functions on its parent in the same order, and its
/// ranks are there each time that one of the same ranks is made. So all of them form the same name
/// without a message.
void MessageLayer::created(MPI_Comm parent, MPI_Comm comm) {
    Communicator& from = Communicator::as_it_is(parent);
    int inter = 0;
    MPI_CALL(Comm_test_inter, comm, &inter);
    if (!knows_names_ || from.name == 0 || inter != 0) { return; }
    const auto ranks = world_.ranks_of(comm);
    if (!ranks) { return; }
    const uint64_t members = hash_of(*ranks);
    const uint64_t name = mix(mix(from.name, members), ++from.made[members]);
    Communicator::as_it_is(comm).name = name;
}

void MessageLayer::note_threads() {
    if (!is_of_one_thread_ || !has_several_threads()) { return; }
    is_of_one_thread_ = false;
    if (mailboxes_ != nullptr) { mailboxes_->send_at_once(); }
    progress.before_blocking();
}

void MessageLayer::thread_leaves() {
    transfers::free_ended();
    if (!has_several_threads()) { return; }
    if (progress.is_busy()) { progress.before_blocking_later(); }
    if (may_leave_to_mpi()) { leave_to_mpi(); }
}

/// Not while a connection is so much as proposed: its receiver would look in the library for ever.
bool MessageLayer::may_leave_to_mpi() {
    return !is_left_to_mpi() && !is_asked_for() && !is_busy() && !requests.has_own() &&
           probed_.empty() && buffered.are_over() &&
           (mailboxes_ == nullptr || mailboxes_->has_sent_all());
}

void MessageLayer::leave_to_mpi() {
    requests.note_no_more();
    message_counts::add(message_counts::Verdict::left_for_good);
    activity.pending_work.fetch_sub(1, std::memory_order_relaxed); // of begin_activity()
}

void MessageLayer::answer_in_passing(MPI_Comm comm) {
    constexpr uint32_t seldom = 256;
    static thread_local uint32_t calls = 0;
    if (++calls % seldom != 0 || mailboxes_ == nullptr) { return; }
    try {
        const Turn turn;
        transfers::free_ended();
        find(comm); // who proposes there waits for an engine that answers
        mailboxes_->look_for_cells();
        mailboxes_->receive_some();
        progress.before_blocking();
        progress.advance_in_passing();
    } catch (const std::exception&) { return; } // who has proposed goes on by MPI
}

void MessageLayer::activate(const std::shared_ptr<BatchEngine>& engine) {
    if (std::find(engines_.begin(), engines_.end(), engine) != engines_.end()) { return; }
    engines_.push_back(engine);
    std::erase_if(known_, [](const auto& known) { return known.expired(); });
    known_.push_back(engine);
    count_engines();
}

void MessageLayer::before_blocking() {
    note_threads();
    for (const auto& engine : engines_) { engine->catch_up(); }
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

void MessageLayer::wait_for_buffered() {
    if (!buffered.may_be_detached()) {
        progress.before_blocking();
        const double end = now() + longest_wait(buffered.bytes());
        progress.wait_until([&] { return buffered.may_be_detached() || now() >= end; });
    }
    buffered.detached();
}

bool MessageLayer::is_busy() const { return !engines_.empty() || !detached.empty(); }

void MessageLayer::advance() {
    note_threads();
    requests.look_at_kept();
    for (const auto& engine : engines_) { engine->progress(); }
    // Those of freed communicators go when all that was under way has arrived.
    const auto ended = std::erase_if(engines_, [](const std::shared_ptr<BatchEngine>& engine) {
        const bool is_freed = engine.use_count() == 1;
        return is_freed ? engine->is_idle() : !engine->is_active();
    });
    if (ended > 0) { count_engines(); }
    detached.advance();
    transfers::free_ended();
}

void MessageLayer::count_engines() {
    const auto count = static_cast<int>(engines_.size());
    const int more = count - std::exchange(counted_engines_, count);
    mailboxes_->expect(more);
    activity.pending_work.fetch_add(more, std::memory_order_relaxed);
}

} // namespace nodeaware
