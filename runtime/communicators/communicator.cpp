#include "runtime/communicators/communicator.hpp"

#include "runtime/progress/activity.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace nodeaware {

namespace {

int keyval = MPI_KEYVAL_INVALID;

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

/// Collective over `comm`. What is under way on a freed communicator keeps its inner communicator
/// alive longer on some ranks than on others (in MPICH operations of MPI itself do, too, for they
/// delay the deletion of attributes), so the ranks compare what they have found.
std::shared_ptr<InnerCommunicator> find_shared_inner(MPI_Comm comm) {
    auto& inners = shared_inners();
    std::erase_if(inners, [](const SharedInner& shared) { return shared.inner.expired(); });
    const auto newest =
        std::find_if(inners.rbegin(), inners.rend(), [&](const SharedInner& shared) {
            return shared.inner.lock()->has_ranks_of(comm);
        });
    const int number = newest == inners.rend() ? 0 : newest->number;
    const std::array<int, 2> mine = {number, -number};
    std::array<int, 2> least = {0, 0};
    MPI_CALL(Allreduce, mine.data(), least.data(), 2, MPI_INT, MPI_MIN, comm);
    const bool all_have_it = least[0] > 0 && least[0] == -least[1];
    return all_have_it ? newest->inner.lock() : nullptr;
}

/// Collective over the inner communicator.
void share(const std::shared_ptr<InnerCommunicator>& inner) {
    static int last_number = 0;
    const int next = last_number + 1;
    MPI_CALL(Allreduce, &next, &last_number, 1, MPI_INT, MPI_MAX, inner->comm());
    shared_inners().push_back({inner, last_number});
}

} // namespace

void Communicator::open() {
    MPI_CALL(Comm_create_keyval, MPI_COMM_NULL_COPY_FN, delete_communicator, &keyval, nullptr);
}

void Communicator::close() {
    InnerCommunicator::leave_communicators();
    shared_inners().clear();
}

Communicator& Communicator::as_it_is(MPI_Comm comm) {
    void* kept = nullptr;
    int found = 0;
    MPI_CALL(Comm_get_attr, comm, keyval, &kept, &found);
    if (found != 0) { return *static_cast<Communicator*>(kept); }
    auto made = std::make_unique<Communicator>();
    MPI_CALL(Comm_set_attr, comm, keyval, made.get());
    return *made.release();
}

Communicator& Communicator::of(MPI_Comm comm, const World& world) {
    Communicator& communicator = as_it_is(comm);
    if (communicator.obstacle_ != Reason::not_prepared) { return communicator; }
    try {
        communicator.find_inner(comm, world);
    } catch (const MpiError&) {
        communicator.obstacle_ = Reason::no_resources;
        throw;
    }
    return communicator;
}

Communicator& Communicator::with_context(MPI_Comm comm, const World& world) {
    Communicator& communicator = of(comm, world);
    communicator.wait_no_longer();
    if (communicator.context_obstacle_ != Reason::not_prepared) { return communicator; }
    communicator.context_obstacle_ = communicator.obstacle_;
    if (communicator.obstacle_ == Reason::none) {
        communicator.context_ =
            NonblockingContext::create(communicator.inner_, communicator.inner_->next_context());
        if (communicator.context_ == nullptr) {
            communicator.context_obstacle_ = Reason::no_resources;
        }
    }
    return communicator;
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
    wait_no_longer();
    if (point_to_point != nullptr) { point_to_point->communicator_freed(); }
    // Operations under way need the inner communicator longer than this collective call lasts, and
    // nobody may free it alone.
    if (context_ != nullptr && context_.use_count() > 1) { inner_->leave_communicator(); }
}

/// All ranks have made the same nonblocking calls on the communicator before this collective one,
/// so if one of them waits here all do.
void Communicator::meeting(MPI_Comm comm, const World& world) {
    void* kept = nullptr;
    int found = 0;
    MPI_CALL(Comm_get_attr, comm, keyval, &kept, &found);
    if (found != 0 && static_cast<Communicator*>(kept)->is_waiting_) { with_context(comm, world); }
}

void Communicator::find_inner(MPI_Comm comm, const World& world) {
    obstacle_ = Reason::none;
    int inter = 0;
    MPI_CALL(Comm_test_inter, comm, &inter);
    if (inter != 0) {
        obstacle_ = Reason::intercommunicator;
        return;
    }
    const auto nodes = world.nodes_of(comm);
    if (!nodes) {
        obstacle_ = Reason::foreign_ranks;
        return;
    }
    Topology topology(*nodes);
    if (topology.nodes() < 2) {
        obstacle_ = Reason::one_node;
    } else if (topology.most_ranks_on_a_node() < 2) {
        obstacle_ = Reason::one_rank_per_node;
    }
    if (obstacle_ != Reason::none) { return; }
    all_have_neighbors_ = nodeaware::all_have_neighbors(comm);
    if (!world.threads_at_once) { inner_ = find_shared_inner(comm); }
    if (inner_ != nullptr) { return; }
    inner_ = InnerCommunicator::create(comm, std::move(topology), world);
    if (inner_ == nullptr) {
        obstacle_ = Reason::no_resources;
    } else if (!world.threads_at_once) {
        share(inner_);
    }
}

const Neighbors& Communicator::neighbors(MPI_Comm comm, Operation operation) {
    auto& kept = neighbors_[static_cast<size_t>(operation)];
    if (!kept) { kept = find_neighbors(comm, operation); }
    return *kept;
}

} // namespace nodeaware
