#include "runtime/communicators/communicator.hpp"

#include "runtime/communicators/self_communicator.hpp"
#include "runtime/job/log.hpp"
#include "runtime/mpi/errors_return.hpp"
#include "runtime/progress/activity.hpp"
#include "runtime/progress/turn.hpp"
#include "strategies/relay.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

namespace nodeaware {

namespace {

int keyval = MPI_KEYVAL_INVALID;
std::atomic<uint64_t> communicators_freed = 0; ///< threads may free different ones

/// Frees what is kept when the application frees its communicator, inside that call, which is as
/// collective as freeing the inner communicator has to be.
int delete_communicator(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* /*extra*/) {
    delete static_cast<Communicator*>(value);
    return MPI_SUCCESS;
}

/// An inner communicator that communicators of the same ranks may join; only used where no two
/// threads call MPI at the same time. Its number is the same on all ranks.
struct SharedInner {
    std::weak_ptr<InnerCommunicator> inner;
    int number = 0;
};

/// In ascending order of number.
std::vector<SharedInner>& shared_inners() {
    static std::vector<SharedInner> inners;
    return inners;
}

int last_number = 0; ///< of the inner communicators that this rank shares

struct FoundInner {
    std::shared_ptr<InnerCommunicator> inner;
    int number = 0;
};

FoundInner find_shared_inner(const std::vector<int>& members) {
    auto& inners = shared_inners();
    std::erase_if(inners, [](const SharedInner& shared) { return shared.inner.expired(); });
    const auto newest =
        std::find_if(inners.rbegin(), inners.rend(), [&](const SharedInner& shared) {
            return shared.inner.lock()->members() == members;
        });
    return newest == inners.rend() ? FoundInner()
                                   : FoundInner{newest->inner.lock(), newest->number};
}

/// What the ranks of a communicator have to agree on before it is prepared.
struct Agreed {
    bool all_have_inner; ///< the one that this rank has found
    bool all_have_neighbors;
    bool may_make_inner;
    int next_number;
};

/// Collective over `comm`. What is under way on a freed communicator keeps its inner communicator
/// alive longer on some ranks than on others (in MPICH operations of MPI itself do, too, for they
/// delay the deletion of attributes), so the ranks compare what they have found. Those that are in
/// many communicators have less to give to another one.
Agreed agree(MPI_Comm comm, int number, bool has_neighbors) {
    const std::array<int, 5> mine = {number, -number, has_neighbors ? 1 : 0,
                                     -InnerCommunicator::alive(), -last_number};
    std::array<int, 5> least{};
    MPI_CALL(Allreduce, mine.data(), least.data(), static_cast<int>(mine.size()), MPI_INT, MPI_MIN,
             comm);
    return {least[0] > 0 && least[0] == -least[1], least[2] != 0,
            -least[3] < InnerCommunicator::most_alive, 1 - least[4]};
}

} // namespace

void Communicator::open() {
    open_self_communicator();
    MPI_CALL(Comm_create_keyval, MPI_COMM_NULL_COPY_FN, delete_communicator, &keyval, nullptr);
}

void Communicator::close() {
    close_self_communicator();
    InnerCommunicator::leave_communicators();
    shared_inners().clear();
}

uint64_t Communicator::freed() { return communicators_freed.load(std::memory_order_relaxed); }

Communicator& Communicator::as_it_is(MPI_Comm comm) {
    void* kept = nullptr;
    int found = 0;
    MPI_CALL(Comm_get_attr, comm, keyval, &kept, &found);
    if (found != 0) { return *static_cast<Communicator*>(kept); }
    // Threads may send and exchange on it at the same time, for the first time.
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    MPI_CALL(Comm_get_attr, comm, keyval, &kept, &found);
    if (found != 0) { return *static_cast<Communicator*>(kept); }
    auto made = std::make_unique<Communicator>();
    MPI_CALL(Comm_set_attr, comm, keyval, made.get());
    return *made.release();
}

Communicator& Communicator::of(MPI_Comm comm, const World& world) {
    Communicator& communicator = as_it_is(comm);
    if (communicator.look(comm, world) == Reason::none) { communicator.prepare(comm, world); }
    return communicator;
}

Communicator& Communicator::with_context(MPI_Comm comm, const World& world) {
    Communicator& communicator = of(comm, world);
    communicator.wait_no_longer();
    if (communicator.context_obstacle_ != Reason::not_prepared) { return communicator; }
    communicator.context_obstacle_ = communicator.obstacle_;
    if (communicator.obstacle_ == Reason::none) {
        auto contexts = NonblockingContext::create(communicator.inner_);
        communicator.context_obstacle_ = contexts.empty() ? Reason::no_resources : Reason::none;
        if (!contexts.empty()) {
            communicator.context_ = std::move(contexts.front());
            contexts.erase(contexts.begin());
            communicator.persistent_contexts_ = std::move(contexts);
        }
    }
    return communicator;
}

/// Each is used once, for ranks do not know what others have freed.
std::shared_ptr<NonblockingContext> Communicator::next_persistent_context() {
    const bool is_left = used_contexts_ < persistent_contexts_.size();
    return is_left ? persistent_contexts_[used_contexts_++] : nullptr;
}

void Communicator::wait_for_meeting() {
    if (is_waiting_) { return; }
    is_waiting_ = true;
    activity.meetings.fetch_add(1, std::memory_order_relaxed);
}

void Communicator::wait_no_longer() {
    if (!is_waiting_) { return; }
    is_waiting_ = false;
    activity.meetings.fetch_sub(1, std::memory_order_relaxed);
}

Communicator::~Communicator() {
    communicators_freed.fetch_add(1, std::memory_order_relaxed);
    wait_no_longer();
    if (point_to_point != nullptr) {
        const Turn turn;
        point_to_point->communicator_freed();
        point_to_point.reset();
    }
    // Operations under way need the inner communicator longer than this collective call lasts, and
    // nobody may free it alone.
    if (is_under_way()) { inner_->leave_communicator(); }
}

bool Communicator::is_under_way() const {
    const auto is_held = [](const auto& context) { return context.use_count() > 1; };
    return is_held(context_) ||
           std::any_of(persistent_contexts_.begin(), persistent_contexts_.end(), is_held);
}

/// All ranks have made the same nonblocking calls on the communicator before this collective one,
/// so if one of them waits here all do.
Communicator* Communicator::meeting(MPI_Comm comm, const World& world) {
    void* kept = nullptr;
    int found = 0;
    MPI_CALL(Comm_get_attr, comm, keyval, &kept, &found);
    const bool is_wanted = found != 0 && static_cast<Communicator*>(kept)->is_waiting_;
    return is_wanted ? &with_context(comm, world) : nullptr;
}

Reason Communicator::look(MPI_Comm comm, const World& world) {
    if (size_ == 0) {
        const ErrorsReturn errors_return(comm);
        const Reason obstacle = obstacle_alone(comm, world);
        MPI_CALL(Comm_rank, comm, &rank_);
        MPI_CALL(Comm_size, comm, &size_);
        if (obstacle != Reason::none) { obstacle_ = obstacle; }
    }
    return obstacle_ == Reason::not_prepared ? Reason::none : obstacle_;
}

Reason Communicator::obstacle_alone(MPI_Comm comm, const World& world) {
    int inter = 0;
    MPI_CALL(Comm_test_inter, comm, &inter);
    if (inter != 0) { return Reason::intercommunicator; }
    auto members = world.ranks_of(comm);
    if (!members) { return Reason::foreign_ranks; }
    Topology topology(world.nodes_of(*members));
    if (topology.nodes() < 2) { return Reason::one_node; }
    const bool are_alone = topology.most_ranks_on_a_node() < 2;
    if (are_alone && !LoneRanks::may_relay(topology)) { return Reason::one_rank_per_node; }
    all_have_neighbors_ = has_neighbors(comm);
    topology_ = std::move(topology);
    members_ = std::move(*members);
    if (!are_alone) { return Reason::none; }
    lone_ranks_.emplace();
    return Reason::one_rank_per_node;
}

bool Communicator::may_relay(Operation operation, const Choice& choice) const {
    return lone_ranks_ && lone_ranks_->obstacle != Reason::no_resources &&
           LoneRanks::may_relay(operation, choice);
}

bool Communicator::relays(const Choice& choice, uint64_t uniform_bytes, const World& world) {
    if (choice.kind == Choice::Kind::fixed) { return true; }
    if (uniform_bytes > 0 && mpi_relays(size_, uniform_bytes)) { return false; }
    const Topology& topology = has_inner() ? inner_->topology() : *topology_;
    return lone_ranks_->want(uniform_bytes, topology, world);
}

Reason Communicator::obstacle(Operation operation) const {
    if (lone_ranks_) {
        return LoneRanks::may_relay(operation) ? lone_ranks_->obstacle : Reason::one_rank_per_node;
    }
    return obstacle_ == Reason::none && is_with_neighbors(operation) && !all_have_neighbors_
               ? Reason::no_neighbors
               : obstacle_;
}

void Communicator::prepare(MPI_Comm comm, const World& world) {
    Reason& obstacle = lone_ranks_ ? lone_ranks_->obstacle : obstacle_;
    if (obstacle != Reason::not_prepared) { return; }
    const ErrorsReturn errors_return(comm);
    FoundInner found;
    if (!world.threads_at_once) { found = find_shared_inner(members_); }
    obstacle = Reason::no_resources; // on a rank where one of the steps with others fails
    const Agreed agreed = agree(comm, found.number, all_have_neighbors_);
    all_have_neighbors_ = agreed.all_have_neighbors;
    if (agreed.all_have_inner) {
        inner_ = std::move(found.inner);
    } else if (agreed.may_make_inner) {
        inner_ = InnerCommunicator::create(comm, std::move(*topology_), std::move(members_), world);
        if (inner_ != nullptr && !world.threads_at_once) {
            last_number = agreed.next_number;
            shared_inners().push_back({inner_, last_number});
        }
    } else {
        log(LogLevel::info, "{} private communicators are in use, which is the limit",
            InnerCommunicator::most_alive);
    }
    topology_.reset();
    members_ = {};
    if (inner_ != nullptr) { obstacle = Reason::none; }
}

const Neighbors& Communicator::neighbors(MPI_Comm comm, Operation operation) {
    auto& kept = neighbors_[static_cast<size_t>(operation)];
    if (!kept) { kept = find_neighbors(comm, operation); }
    return *kept;
}

} // namespace nodeaware
