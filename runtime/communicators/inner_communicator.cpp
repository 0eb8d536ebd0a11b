#include "runtime/communicators/inner_communicator.hpp"

#include "runtime/device/driver.hpp"
#include "runtime/job/log.hpp"
#include "runtime/memory/local_group.hpp"
#include "runtime/mpi/errors_return.hpp"
#include "runtime/mpi/tags.hpp"
#include "runtime/requests/library.hpp"
#include "strategies/relay.hpp"

#include <algorithm>
#include <atomic>

namespace nodeaware {

namespace {

bool communicators_are_left = false;
std::atomic<int> all_alive{0};
std::atomic<bool> has_begun_one{false};

/// The communicator of MPI_COMM_WORLD is made before there is one.
Progress* progress_of_library() { return library == nullptr ? nullptr : &library->progress; }

} // namespace

std::array<Parameters, call_memories> parameters_of(const World& world, const Topology& topology) {
    Parameters host = world.options.parameters;
    host.arena_bytes = std::max(host.arena_bytes, smallest_arena(topology));
    if (world.options.radix > 0) {
        host.radix = world.options.radix;
    } else {
        host.radix = best_radix(topology, 0, host.costs);
    }
    std::array<Parameters, call_memories> all = {host, host, host};
    all[1].costs = host.costs.with_devices(true);
    all[2].costs = host.costs.with_devices(false);
    return all;
}

MPI_Comm InnerCommunicator::create_private(MPI_Comm comm) {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_CALL(Comm_group, comm, &group);
    MPI_Comm result = MPI_COMM_NULL;
    int code = MPI_SUCCESS;
    {
        const ErrorsReturn errors_return(comm);
        code = mpi.Comm_create(comm, group, &result);
    }
    MPI_CALL(Group_free, &group);
    if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Comm_create"); }
    MPI_CALL(Comm_set_errhandler, result, MPI_ERRORS_RETURN);
    return result;
}

void InnerCommunicator::communicator_begun() { has_begun_one = true; }

/// Open MPI makes communicators one after the other. Where one is being made that another rank has
/// yet to begin, after this call, both would wait for ever; when it is over nobody tells.
bool InnerCommunicator::may_wait_for_another(MPI_Comm comm) {
    if (!is_open_mpi()) { return false; }
    const int mine = has_begun_one ? 1 : 0;
    int any = 0;
    MPI_CALL(Allreduce, &mine, &any, 1, MPI_INT, MPI_MAX, comm);
    if (any != 0) { log(LogLevel::info, "none is made in programs that use MPI_Comm_idup"); }
    return any != 0;
}

/// One that all ranks of `comm` have, or none of them: MPI_COMM_NULL.
MPI_Comm InnerCommunicator::make_for_all(MPI_Comm comm) {
    if (may_wait_for_another(comm)) { return MPI_COMM_NULL; }
    MPI_Comm made = MPI_COMM_NULL;
    try {
        made = create_private(comm);
    } catch (const MpiError& error) { log(LogLevel::info, "{}", error.what()); }
    const int mine = made != MPI_COMM_NULL ? 1 : 0;
    int all = 0;
    MPI_CALL(Allreduce, &mine, &all, 1, MPI_INT, MPI_MIN, comm);
    // MPI may want all ranks to free it: one that not all have is left to MPI_Finalize.
    return all != 0 ? made : MPI_COMM_NULL;
}

std::shared_ptr<InnerCommunicator> InnerCommunicator::create(MPI_Comm comm, Topology topology,
                                                             std::vector<int> members,
                                                             const World& world) {
    MPI_Comm own = make_for_all(comm);
    if (own == MPI_COMM_NULL) { return nullptr; }
    std::shared_ptr<InnerCommunicator> inner(
        new InnerCommunicator(own, std::move(topology), std::move(members), world));
    device::look_for_driver();
    const std::array<int, 2> mine = {inner->create_arena() ? 1 : 0,
                                     device::driver() == nullptr ? 1 : 0};
    std::array<int, 2> all{};
    MPI_CALL(Allreduce, mine.data(), all.data(), 2, MPI_INT, MPI_MIN, own);
    inner->may_have_devices_ = all[1] == 0;
    return all[0] == 1 ? inner : nullptr;
}

InnerCommunicator::InnerCommunicator(MPI_Comm comm, Topology topology, std::vector<int> members,
                                     const World& world)
    : comm_(comm), strays_(comm), members_(std::move(members)), topology_(std::move(topology)),
      parameters_(parameters_of(world, topology_)) {
    ++all_alive;
    MPI_CALL(Comm_rank, comm_, &rank_);
    waiter_ = std::make_unique<Waiter>(arena_, comm_, world.oversubscribed, progress_of_library);
    agreement_ = std::make_unique<Agreement>(topology_, rank_, arena_, *waiter_);
}

const Parameters& InnerCommunicator::parameters(CallMemory memory, int radix, bool cuts_carriers) {
    const Parameters& usual = parameters(memory);
    if (usual.radix == radix && usual.cuts_carriers == cuts_carriers) { return usual; }
    const auto known =
        relaying_parameters_.try_emplace({memory, radix, cuts_carriers}, usual).first;
    known->second.radix = radix;
    known->second.cuts_carriers = cuts_carriers;
    return known->second;
}

bool InnerCommunicator::create_arena() {
    const LocalGroup group(comm_, topology_.ranks_of(topology_.node_of(rank_)),
                           topology_.local_of(rank_));
    const NodeArena::Shape shape{group.size(), counter_limit(topology_),
                                 static_cast<uint32_t>(topology_.nodes()),
                                 parameters().arena_bytes};
    SharedMemory memory = SharedMemory::create(group, NodeArena::bytes_of(shape));
    if (memory.data() == nullptr) { return false; }
    arena_.attach(std::move(memory), shape, group.own());
    pinned_.attach(arena_.memory().data(), arena_.memory().size());
    return true;
}

int InnerCommunicator::alive() { return all_alive; }

void InnerCommunicator::leave_communicators() { communicators_are_left = true; }

uint32_t InnerCommunicator::next_operation() {
    if (++operations_ % (tags::blocking_operations / 2) == 0) { meet(); }
    return operations_;
}

/// All else goes on meanwhile, for others may need that to come here.
void InnerCommunicator::meet() {
    static const auto begin = reinterpret_cast<decltype(&::MPI_Ibarrier)>(find_mpi("MPI_Ibarrier"));
    if (begin == nullptr) {
        MPI_CALL(Barrier, comm_);
        return;
    }
    MPI_Request barrier = MPI_REQUEST_NULL;
    const int code = begin(comm_, &barrier);
    if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Ibarrier"); }
    int is_over = 0;
    waiter_->begin();
    while (true) {
        const uint32_t bell = arena_.bell();
        MPI_CALL(Test, &barrier, &is_over, MPI_STATUS_IGNORE);
        if (is_over != 0) { return; }
        waiter_->pause(bell, false);
    }
}

MPI_Comm InnerCommunicator::second_comm() {
    if (second_comm_ == MPI_COMM_NULL) { second_comm_ = make_for_all(comm_); }
    return second_comm_;
}

InnerCommunicator::~InnerCommunicator() {
    strays_.end();
    if (!pinned_.unpin()) { arena_.leave_mapped(); }
    if (communicators_are_left || is_left_) { return; }
    if (second_comm_ != MPI_COMM_NULL) { mpi.Comm_free(&second_comm_); }
    mpi.Comm_free(&comm_);
    --all_alive;
}

} // namespace nodeaware
