#include "runtime/collectives/sparse_context.hpp"

#include "runtime/collectives/sparse_messages.hpp"
#include "runtime/communicators/communicator.hpp"
#include "runtime/job/log.hpp"
#include "strategies/sparse_choice.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

namespace nodeaware::sparse {

namespace {

std::mutex keyval_mutex;
int context_keyval = MPI_KEYVAL_INVALID;
/// MPI_Finalize deletes attributes, too. What is private then is left to it.
std::atomic<bool> is_finalizing = false;

int delete_context(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* /*extra*/) {
    delete static_cast<Context*>(value);
    return MPI_SUCCESS;
}

/// MPI_Finalize does this to MPI_COMM_SELF before anything else.
int begin_finalizing(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
    is_finalizing = true;
    return MPI_SUCCESS;
}

int keyval() {
    const std::lock_guard lock(keyval_mutex);
    if (context_keyval != MPI_KEYVAL_INVALID) { return context_keyval; }
    int of_self = MPI_KEYVAL_INVALID;
    MPI_CALL(Comm_create_keyval, MPI_COMM_NULL_COPY_FN, begin_finalizing, &of_self, nullptr);
    MPI_CALL(Comm_set_attr, MPI_COMM_SELF, of_self, nullptr);
    MPI_CALL(Comm_create_keyval, MPI_COMM_NULL_COPY_FN, delete_context, &context_keyval, nullptr);
    return context_keyval;
}

std::string_view name_of(SparseMethod method) {
    static constexpr std::array<std::string_view, 5> names = {"auto", "personalized", "nonblocking",
                                                              "locality", "node_pairs"};
    return names.at(static_cast<size_t>(method));
}

/// It runs, and not only looks on.
bool may_reroute() { return library != nullptr && !library->world.options.observes; }

} // namespace

Context* Context::kept(MPI_Comm comm) {
    void* found = nullptr;
    int is_there = 0;
    MPI_CALL(Comm_get_attr, comm, keyval(), &found, &is_there);
    return is_there != 0 ? static_cast<Context*>(found) : nullptr;
}

Context& Context::of(MPI_Comm comm) {
    if (Context* const context = kept(comm)) { return *context; }
    before_blocking();
    auto made = std::make_unique<Context>();
    made->comm_ = InnerCommunicator::create_private(comm);
    MPI_CALL(Comm_rank, made->comm_, &made->rank_);
    MPI_CALL(Comm_size, made->comm_, &made->size_);
    made->counts_.resize(static_cast<size_t>(made->size_));
    made->choose(comm);
    MPI_CALL(Comm_set_attr, comm, keyval(), made.get());
    if (made->rank_ == 0) { made->tell(); }
    return *made.release();
}

void Context::tell() const {
    if (method_ != SparseMethod::node_pairs) {
        return log(LogLevel::info, "sparse exchanges of {} ranks: {}", size_, name_of(method_));
    }
    const Blocks& blocks = node_pairs_->blocks();
    const std::string relayed =
        blocks.radix > 0 ? fmt::format(", relayed with radix {}", blocks.radix) : "";
    log(LogLevel::info, "sparse exchanges of {} ranks: {}{}, blocks of {} B", size_,
        name_of(method_), relayed, blocks.bytes);
}

Context::~Context() {
    if (is_finalizing) { return; }
    if (node_comm_ != MPI_COMM_NULL) { mpi.Comm_free(&node_comm_); }
    if (comm_ != MPI_COMM_NULL) { mpi.Comm_free(&comm_); }
}

/// What the settings of rank 0 say: others may be of another job, or without the library.
SparseMethod Context::chosen() const {
    int number = 0;
    if (rank_ == 0 && library != nullptr) {
        number = static_cast<int>(library->world.options.sparse);
    } else if (rank_ == 0) {
        const auto read = read_options(process_environment());
        for (const std::string& complaint : read.complaints) {
            write_log(LogLevel::warn, complaint);
        }
        number = static_cast<int>(read.options.sparse);
    }
    MPI_CALL(Bcast, &number, 1, MPI_INT, 0, comm_);
    return static_cast<SparseMethod>(number);
}

/// By what all ranks know alike.
void Context::choose(MPI_Comm comm) {
    const SparseMethod wanted = chosen();
    const bool is_automatic = wanted == SparseMethod::automatic;
    method_ = SparseMethod::nonblocking;
    if (wanted == SparseMethod::personalized || (is_automatic && is_personalized_better(size_))) {
        method_ = SparseMethod::personalized;
    }
    if (!may_reroute()) { return; }
    if ((is_automatic || wanted == SparseMethod::node_pairs) && make_node_pairs(comm)) {
        method_ = SparseMethod::node_pairs;
    }
    if (wanted == SparseMethod::locality) {
        make_node_comm();
        if (topology_) { method_ = SparseMethod::locality; }
    }
}

/// False, on all ranks, where exchanges cannot be rerouted, where `auto` thinks them slower so, or
/// one of them has no memory.
bool Context::make_node_pairs(MPI_Comm comm) {
    Communicator& communicator = Communicator::of(comm, library->world);
    if (communicator.obstacle(Operation::dist_graph_create) != Reason::none) { return false; }
    InnerCommunicator& inner = communicator.inner();
    const bool is_wanted = library->world.options.sparse == SparseMethod::node_pairs;
    if (!is_wanted && !node_pairs_pay(inner.topology(), inner.parameters().costs)) { return false; }
    try {
        node_pairs_ = std::make_unique<NodePairs>(inner);
    } catch (const std::bad_alloc&) { log(LogLevel::info, "no memory for blocks of all ranks"); }
    const int mine = node_pairs_ != nullptr ? 1 : 0;
    int all = 0;
    MPI_CALL(Allreduce, &mine, &all, 1, MPI_INT, MPI_MIN, comm_);
    return all != 0;
}

/// Nothing where ranks belong to another world, whose nodes are not known.
void Context::make_node_comm() {
    const auto nodes = library->world.nodes_of(comm_);
    if (!nodes) { return; }
    const Topology topology(*nodes);
    const std::vector<int>& ranks = topology.ranks_of(topology.node_of(rank_));
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group mates = MPI_GROUP_NULL;
    MPI_CALL(Comm_group, comm_, &all);
    MPI_CALL(Group_incl, all, static_cast<int>(ranks.size()), ranks.data(), &mates);
    const int code = mpi.Comm_create(comm_, mates, &node_comm_);
    MPI_CALL(Group_free, &mates);
    MPI_CALL(Group_free, &all);
    if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Comm_create"); }
    topology_ = topology;
}

} // namespace nodeaware::sparse
