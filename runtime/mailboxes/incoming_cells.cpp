#include "runtime/mailboxes/incoming_cells.hpp"

#include <bit>
#include <new>

namespace nodeaware {

namespace {

constexpr uint64_t one_generation = 4;
constexpr uint64_t waiting = 0;
constexpr uint64_t sorting = 1;

constexpr uint64_t aligned(uint64_t bytes) { return (bytes + 63) / 64 * 64; }
constexpr uint64_t generation_of(uint64_t word) { return word / one_generation + 1; }

} // namespace

IncomingCells::IncomingCells(int senders, int slots, int ranks, uint32_t cell_bytes)
    : slots_(static_cast<uint64_t>(slots)), ranks_(static_cast<uint64_t>(ranks)),
      cell_bytes_(cell_bytes), control_bytes_(aligned(sizeof(Control) + ranks_ * sizeof(Range))),
      list_at_(slots_ * cells * control_bytes_),
      owed_at_(list_at_ + aligned((slots_ + 1) * sizeof(int32_t))),
      untaken_at_(owed_at_ + aligned(static_cast<uint64_t>(senders) * sizeof(uint32_t))),
      data_at_(untaken_at_ + aligned(ranks_ * sizeof(uint32_t))) {}

uint64_t IncomingCells::memory_bytes() const { return data_at_ + slots_ * cells * cell_bytes_; }

template <class Value> Value& IncomingCells::value(uint64_t at) const {
    return *std::launder(reinterpret_cast<Value*>(memory_ + at));
}

uint64_t IncomingCells::index(const Place& place) const {
    return static_cast<uint64_t>(place.slot) * cells + place.cell;
}

std::span<std::byte> IncomingCells::memory(const Place& place) const {
    return {memory_ + data_at_ + index(place) * cell_bytes_, cell_bytes_};
}

IncomingCells::Control& IncomingCells::control(const Place& place) const {
    return value<Control>(index(place) * control_bytes_);
}

IncomingCells::Range& IncomingCells::range(const Place& place, int rank) const {
    return value<Range>(index(place) * control_bytes_ + sizeof(Control) +
                        static_cast<uint64_t>(rank) * sizeof(Range));
}

std::atomic<uint32_t>& IncomingCells::untaken(int rank) const {
    return value<std::atomic<uint32_t>>(untaken_at_ + static_cast<uint64_t>(rank) * 4);
}

/// Several ranks of the node may be keepers.
std::optional<int> IncomingCells::grant(int sender) {
    auto& count = value<std::atomic<int32_t>>(list_at_);
    for (int32_t slot = count.load(); slot < static_cast<int32_t>(slots_); ++slot) {
        auto& place = value<std::atomic<int32_t>>(list_at_ + static_cast<uint64_t>(slot + 1) * 4);
        int32_t nobody = 0; // as a place reads that is not filled yet
        if (place.compare_exchange_strong(nobody, sender + 1)) {
            count.fetch_add(1);
            return slot;
        }
    }
    return std::nullopt;
}

int IncomingCells::granted() const {
    return value<std::atomic<int32_t>>(list_at_).load(std::memory_order_acquire);
}

int IncomingCells::granted(int slot) const {
    return value<std::atomic<int32_t>>(list_at_ + static_cast<uint64_t>(slot + 1) * 4)
               .load(std::memory_order_acquire) -
           1;
}

bool IncomingCells::begin_sorting(const Place& place) noexcept {
    std::atomic<uint64_t>& word = control(place).word;
    uint64_t now = word.load(std::memory_order_acquire);
    if ((now & state_mask) != waiting) { return false; }
    if (!container::is_whole(memory(place), generation_of(now))) { return false; }
    return word.compare_exchange_strong(now, now + sorting);
}

void IncomingCells::sorted(const Place& place, double seconds) noexcept {
    const auto parts = container::parts_of(memory(place));
    control(place).landed_at.store(seconds, std::memory_order_relaxed);
    control(place).remaining.store(parts.size(), std::memory_order_relaxed);
    for (const container::Part& part : parts) {
        untaken(static_cast<int>(part.destination)).fetch_add(1, std::memory_order_relaxed);
        range(place, static_cast<int>(part.destination))
            .store(uint64_t{part.offset} << 32 | part.bytes, std::memory_order_release);
    }
    control(place).word.fetch_add(landed - sorting, std::memory_order_acq_rel);
}

std::span<const std::byte> IncomingCells::items(const Place& place, int rank) const {
    const uint64_t mine = range(place, rank).load(std::memory_order_acquire);
    return memory(place).subspan(mine >> 32, mine & 0xffffffffU);
}

std::span<const std::byte> IncomingCells::claim(const Place& place, int rank, uint64_t bytes) {
    Range& mine = range(place, rank);
    uint64_t seen = mine.load(std::memory_order_acquire);
    const bool is_same = (seen & 0xffffffffU) == bytes;
    if (!is_same || !mine.compare_exchange_strong(seen, 0, std::memory_order_acq_rel)) {
        return {};
    }
    return memory(place).subspan(seen >> 32, bytes);
}

void IncomingCells::taken(const Place& place, int rank) {
    took_moved(rank);
    moved(place);
}

void IncomingCells::moved(const Place& place) {
    control(place).remaining.fetch_sub(1, std::memory_order_acq_rel);
}

void IncomingCells::took_moved(int rank) { untaken(rank).fetch_sub(1, std::memory_order_relaxed); }

bool IncomingCells::has_items(int rank) const {
    return untaken(rank).load(std::memory_order_relaxed) != 0;
}

bool IncomingCells::is_empty(const Place& place) const {
    const Control& looked_at = control(place);
    return (looked_at.word.load(std::memory_order_acquire) & state_mask) == landed &&
           looked_at.remaining.load(std::memory_order_acquire) == 0;
}

void IncomingCells::next(const Place& place) {
    control(place).word.fetch_add(one_generation - landed, std::memory_order_acq_rel);
}

void IncomingCells::owe(int sender, uint32_t cell) {
    value<std::atomic<uint32_t>>(owed_at_ + static_cast<uint64_t>(sender) * 4).fetch_or(1U << cell);
}

uint32_t IncomingCells::owed(int sender) const {
    return value<std::atomic<uint32_t>>(owed_at_ + static_cast<uint64_t>(sender) * 4).load();
}

uint32_t IncomingCells::take_owed(int sender) {
    auto& owed = value<std::atomic<uint32_t>>(owed_at_ + static_cast<uint64_t>(sender) * 4);
    return owed.load() == 0 ? 0 : owed.exchange(0);
}

} // namespace nodeaware
