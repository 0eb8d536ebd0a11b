#include "runtime/communicators/nonblocking_context.hpp"

#include "runtime/job/address_space.hpp"
#include "runtime/memory/local_group.hpp"

#include <array>
#include <new>
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

struct NodeMemory {
    SharedMemory memory;
    Contributions::Shape shape;
};

constexpr int few_lanes = 4;

/// Address space, of which batch systems may allow little, is taken as it is needed where nothing
/// can be in its way.
SharedMemory memory_for(const LocalGroup& group, const Contributions::Shape& shape, bool is_free) {
    const size_t all = Contributions::bytes_of(shape);
    const size_t reserve = Contributions::reserve_of(shape);
    if (is_free) {
        const size_t first = Contributions::first_bytes_of(shape);
        SharedMemory memory = SharedMemory::create(group, first, all - first + reserve);
        const bool is_certain = !memory.is_in_dev_shm() && memory.limit() >= all;
        const bool is_costly = memory.is_in_dev_shm() && shape.lanes > few_lanes;
        if (memory.data() == nullptr || is_certain || is_costly) { return memory; }
    }
    return SharedMemory::create(group, all, reserve);
}

/// With lanes for persistent requests: few where unused memory is not free, and none where there
/// would be nothing for other operations.
NodeMemory memory_of(const LocalGroup& group, uint64_t largest) {
    bool is_free = group.all(address_space::limit() == 0);
    NodeMemory made;
    for (const int lanes : {NonblockingContext::most_lanes, few_lanes, 0}) {
        if (lanes > few_lanes && !is_free) { continue; }
        made.shape = {group.size(), largest, lanes};
        made.memory = memory_for(group, made.shape, is_free);
        const bool is_in_dev_shm = made.memory.is_in_dev_shm();
        const bool is_costly = is_in_dev_shm && lanes > few_lanes;
        if (made.memory.data() != nullptr && !is_costly) { return made; }
        is_free = is_free && !is_in_dev_shm;
    }
    return made;
}

} // namespace

/// Empty if memory has run out. Without tags.
std::vector<std::shared_ptr<NonblockingContext>>
NonblockingContext::make(const std::shared_ptr<InnerCommunicator>& inner, SharedMemory memory,
                         const Contributions::Shape& shape, int own) {
    std::vector<std::shared_ptr<NonblockingContext>> made;
    if (memory.data() == nullptr) { return made; }
    try {
        const auto common = std::make_shared<Common>(inner);
        const Contributions first(std::move(memory), shape, own);
        for (int lane = 0; lane <= shape.lanes; ++lane) {
            made.push_back(std::shared_ptr<NonblockingContext>(
                new NonblockingContext(common, Contributions(first, lane))));
        }
    } catch (const std::bad_alloc&) { made.clear(); }
    return made;
}

std::vector<std::shared_ptr<NonblockingContext>>
NonblockingContext::create(const std::shared_ptr<InnerCommunicator>& inner) {
    const Topology& topology = inner->topology();
    const int node = topology.node_of(inner->rank());
    const LocalGroup group(inner->comm(), topology.ranks_of(node),
                           topology.local_of(inner->rank()));
    auto [memory, shape] =
        memory_of(group, gathered::region_bytes(topology, node, parameters_of(*inner).arena_bytes));
    auto made = make(inner, std::move(memory), shape, group.own());
    // A number above those that are in use on any rank: operations of a communicator that was freed
    // may still be under way.
    const std::array<int, 3> mine = {made.empty() ? 0 : 1, shape.lanes,
                                     -inner->first_free_context()};
    std::array<int, 3> least{};
    MPI_CALL(Allreduce, mine.data(), least.data(), 3, MPI_INT, MPI_MIN, inner->comm());
    const auto range = range_of(topology, -least[2]);
    if (least[0] == 0 || !range) { return {}; }
    const bool are_enough = range->operations / 2 >= least[1] * tags::fewest_operations;
    const int lanes = are_enough ? least[1] : 0;
    made.resize(static_cast<size_t>(lanes) + 1);
    made.front()->common_->number = -least[2];
    inner->contexts().insert(-least[2]);
    for (int lane = 0; lane <= lanes; ++lane) {
        made[static_cast<size_t>(lane)]->range_ =
            tags::range_of_lane(*range, lane, lanes, topology.nodes() + 1);
    }
    return made;
}

NonblockingContext::Common::Common(std::shared_ptr<InnerCommunicator> inner_)
    : inner(std::move(inner_)), parameters(parameters_of(*inner)) {}

NonblockingContext::Common::~Common() { inner->contexts().erase(number); }

tags::Tags NonblockingContext::tags_of(uint64_t operation) const {
    const Topology& topology = inner().topology();
    const auto place = static_cast<int>(operation % static_cast<uint64_t>(range_.operations));
    const int first = range_.first + place * (topology.nodes() + 1);
    return {.direct = first,
            .sent_piece = first + 1 + topology.node_of(inner().rank()),
            .by_node = true,
            .first_node = first + 1};
}

} // namespace nodeaware
