#include "runtime/communicators/nonblocking_context.hpp"

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

/// The tags of a context, or nothing if MPI has none left for it.
std::optional<tags::Range> range_of(const Topology& topology, int number) {
    int* upper_bound = nullptr;
    int found = 0;
    // Open MPI tells it for MPI_COMM_WORLD only.
    MPI_CALL(Comm_get_attr, MPI_COMM_WORLD, MPI_TAG_UB, &upper_bound, &found);
    if (found == 0) { return std::nullopt; }
    return tags::range_of_context(number, topology.nodes() + 1, *upper_bound);
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
    const std::array<int, 2> mine = {memory.data() != nullptr ? 1 : 0,
                                     -inner->first_free_context()};
    std::array<int, 2> least{};
    MPI_CALL(Allreduce, mine.data(), least.data(), 2, MPI_INT, MPI_MIN, inner->comm());
    const auto range = range_of(topology, -least[1]);
    if (least[0] == 0 || !range) { return nullptr; }
    return std::make_shared<NonblockingContext>(
        std::move(inner), Contributions(std::move(memory), shape, group.own()), -least[1], *range);
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
    const int first = range_.first + place * (nodes + 1);
    return {.direct = first,
            .sent_piece = first + 1 + inner_->topology().node_of(inner_->rank()),
            .by_node = true,
            .first_node = first + 1};
}

} // namespace nodeaware
