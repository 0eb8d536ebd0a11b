#include "runtime/memory/contribution_room.hpp"

#include <algorithm>
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

constexpr uint32_t slot = std::numeric_limits<uint32_t>::max(); ///< the position of what is there
constexpr uint64_t largest_space = unit * (slot - 1);

} // namespace

uint64_t ContributionRoom::chunk_of(const Shape& shape) {
    return std::max(up(large_contributions * shape.largest, largest_page), smallest_chunk);
}

/// A lane has the number of released operations, the arrivals, and the positions of each rank.
size_t ContributionRoom::lane_bytes(const Shape& shape, int lane) {
    return unit + sizeof(uint32_t) * window_of(lane) * (1 + static_cast<uint64_t>(shape.ranks));
}

size_t ContributionRoom::lane_at(const Shape& shape, int lane) {
    return lane == 0
               ? 0
               : lane_bytes(shape, 0) + static_cast<uint64_t>(lane - 1) * lane_bytes(shape, 1);
}

size_t ContributionRoom::data_at(const Shape& shape) {
    return up(lane_at(shape, 1 + shape.lanes), largest_page);
}

/// Behind the first chunks: only those of lanes that are used are ever mapped.
size_t ContributionRoom::slots_at(const Shape& shape) {
    return data_at(shape) + static_cast<uint64_t>(shape.ranks) * chunk_of(shape);
}

size_t ContributionRoom::slots_up_to(const Shape& shape, int lane) {
    const auto slots = static_cast<uint64_t>(1 + lane) * static_cast<uint64_t>(shape.ranks);
    return slots_at(shape) + slots * up(shape.largest, unit);
}

size_t ContributionRoom::first_bytes_of(const Shape& shape) { return slots_at(shape); }

size_t ContributionRoom::bytes_of(const Shape& shape) {
    return shape.lanes == 0 ? slots_at(shape) : up(slots_up_to(shape, shape.lanes), largest_page);
}

/// Enough for the window: a chunk that has no room for one more contribution holds seven at least.
size_t ContributionRoom::reserve_of(const Shape& shape) {
    const uint64_t chunk = chunk_of(shape);
    const uint64_t space =
        std::min(uint64_t{2} * window_of(0) * up(shape.largest, unit), largest_space);
    return static_cast<uint64_t>(shape.ranks) * (space / chunk * chunk);
}

ContributionRoom::ContributionRoom(SharedMemory memory, const Shape& shape, int own)
    : memory_(std::move(memory)), shape_(shape), own_(own), chunk_(chunk_of(shape)),
      lanes_(static_cast<size_t>(1 + shape.lanes)) {}

std::atomic<uint64_t>& ContributionRoom::released(int lane) const {
    std::byte* const at = memory_.data() + lane_at(shape_, lane);
    return *std::launder(reinterpret_cast<std::atomic<uint64_t>*>(at));
}

std::atomic<uint32_t>& ContributionRoom::arrivals(int lane, uint32_t place) const {
    std::byte* const at = memory_.data() + lane_at(shape_, lane) + unit;
    return std::launder(reinterpret_cast<std::atomic<uint32_t>*>(at))[place];
}

uint32_t& ContributionRoom::position(int lane, uint32_t place, int local) const {
    std::byte* const at = memory_.data() + lane_at(shape_, lane) + unit;
    const uint64_t before = static_cast<uint64_t>(1 + local) * window_of(lane); // arrivals, too
    return std::launder(reinterpret_cast<uint32_t*>(at))[before + place];
}

size_t ContributionRoom::bytes_up_to(uint64_t place) const {
    const auto ranks = static_cast<uint64_t>(shape_.ranks);
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): see chunk_of()
    const uint64_t chunk = place / chunk_;
    return chunk == 0 ? first_bytes_of(shape_) : bytes_of(shape_) + chunk * ranks * chunk_;
}

