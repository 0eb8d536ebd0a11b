#include "runtime/communicators/nonblocking_context.hpp"

#include "runtime/device/memory.hpp"
#include "runtime/memory/local_group.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace nodeaware {

namespace {

/// Several operations may be under way, so each gets less memory.
Parameters parameters_of(const InnerCommunicator& inner) {
    Parameters parameters = inner.parameters();
    parameters.arena_bytes /= 4;
    return parameters;
}

/// The tags of an operation: of direct messages, of their parts, of pieces by node.
int tags_of_operation(const Topology& topology) { return topology.nodes() + 2; }

/// The tags of a context, or nothing if MPI has none left for it.
std::optional<tags::Range> range_of(const Topology& topology, int number) {
    int* upper_bound = nullptr;
    int found = 0;
    // Open MPI tells it for MPI_COMM_WORLD only.
    MPI_CALL(Comm_get_attr, MPI_COMM_WORLD, MPI_TAG_UB, &upper_bound, &found);
    if (found == 0) { return std::nullopt; }
    return tags::range_of_context(number, tags_of_operation(topology), *upper_bound);
}

} // namespace

std::shared_ptr<NonblockingContext>
NonblockingContext::create(std::shared_ptr<InnerCommunicator> inner) {
    const Topology& topology = inner->topology();
    const int node = topology.node_of(inner->rank());
    const LocalGroup group(inner->comm(), topology.ranks_of(node),
                           topology.local_of(inner->rank()));
    const Contributions::Shape shape{
        group.size(), gathered::region_bytes(topology, node, parameters_of(*inner).arena_bytes)};
    SharedMemory memory = SharedMemory::create(group, Contributions::bytes_of(shape),
                                               Contributions::reserve_of(shape));
    // A number above those that are in use on any rank: operations of a communicator that was freed
    // may still be under way.
    const std::array<int, 3> mine = {memory.data() != nullptr ? 1 : 0, -inner->first_free_context(),
                                     inner->may_have_devices() && device::mpi_is_aware() ? 0 : 1};
    std::array<int, 3> least{};
    MPI_CALL(Allreduce, mine.data(), least.data(), 3, MPI_INT, MPI_MIN, inner->comm());
    const auto range = range_of(topology, -least[1]);
    if (least[0] == 0 || !range) { return nullptr; }
    auto context = std::make_shared<NonblockingContext>(
        std::move(inner), Contributions(std::move(memory), shape, group.own()), -least[1], *range);
    context->cuts_large_ = context->inner().may_have_devices() && least[2] == 1;
    return context;
}

NonblockingContext::NonblockingContext(std::shared_ptr<InnerCommunicator> inner,
                                       Contributions contributions, int number,
                                       const tags::Range& range)
    : inner_(std::move(inner)), parameters_(parameters_of(*inner_)),
      contributions_(std::move(contributions)), number_(number), range_(range) {
    inner_->contexts().insert(number_);
}

NonblockingContext::~NonblockingContext() { inner_->contexts().erase(number_); }

tags::Tags NonblockingContext::tags_of(uint64_t operation) const {
    const int nodes = inner_->topology().nodes();
    const auto place = static_cast<int>(operation % static_cast<uint64_t>(range_.operations));
    const int first = range_.first + place * tags_of_operation(inner_->topology());
    return {.direct = first,
            .sent_piece = first + 1 + inner_->topology().node_of(inner_->rank()),
            .by_node = true,
            .first_node = first + 1,
            .part = cuts_large_ ? first + 1 + nodes : -1};
}

} // namespace nodeaware
