#include "runtime/communicators/nonblocking_context.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace nodeaware {

namespace {

/// Operations whose tags differ. Only those can meet that have begun on one rank and not ended on
/// another; messages between two ranks keep their order even then.
constexpr int numbered_operations = 64;

int tags_of_a_context(const Topology& topology) {
    return numbered_operations * (topology.nodes() + 1);
}

/// The first tag of a context, or nothing if MPI has no tags left for it.
std::optional<int> first_tag(const Topology& topology, int number) {
    int* upper_bound = nullptr;
    int found = 0;
    // Open MPI tells it for MPI_COMM_WORLD only.
    MPI_CALL(Comm_get_attr, MPI_COMM_WORLD, MPI_TAG_UB, &upper_bound, &found);
    const int64_t tags = tags_of_a_context(topology);
    const int64_t first = tags::first_nonblocking + tags * number;
    if (found == 0 || first + tags > *upper_bound) { return std::nullopt; }
    return static_cast<int>(first);
}

/// Size of the region of gathered::region_bytes() that `part` takes; a multiple of a cache line,
/// for ranks must not share one.
uint64_t bytes_of(const gathered::OwnPart& part) {
    const uint64_t lists =
        sizeof(uint64_t) + sizeof(gathered::Contribution) * part.contributions.size();
    return (lists + part.contributed_bytes + 63) / 64 * 64;
}

} // namespace

std::shared_ptr<NonblockingContext>
NonblockingContext::create(std::shared_ptr<InnerCommunicator> inner, int number) {
    const Topology& topology = inner->topology();
    const std::optional<int> tag = first_tag(topology, number);
    if (!tag) { return nullptr; }
    const MPI_Comm comm = inner->comm();
    std::shared_ptr<NonblockingContext> context(new NonblockingContext(std::move(inner)));
    context->first_tag_ = *tag;
    const LocalGroup group(comm, topology.ranks_of(context->node_), context->local_);
    const uint64_t ranks = static_cast<uint64_t>(topology.ranks_on(context->node_));
    const size_t positions_at = sizeof(Set) * window;
    const size_t data_at = positions_at + sizeof(uint64_t) * window * ranks;
    context->memory_ = SharedMemory::create(group, data_at + ranks * context->bytes_of_a_rank_);
    const int mine = context->memory_.data() != nullptr ? 1 : 0;
    int all = 0;
    MPI_CALL(Allreduce, &mine, &all, 1, MPI_INT, MPI_MIN, comm);
    if (all == 0) { return nullptr; }
    context->sets_ = std::launder(reinterpret_cast<Set*>(context->memory_.data()));
    context->positions_ =
        std::launder(reinterpret_cast<uint64_t*>(context->memory_.data() + positions_at));
    context->data_ = context->memory_.data() + data_at;
    return context;
}

NonblockingContext::NonblockingContext(std::shared_ptr<InnerCommunicator> inner)
    : inner_(std::move(inner)), parameters_(inner_->parameters()) {
    const Topology& topology = inner_->topology();
    parameters_.arena_bytes /= 4; // several operations may be under way
    node_ = topology.node_of(inner_->rank());
    local_ = topology.local_of(inner_->rank());
    const uint64_t largest = gathered::region_bytes(topology, node_, parameters_.arena_bytes);
    bytes_of_a_rank_ = std::max(largest_contributions * largest, window * small_contribution);
}

tags::Tags NonblockingContext::tags_of(uint64_t operation) const {
    const int nodes = inner_->topology().nodes();
    const int first = first_tag_ + static_cast<int>(operation % numbered_operations) * (nodes + 1);
    return {first, first + 1 + node_, true, first + 1};
}

bool NonblockingContext::is_released(uint64_t operation) const {
    return set_of(operation).released.load(std::memory_order_acquire) > operation / window;
}

bool NonblockingContext::make_room(uint64_t operation, const gathered::OwnPart& part) {
    if (operation != arrived_ || (operation >= window && !is_released(operation - window))) {
        return false;
    }
    std::erase_if(held_, [this](const Held& held) { return is_released(held.operation); });
    const uint64_t wanted = bytes_of(part);
    uint64_t begin = 0; // as low as possible, so that few pages are ever used
    auto next = held_.begin();
    for (; next != held_.end() && next->begin - begin < wanted; ++next) { begin = next->end; }
    if (begin + wanted > bytes_of_a_rank_) { return false; }
    held_.insert(next, {operation, begin, begin + wanted});
    position(operation, local_) = begin;
    return true;
}

uint64_t& NonblockingContext::position(uint64_t operation, int local) const {
    const auto ranks = static_cast<uint64_t>(inner_->topology().ranks_on(node_));
    return positions_[operation % window * ranks + static_cast<uint64_t>(local)];
}

std::byte* NonblockingContext::region(uint64_t operation, int local) const {
    return data_ + static_cast<uint64_t>(local) * bytes_of_a_rank_ + position(operation, local);
}

std::byte* NonblockingContext::contribute(uint64_t operation, const gathered::OwnPart& part) {
    std::byte* next = region(operation, local_);
    const uint64_t count = part.contributions.size();
    std::memcpy(next, &count, sizeof count);
    next += sizeof count;
    if (count > 0) {
        std::memcpy(next, part.contributions.data(), sizeof(gathered::Contribution) * count);
    }
    return next + sizeof(gathered::Contribution) * count;
}

bool NonblockingContext::arrive(uint64_t operation) {
    ++arrived_;
    const auto ranks = static_cast<uint64_t>(inner_->topology().ranks_on(node_));
    const uint64_t before = set_of(operation).arrivals.fetch_add(1, std::memory_order_acq_rel);
    return before + 1 == ranks * (operation / window + 1);
}

NonblockingContext::Contributed NonblockingContext::contributed(uint64_t operation,
                                                                int local) const {
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

void NonblockingContext::release(uint64_t operation) {
    set_of(operation).released.store(operation / window + 1, std::memory_order_release);
}

} // namespace nodeaware
