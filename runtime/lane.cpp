#include "runtime/lane.hpp"

#include <cstring>
#include <new>

namespace nodeaware {

namespace {

/// Operations whose tags differ. Only those can meet that have begun on one rank and not ended on
/// another; messages between two ranks keep their order even then.
constexpr int numbered_operations = 64;

int tags_of_a_lane(const Topology& topology) {
    return numbered_operations * (topology.nodes() + 1);
}

/// The first tag of a lane, or nothing if MPI has no tags left for it.
std::optional<int> first_tag(MPI_Comm comm, const Topology& topology, int number) {
    int* upper_bound = nullptr;
    int found = 0;
    MPI_CALL(Comm_get_attr, comm, MPI_TAG_UB, &upper_bound, &found);
    const int64_t tags = tags_of_a_lane(topology);
    const int64_t first = tags::first_nonblocking + tags * number;
    if (found == 0 || first + tags > *upper_bound) { return std::nullopt; }
    return static_cast<int>(first);
}

} // namespace

std::shared_ptr<Lane> Lane::create(std::shared_ptr<Team> team, int number) {
    const Topology& topology = team->topology();
    const std::optional<int> tag = first_tag(team->comm(), topology, number);
    if (!tag) { return nullptr; }
    const MPI_Comm comm = team->comm();
    std::shared_ptr<Lane> lane(new Lane(std::move(team)));
    lane->first_tag_ = *tag;
    const LocalGroup group(comm, topology.ranks_of(lane->node_), lane->local_);
    const size_t data_at = sizeof(Set) * sets;
    const uint64_t ranks = static_cast<uint64_t>(topology.ranks_on(lane->node_));
    lane->memory_ = SharedMemory::create(group, data_at + sets * ranks * lane->region_bytes_);
    const int mine = lane->memory_.data() != nullptr ? 1 : 0;
    int all = 0;
    MPI_CALL(Allreduce, &mine, &all, 1, MPI_INT, MPI_MIN, comm);
    if (all == 0) { return nullptr; }
    lane->sets_ = std::launder(reinterpret_cast<Set*>(lane->memory_.data()));
    lane->data_ = lane->memory_.data() + data_at;
    return lane;
}

Lane::Lane(std::shared_ptr<Team> team) : team_(std::move(team)), parameters_(team_->parameters()) {
    const Topology& topology = team_->topology();
    parameters_.arena_bytes /= 4; // several operations may be under way
    node_ = topology.node_of(team_->rank());
    local_ = topology.local_of(team_->rank());
    region_bytes_ = gathered::region_bytes(topology, node_, parameters_.arena_bytes);
}

tags::Tags Lane::tags_of(uint32_t operation) const {
    const int nodes = team_->topology().nodes();
    const int first = first_tag_ + static_cast<int>(operation % numbered_operations) * (nodes + 1);
    return {first, first + 1 + node_, true, first + 1};
}

bool Lane::is_open(uint32_t operation) const {
    return operation == arrived_ &&
           set_of(operation).released.load(std::memory_order_acquire) == operation / sets;
}

std::byte* Lane::region(uint32_t operation, int local) const {
    const auto ranks = static_cast<uint64_t>(team_->topology().ranks_on(node_));
    return data_ + (operation % sets * ranks + static_cast<uint64_t>(local)) * region_bytes_;
}

std::byte* Lane::contribute(uint32_t operation, const gathered::OwnPart& part) {
    std::byte* next = region(operation, local_);
    const uint64_t count = part.contributions.size();
    std::memcpy(next, &count, sizeof count);
    next += sizeof count;
    if (count > 0) {
        std::memcpy(next, part.contributions.data(), sizeof(gathered::Contribution) * count);
    }
    return next + sizeof(gathered::Contribution) * count;
}

bool Lane::arrive(uint32_t operation) {
    ++arrived_;
    const auto ranks = static_cast<uint64_t>(team_->topology().ranks_on(node_));
    const uint64_t before = set_of(operation).arrivals.fetch_add(1, std::memory_order_acq_rel);
    return before + 1 == ranks * (operation / sets + 1);
}

Lane::Contributed Lane::contributed(uint32_t operation, int local) const {
    std::byte* next = region(operation, local);
    uint64_t count = 0;
    std::memcpy(&count, next, sizeof count);
    next += sizeof count;
    Contributed result;
    result.list.resize(count);
    if (count > 0) {
        std::memcpy(result.list.data(), next, sizeof(gathered::Contribution) * count);
    }
    result.bytes = next + sizeof(gathered::Contribution) * count;
    return result;
}

void Lane::release(uint32_t operation) {
    set_of(operation).released.store(operation / sets + 1, std::memory_order_release);
}

} // namespace nodeaware
