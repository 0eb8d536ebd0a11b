#include "runtime/memory/contributions.hpp"

#include <cstring>
#include <utility>

namespace nodeaware {

namespace {

uint64_t size_of(const gathered::OwnPart& part) {
    const uint64_t list =
        sizeof(uint64_t) + sizeof(gathered::Contribution) * part.contributions.size();
    return list + part.contributed_bytes;
}

} // namespace

Contributions::Contributions(SharedMemory memory, const Shape& shape, int own)
    : room_(std::make_shared<ContributionRoom>(std::move(memory), shape, own)) {}

Contributions::Contributions(const Contributions& first, int lane)
    : room_(first.room_), lane_(lane) {}

bool Contributions::make_room(uint64_t operation, const gathered::OwnPart& part) {
    if (operation != arrived_ || is_last_) { return false; }
    const uint64_t released = room_->released(lane_).load(std::memory_order_acquire);
    if (operation >= window() + released) { return false; }
    uint32_t where = 0;
    if (!part.contributions.empty()) {
        const auto taken = room_->take(lane_, operation, size_of(part));
        if (!taken) { return false; }
        where = *taken;
    }
    position(operation, room_->own()) = where;
    return true;
}

std::byte* Contributions::contribute(uint64_t operation, const gathered::OwnPart& part) {
    std::byte* next = at(operation, room_->own());
    if (next == nullptr) { return nullptr; }
    const uint64_t count = part.contributions.size();
    std::memcpy(next, &count, sizeof count);
    next += sizeof count;
    std::memcpy(next, part.contributions.data(), sizeof(gathered::Contribution) * count);
    return next + sizeof(gathered::Contribution) * count;
}

bool Contributions::arrive(uint64_t operation) {
    ++arrived_;
    const auto ranks = static_cast<uint32_t>(room_->shape().ranks);
    const auto all = static_cast<uint32_t>(ranks * (operation / window() + 1));
    std::atomic<uint32_t>& arrivals = room_->arrivals(lane_, place_of(operation));
    is_last_ = arrivals.fetch_add(1, std::memory_order_acq_rel) + 1 == all;
    return is_last_;
}

bool Contributions::open(uint64_t operation) {
    for (int local = 0; local < room_->shape().ranks; ++local) {
        if (!room_->open(lane_, position(operation, local))) { return false; }
    }
    return true;
}

Contributions::Contributed Contributions::contributed(uint64_t operation, int local) const {
    std::byte* next = at(operation, local);
    if (next == nullptr) { return {}; }
    uint64_t count = 0;
    std::memcpy(&count, next, sizeof count);
    next += sizeof count;
    Contributed result;
    result.list.resize(count);
    std::memcpy(result.list.data(), next, sizeof(gathered::Contribution) * count);
    result.bytes = next + sizeof(gathered::Contribution) * count;
    return result;
}

void Contributions::release(uint64_t operation) {
    is_last_ = false;
    room_->released(lane_).store(operation + 1, std::memory_order_release);
}

} // namespace nodeaware
