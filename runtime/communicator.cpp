#include "runtime/communicator.hpp"

#include "runtime/point_to_point/hub.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace nodeaware {

constinit std::atomic<int> waiting_communicators{0};

namespace {

int keyval = MPI_KEYVAL_INVALID;

/// Frees what is kept when the application frees its communicator, inside that call, which is as
/// collective as freeing the private communicator of a team has to be.
int delete_communicator(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* /*extra*/) {
    delete static_cast<Communicator*>(value);
    return MPI_SUCCESS;
}

/// A team that communicators of the same ranks may join; only used where no two threads call MPI at
/// the same time. Its number is the same on all ranks.
struct SharedTeam {
    std::weak_ptr<Team> team;
    int number = 0;
};

/// In ascending order of number.
std::vector<SharedTeam>& shared_teams() {
    static std::vector<SharedTeam> teams;
    return teams;
}

/// Collective over `comm`. What is under way on a freed communicator keeps its team alive longer on
/// some ranks than on others (in MPICH operations of MPI itself do, too, for they delay the
/// deletion of attributes), so the ranks compare what they have found.
std::shared_ptr<Team> find_shared_team(MPI_Comm comm) {
    auto& teams = shared_teams();
    std::erase_if(teams, [](const SharedTeam& shared) { return shared.team.expired(); });
    const auto newest = std::find_if(teams.rbegin(), teams.rend(), [&](const SharedTeam& shared) {
        return shared.team.lock()->has_ranks_of(comm);
    });
    const int number = newest == teams.rend() ? 0 : newest->number;
    const std::array<int, 2> mine = {number, -number};
    std::array<int, 2> least = {0, 0};
    MPI_CALL(Allreduce, mine.data(), least.data(), 2, MPI_INT, MPI_MIN, comm);
    const bool all_have_it = least[0] > 0 && least[0] == -least[1];
    return all_have_it ? newest->team.lock() : nullptr;
}

/// Collective over the team.
void share(const std::shared_ptr<Team>& team) {
    static int last_number = 0;
    const int next = last_number + 1;
    MPI_CALL(Allreduce, &next, &last_number, 1, MPI_INT, MPI_MAX, team->comm());
    shared_teams().push_back({team, last_number});
}

} // namespace

void Communicator::open() {
    MPI_CALL(Comm_create_keyval, MPI_COMM_NULL_COPY_FN, delete_communicator, &keyval, nullptr);
}

void Communicator::close() {
    Team::leave_communicators();
    shared_teams().clear();
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
        communicator.find_team(comm, world);
    } catch (const MpiError&) {
        communicator.obstacle_ = Reason::no_resources;
        throw;
    }
    return communicator;
}

Communicator& Communicator::with_lane(MPI_Comm comm, const World& world) {
    Communicator& communicator = of(comm, world);
    communicator.wait_no_longer();
    if (communicator.lane_obstacle_ != Reason::not_prepared) { return communicator; }
    communicator.lane_obstacle_ = communicator.obstacle_;
    if (communicator.obstacle_ == Reason::none) {
        communicator.lane_ = Lane::create(communicator.team_, communicator.team_->next_lane());
        if (communicator.lane_ == nullptr) { communicator.lane_obstacle_ = Reason::no_resources; }
    }
    return communicator;
}

void Communicator::wait_for_meeting() {
    if (is_waiting_) { return; }
    is_waiting_ = true;
    waiting_communicators.fetch_add(1, std::memory_order_relaxed);
}

void Communicator::wait_no_longer() {
    if (!is_waiting_) { return; }
    is_waiting_ = false;
    waiting_communicators.fetch_sub(1, std::memory_order_relaxed);
}

Communicator::~Communicator() {
    wait_no_longer();
    if (p2p::hub != nullptr) { p2p::hub->forget(point_to_point.get()); }
    if (point_to_point != nullptr && point_to_point->engine() != nullptr) {
        point_to_point->engine()->team().leave_communicator();
    }
    // Operations under way need the team's communicator longer than this collective call lasts, and
    // nobody may free it alone.
    if (lane_ != nullptr && lane_.use_count() > 1) { team_->leave_communicator(); }
}

/// All ranks have made the same nonblocking calls on the communicator before this collective one,
/// so if one of them waits here all do.
void Communicator::meeting(MPI_Comm comm, const World& world) {
    void* kept = nullptr;
    int found = 0;
    MPI_CALL(Comm_get_attr, comm, keyval, &kept, &found);
    if (found != 0 && static_cast<Communicator*>(kept)->is_waiting_) { with_lane(comm, world); }
}

void Communicator::find_team(MPI_Comm comm, const World& world) {
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
    if (!world.threads_at_once) { team_ = find_shared_team(comm); }
    if (team_ != nullptr) { return; }
    team_ = Team::create(comm, std::move(topology), world);
    if (team_ == nullptr) {
        obstacle_ = Reason::no_resources;
    } else if (!world.threads_at_once) {
        share(team_);
    }
}

const Neighbors& Communicator::neighbors(MPI_Comm comm, Operation operation) {
    auto& kept = neighbors_[static_cast<size_t>(operation)];
    if (!kept) { kept = find_neighbors(comm, operation); }
    return *kept;
}

} // namespace nodeaware