size_t ContributionRoom::offset_of(int local, uint64_t place) const {
    const auto ranks = static_cast<uint64_t>(shape_.ranks);
    const uint64_t chunk = place / chunk_;
    const uint64_t chunks_at =
        chunk == 0 ? data_at(shape_) : bytes_of(shape_) + (chunk - 1) * ranks * chunk_;
    return chunks_at + static_cast<uint64_t>(local) * chunk_ + place % chunk_;
}

std::byte* ContributionRoom::at(int lane, int local, uint32_t position) const {
    if (position == 0) { return nullptr; }
    if (position != slot) { return memory_.data() + offset_of(local, (position - 1) * unit); }
    const int number = lane * shape_.ranks + local;
    return memory_.data() + slots_at(shape_) +
           static_cast<uint64_t>(number) * up(shape_.largest, unit);
}

bool ContributionRoom::take_slot(int lane, uint64_t operation) {
    if (shape_.lanes == 0) { return false; }
    uint64_t& in_slot = lanes_[static_cast<size_t>(lane)].in_slot;
    if (in_slot > released(lane).load(std::memory_order_acquire)) { return false; }
    if (!memory_.grow(slots_up_to(shape_, lane), true)) { return false; }
    in_slot = operation + 1;
    return true;
}

void ContributionRoom::drop_released() {
    bool are_more = false;
    for (int number = 0; number <= shape_.lanes; ++number) {
        Lane& lane = lanes_[static_cast<size_t>(number)];
        if (lane.held == 0) { continue; }
        const uint64_t now = released(number).load(std::memory_order_acquire);
        are_more |= std::exchange(lane.released, now) != now;
    }
    if (!are_more) { return; }
    std::erase_if(held_, [&](const Held& held) {
        Lane& lane = lanes_[static_cast<size_t>(held.lane)];
        const bool is_released = held.operation < lane.released;
        lane.held -= is_released ? 1 : 0;
        return is_released;
    });
    const uint64_t end = held_.empty() ? 0 : held_.back().end;
    if (reserve_end_ == 0 || end > chunk_) { return; }
    for (uint64_t place = chunk_; place < reserve_end_; place += chunk_) {
        memory_.give_back(offset_of(own_, place), chunk_);
    }
    reserve_end_ = 0;
}

/// The lowest place with so much room, so that few pages are ever used; `next`, at first the lowest
/// that is held, becomes the one behind that place.
uint64_t ContributionRoom::find_room(uint64_t wanted, std::vector<Held>::iterator& next) {
    uint64_t begin = 0;
    for (;; ++next) {
        if (begin % chunk_ + wanted > chunk_) { begin = up(begin, chunk_); }
        if (next == held_.end() || begin + wanted <= next->begin) { return begin; }
        begin = std::max(begin, next->end);
    }
}

bool ContributionRoom::take_room(uint64_t begin, uint64_t wanted) {
    if (begin < chunk_) { return true; }
    if (begin + wanted > largest_space || !memory_.grow(bytes_up_to(begin)) ||
        !memory_.provide(offset_of(own_, begin), wanted)) {
        return false;
    }
    reserve_end_ = std::max(reserve_end_, begin + wanted);
    return true;
}

std::optional<uint32_t> ContributionRoom::take(int lane, uint64_t operation, uint64_t bytes) {
    if (take_slot(lane, operation)) { return slot; }
    drop_released();
    const uint64_t wanted = up(bytes, unit);
    auto next = held_.begin();
    const uint64_t begin = find_room(wanted, next);
    if (!take_room(begin, wanted)) { return std::nullopt; }
    held_.insert(next, {lane, operation, begin, begin + wanted});
    ++lanes_[static_cast<size_t>(lane)].held;
    return static_cast<uint32_t>(begin / unit + 1);
}

bool ContributionRoom::open(int lane, uint32_t position) {
    if (position == 0) { return true; }
    if (position == slot) { return memory_.grow(slots_up_to(shape_, lane), true); }
    return memory_.grow(bytes_up_to((position - 1) * unit));
}

} // namespace nodeaware
