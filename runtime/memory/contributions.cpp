#include "runtime/memory/contributions.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace nodeaware {

namespace {

/// Ranks must not share a cache line.
constexpr uint64_t unit = 64;
constexpr uint64_t up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

/// Chunks consist of pages, of whatever size.
constexpr uint64_t largest_page = 65536;
/// A chunk has room for so many contributions of the largest size, or for many small ones.
constexpr uint64_t large_contributions = 8;
constexpr uint64_t smallest_chunk = 4 * largest_page;

constexpr uint64_t largest_space = unit * (std::numeric_limits<uint32_t>::max() - 1);

uint64_t size_of(const gathered::OwnPart& part) {
    const uint64_t list =
        sizeof(uint64_t) + sizeof(gathered::Contribution) * part.contributions.size();
    return up(list + part.contributed_bytes, unit);
}

} // namespace

uint64_t Contributions::chunk_of(const Shape& shape) {
    return std::max(up(large_contributions * shape.largest, largest_page), smallest_chunk);
}

size_t Contributions::data_at(const Shape& shape) {
    return up(sizeof(Control) + sizeof(uint32_t) * window * static_cast<uint64_t>(shape.ranks),
              largest_page);
}

size_t Contributions::bytes_of(const Shape& shape) {
    return data_at(shape) + static_cast<uint64_t>(shape.ranks) * chunk_of(shape);
}

/// Enough for the window: a chunk that has no room for one more contribution holds seven at least.
size_t Contributions::reserve_of(const Shape& shape) {
    const uint64_t chunk = chunk_of(shape);
    const uint64_t space = std::min(uint64_t{2} * window * up(shape.largest, unit), largest_space);
    return static_cast<uint64_t>(shape.ranks) * (space / chunk * chunk);
}

Contributions::Contributions(SharedMemory memory, const Shape& shape, int own)
    : memory_(std::move(memory)), shape_(shape), own_(own), chunk_(chunk_of(shape)) {}

Contributions::Control& Contributions::control() const {
    return *std::launder(reinterpret_cast<Control*>(memory_.data()));
}

uint32_t& Contributions::position(uint64_t operation, int local) const {
    auto* const positions =
        std::launder(reinterpret_cast<uint32_t*>(memory_.data() + sizeof(Control)));
    return positions[static_cast<uint64_t>(local) * window + operation % window];
}

size_t Contributions::bytes_up_to(uint64_t place) const {
    const auto ranks = static_cast<uint64_t>(shape_.ranks);
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): see chunk_of()
    return data_at(shape_) + (place / chunk_ + 1) * ranks * chunk_;
}

size_t Contributions::offset_of(int local, uint64_t place) const {
    const auto ranks = static_cast<uint64_t>(shape_.ranks);
    const uint64_t chunk = place / chunk_ * ranks + static_cast<uint64_t>(local);
    return data_at(shape_) + chunk * chunk_ + place % chunk_;
}

/// nullptr if the rank has contributed nothing.
std::byte* Contributions::at(uint64_t operation, int local) const {
    const uint64_t where = position(operation, local);
    return where == 0 ? nullptr : memory_.data() + offset_of(local, (where - 1) * unit);
}

void Contributions::drop_released() {
    const uint64_t released = control().released.load(std::memory_order_acquire);
    if (released == released_) { return; }
    released_ = released;
    std::erase_if(held_, [released](const Held& held) { return held.operation < released; });
    const uint64_t end = held_.empty() ? 0 : held_.back().end;
    if (reserve_end_ == 0 || end > chunk_) { return; }
    for (uint64_t place = chunk_; place < reserve_end_; place += chunk_) {
        memory_.give_back(offset_of(own_, place), chunk_);
    }
    reserve_end_ = 0;
}

/// The lowest place with so much room, so that few pages are ever used; `next`, at first the lowest
/// that is held, becomes the one behind that place.
uint64_t Contributions::find_room(uint64_t wanted, std::vector<Held>::iterator& next) {
    uint64_t begin = 0;
    for (;; ++next) {
        if (begin % chunk_ + wanted > chunk_) { begin = up(begin, chunk_); }
        if (next == held_.end() || begin + wanted <= next->begin) { return begin; }
        begin = std::max(begin, next->end);
    }
}

bool Contributions::take_room(uint64_t begin, uint64_t wanted) {
    if (begin < chunk_) { return true; }
    if (begin + wanted > largest_space || !memory_.grow(bytes_up_to(begin)) ||
        !memory_.provide(offset_of(own_, begin), wanted)) {
        return false;
    }
    reserve_end_ = std::max(reserve_end_, begin + wanted);
    return true;
}

bool Contributions::make_room(uint64_t operation, const gathered::OwnPart& part) {
    if (operation != arrived_ || is_last_) { return false; }
    drop_released();
    if (operation >= window + released_) { return false; }
    if (part.contributions.empty()) {
        position(operation, own_) = 0;
        return true;
    }
    const uint64_t wanted = size_of(part);
    auto next = held_.begin();
    const uint64_t begin = find_room(wanted, next);
    if (!take_room(begin, wanted)) { return false; }
    held_.insert(next, {operation, begin, begin + wanted});
    position(operation, own_) = static_cast<uint32_t>(begin / unit + 1);
    return true;
}

std::byte* Contributions::contribute(uint64_t operation, const gathered::OwnPart& part) {
    std::byte* next = at(operation, own_);
    if (next == nullptr) { return nullptr; }
    const uint64_t count = part.contributions.size();
    std::memcpy(next, &count, sizeof count);
    next += sizeof count;
    std::memcpy(next, part.contributions.data(), sizeof(gathered::Contribution) * count);
    return next + sizeof(gathered::Contribution) * count;
}

bool Contributions::arrive(uint64_t operation) {
    ++arrived_;
    const auto ranks = static_cast<uint32_t>(shape_.ranks);
    const auto all = static_cast<uint32_t>(ranks * (operation / window + 1));
    is_last_ =
        control().arrivals[operation % window].fetch_add(1, std::memory_order_acq_rel) + 1 == all;
    return is_last_;
}

bool Contributions::open(uint64_t operation) {
    uint64_t last = 0;
    for (int local = 0; local < shape_.ranks; ++local) {
        last = std::max<uint64_t>(last, position(operation, local));
    }
    return last == 0 || memory_.grow(bytes_up_to((last - 1) * unit));
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
    control().released.store(operation + 1, std::memory_order_release);
}

} // namespace nodeaware
