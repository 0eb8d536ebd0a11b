#include "runtime/communicator.hpp"

#include "runtime/log.hpp"

#include <algorithm>

namespace nodeaware {

namespace {

int keyval = MPI_KEYVAL_INVALID;
bool closing = false;

/// The private communicator is freed together with the application's, inside the call that frees
/// that.
int delete_communicator(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* /*extra*/) {
    delete static_cast<Communicator*>(value);
    return MPI_SUCCESS;
}

/// Makes errors on a communicator of the application return to us for a while.
class ErrorsReturn {
  public:
    explicit ErrorsReturn(MPI_Comm comm) : comm_(comm) {
        MPI_CALL(Comm_get_errhandler, comm, &handler_);
        MPI_CALL(Comm_set_errhandler, comm, MPI_ERRORS_RETURN);
    }
    ~ErrorsReturn() {
        mpi.Comm_set_errhandler(comm_, handler_);
        mpi.Errhandler_free(&handler_);
    }
    ErrorsReturn(const ErrorsReturn&) = delete;
    ErrorsReturn& operator=(const ErrorsReturn&) = delete;

  private:
    MPI_Comm comm_;
    MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

/// A communicator of the same ranks in the same order, without the attributes of the original:
/// MPI_Comm_dup would copy them and run the copy functions of the application.
MPI_Comm create_private(MPI_Comm comm) {
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

} // namespace

void Communicator::open() {
    closing = false;
    MPI_CALL(Comm_create_keyval, MPI_COMM_NULL_COPY_FN, delete_communicator, &keyval, nullptr);
}

void Communicator::close() { closing = true; }

Communicator& Communicator::of(MPI_Comm comm, const World& world) {
    void* kept = nullptr;
    int found = 0;
    MPI_CALL(Comm_get_attr, comm, keyval, &kept, &found);
    if (found != 0) { return *static_cast<Communicator*>(kept); }
    std::unique_ptr<Communicator> made(new Communicator);
    made->examine(comm, world);
    if (made->obstacle_ == Reason::none) { made->acquire(comm, world); }
    MPI_CALL(Comm_set_attr, comm, keyval, made.get());
    return *made.release();
}

/// Looks for obstacles that every rank sees alike.
void Communicator::examine(MPI_Comm comm, const World& world) {
    int inter = 0;
    MPI_CALL(Comm_test_inter, comm, &inter);
    if (inter != 0) {
        obstacle_ = Reason::intercommunicator;
        return;
    }
    MPI_CALL(Comm_rank, comm, &rank_);
    MPI_CALL(Comm_size, comm, &size_);
    const auto nodes = world.nodes_of(comm);
    if (!nodes) {
        obstacle_ = Reason::foreign_ranks;
        return;
    }
    topology_ = Topology(*nodes);
    if (topology_.nodes() < 2) {
        obstacle_ = Reason::one_node;
    } else if (topology_.most_ranks_on_a_node() < 2) {
        obstacle_ = Reason::one_rank_per_node;
    }
}

/// Gets everything that it takes; afterwards all ranks of the communicator know whether all of them
/// did.
void Communicator::acquire(MPI_Comm comm, const World& world) {
    try {
        private_ = create_private(comm);
    } catch (const MpiError& error) {
        log(LogLevel::info, "{}", error.what());
        obstacle_ = Reason::no_resources;
        return;
    }
    parameters_ = world.options.parameters;
    parameters_.arena_bytes = std::max(parameters_.arena_bytes, smallest_arena(topology_));
    const int mine = create_arena() ? 1 : 0;
    int all = 0;
    MPI_CALL(Allreduce, &mine, &all, 1, MPI_INT, MPI_MIN, private_);
    if (all == 0) {
        obstacle_ = Reason::no_resources;
        MPI_CALL(Comm_free, &private_);
        return;
    }
    waiter_ = std::make_unique<Waiter>(*arena_, private_, world.oversubscribed);
    agreement_ = std::make_unique<Agreement>(topology_, rank_, *arena_, *waiter_);
}

bool Communicator::create_arena() {
    const int node = topology_.node_of(rank_);
    const LocalGroup group(private_, topology_.ranks_of(node), topology_.local_of(rank_));
    arena_ = std::make_unique<NodeArena>();
    return arena_->create(group, {group.size(), counter_limit(topology_), parameters_.arena_bytes});
}

const Neighbors& Communicator::neighbors(MPI_Comm comm, Operation operation) {
    auto& kept = neighbors_[static_cast<size_t>(operation)];
    if (!kept) { kept = find_neighbors(comm, operation); }
    return *kept;
}

Communicator::~Communicator() {
    if (private_ != MPI_COMM_NULL && !closing) { mpi.Comm_free(&private_); }
}

} // namespace nodeaware
