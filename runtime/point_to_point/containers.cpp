#include "runtime/point_to_point/containers.hpp"

#include <new>
#include <sched.h>

namespace nodeaware {

namespace {

// The word of a cell: repetition, closed, reserved, committed.
constexpr uint64_t committed_one = 1;
constexpr uint64_t reserved_one = uint64_t{1} << 15;
constexpr uint64_t closed_flag = uint64_t{1} << 30;
constexpr uint64_t count_mask = (uint64_t{1} << 15) - 1;
static_assert(Containers::most_members == count_mask);

constexpr uint32_t repetition_of(uint64_t word) { return static_cast<uint32_t>(word >> 31); }
constexpr uint64_t reserved_of(uint64_t word) { return (word / reserved_one) & count_mask; }
constexpr uint64_t committed_of(uint64_t word) { return word & count_mask; }
constexpr bool closed(uint64_t word) { return (word & closed_flag) != 0; }

constexpr uint64_t line = 64;
constexpr uint64_t aligned(uint64_t bytes) { return (bytes + line - 1) / line * line; }

} // namespace

Containers::Containers(const std::vector<batches::Container>& containers, int own) {
    for (const batches::Container& given : containers) {
        const auto number = static_cast<uint32_t>(layout_.size());
        Container container{given.destination, memory_bytes_, aligned(sizeof(Cell)), {}};
        for (const auto& [local, stream] : given.members) {
            const auto slot = static_cast<uint32_t>(container.slots.size());
            container.slots.push_back({container.cell_bytes, stream.bytes});
            container.cell_bytes += aligned(sizeof(SlotHead) + wire::size_of(stream.bytes));
            if (local != own) { continue; }
            Own& mine = own_[stream];
            mine.container = number;
            mine.slots.push_back(slot);
        }
        memory_bytes_ += container.cell_bytes * cells;
        layout_.push_back(std::move(container));
    }
}

void Containers::attach(std::byte* memory) {
    memory_ = memory;
    misses_.assign(layout_.size(), 0);
}

void Containers::note_in_time(const Reservation& place) {
    uint32_t& misses = misses_[place.container];
    if (misses > 0 && misses < most_misses) { --misses; }
}

std::byte* Containers::cell_memory(const Reservation& place) const {
    const Container& container = layout_[place.container];
    return memory_ + container.offset + place.repetition % cells * container.cell_bytes;
}

Containers::Cell& Containers::cell(const Reservation& place) const {
    return *std::launder(reinterpret_cast<Cell*>(cell_memory(place)));
}

Containers::SlotHead& Containers::head(const Reservation& place, uint32_t slot) const {
    return *std::launder(reinterpret_cast<SlotHead*>(cell_memory(place) +
                                                     layout_[place.container].slots[slot].offset));
}

std::optional<Containers::Reservation> Containers::next_reservation(const Stream& stream) {
    const auto found = own_.find(stream);
    if (found == own_.end()) { return std::nullopt; }
    Own& own = found->second;
    const uint64_t use = own.uses++;
    if (misses_[own.container] >= most_misses) { return std::nullopt; }
    return Reservation{own.container, own.slots[use % own.slots.size()],
                       static_cast<uint32_t>(use / own.slots.size())};
}

/// The word counts repetitions of its cell; all zero is the beginning.
bool Containers::reserve_word(const Reservation& place) {
    std::atomic<uint64_t>& word = cell(place).word;
    uint64_t now = word.load(std::memory_order_acquire);
    while (true) {
        if (repetition_of(now) != place.repetition / cells || closed(now)) { return false; }
        if (word.compare_exchange_weak(now, now + reserved_one, std::memory_order_acq_rel)) {
            return true;
        }
    }
}

std::byte* Containers::reserve(const Reservation& place, double seconds) {
    if (!reserve_word(place)) { return nullptr; }
    double unknown = 0;
    cell(place).since.compare_exchange_strong(unknown, seconds, std::memory_order_relaxed);
    SlotHead& slot = head(place, place.slot);
    slot.filled.store(place.repetition + 1, std::memory_order_relaxed);
    return reinterpret_cast<std::byte*>(&slot) + sizeof(SlotHead);
}

void Containers::withdraw(const Reservation& place) {
    head(place, place.slot).filled.store(0, std::memory_order_relaxed);
}

bool Containers::commit(const Reservation& place) {
    std::atomic<uint64_t>& word = cell(place).word;
    uint64_t now = word.fetch_add(committed_one, std::memory_order_acq_rel) + committed_one;
    if (committed_of(now) != layout_[place.container].slots.size()) { return false; }
    // Another rank may close the cell meanwhile, and it may serve its next repetition already.
    while (!closed(now) && repetition_of(now) == place.repetition / cells) {
        if (word.compare_exchange_weak(now, now | closed_flag, std::memory_order_acq_rel)) {
            return true;
        }
    }
    return false;
}

bool Containers::close(const Reservation& place) {
    std::atomic<uint64_t>& word = cell(place).word;
    uint64_t now = word.load(std::memory_order_acquire);
    while (true) {
        if (repetition_of(now) != place.repetition / cells || closed(now)) { return false; }
        if (word.compare_exchange_weak(now, now | closed_flag, std::memory_order_acq_rel)) {
            break;
        }
    }
    // Others may be writing; they need nothing but the processor to finish.
    while (reserved_of(now) != committed_of(now)) {
        sched_yield();
        now = word.load(std::memory_order_acquire);
    }
    return true;
}

bool Containers::is_closed(const Reservation& place) const {
    const uint64_t now = cell(place).word.load(std::memory_order_acquire);
    return repetition_of(now) != place.repetition / cells || closed(now);
}

std::vector<Containers::Reservation> Containers::overdue(double seconds) const {
    std::vector<Reservation> places;
    for (uint32_t number = 0; number < layout_.size(); ++number) {
        for (uint32_t i = 0; i < cells; ++i) {
            const Cell& looked_at = cell({number, 0, i});
            const uint64_t now = looked_at.word.load(std::memory_order_acquire);
            const double since = looked_at.since.load(std::memory_order_relaxed);
            if (reserved_of(now) == 0 || closed(now) || since == 0 || since > seconds) { continue; }
            places.push_back({number, 0, repetition_of(now) * cells + i});
        }
    }
    return places;
}

std::vector<std::byte> Containers::take(const Reservation& place) {
    const Container& container = layout_[place.container];
    std::vector<std::byte> entries;
    for (uint32_t slot = 0; slot < container.slots.size(); ++slot) {
        SlotHead& slot_head = head(place, slot);
        if (slot_head.filled.load(std::memory_order_relaxed) != place.repetition + 1) { continue; }
        const auto* from = reinterpret_cast<const std::byte*>(&slot_head) + sizeof(SlotHead);
        entries.insert(entries.end(), from, from + wire::size_of(container.slots[slot].bytes));
    }
    cell(place).since.store(0, std::memory_order_relaxed);
    cell(place).word.store(uint64_t{place.repetition / cells + 1} << 31, std::memory_order_release);
    return entries;
}

} // namespace nodeaware
