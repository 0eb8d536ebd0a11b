#include "runtime/mailboxes/outgoing_cells.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <sched.h>

namespace nodeaware {

namespace {

constexpr uint32_t most_in_vain = 12;

// The word of a cell: generation (24 bits), state, ranks that are writing (12), bytes used (24).
constexpr uint64_t used_mask = (uint64_t{1} << 24) - 1;
constexpr uint64_t one_writer = uint64_t{1} << 24;
constexpr uint64_t writers_mask = ((uint64_t{1} << 12) - 1) << 24;
constexpr int state_shift = 36;
constexpr uint64_t state_mask = uint64_t{7} << state_shift;
constexpr int generation_shift = 40;
constexpr uint32_t generation_mask = (uint32_t{1} << 24) - 1;

constexpr uint64_t open = uint64_t{0} << state_shift;
constexpr uint64_t closed = uint64_t{1} << state_shift; ///< whoever closed it looks at it
constexpr uint64_t kept = uint64_t{2} << state_shift;
constexpr uint64_t kept_sending = uint64_t{3} << state_shift;     ///< once more
constexpr uint64_t returned_sending = uint64_t{4} << state_shift; ///< and meanwhile not needed
constexpr uint64_t kept_twice = uint64_t{5} << state_shift;       ///< was sent once more
constexpr uint64_t unsent = uint64_t{7} << state_shift;           ///< closed, and could not be sent
constexpr uint64_t unused = uint64_t{6} << state_shift; ///< since that generation, for a later one

constexpr uint32_t generation_of(uint64_t word) {
    return static_cast<uint32_t>(word >> generation_shift);
}
constexpr uint64_t state_of(uint64_t word) { return word & state_mask; }
constexpr bool is_of(uint64_t word, uint32_t generation) {
    return generation_of(word) == (generation & generation_mask);
}
/// The cell serves an earlier generation, or has done so last.
constexpr bool is_before(uint64_t word, uint32_t generation) {
    const uint32_t ahead = (generation - generation_of(word)) & generation_mask;
    return ahead != 0 && ahead < generation_mask / 2;
}
constexpr uint64_t first_word(uint32_t generation) {
    return uint64_t{generation & generation_mask} << generation_shift;
}
constexpr bool is_unused_before(uint64_t word, uint32_t generation) {
    return state_of(word) == unused && is_before(word, generation);
}

/// An open cell with messages.
constexpr bool is_collected(uint64_t word) {
    return state_of(word) == open && (word & used_mask) > 0;
}

void keep_least(std::atomic<double>& kept, double seconds) {
    double known = kept.load(std::memory_order_relaxed);
    while ((known == 0 || seconds < known) &&
           !kept.compare_exchange_weak(known, seconds, std::memory_order_relaxed)) {}
}

} // namespace

uint64_t OutgoingCells::node_bytes() const {
    return sizeof(Ring) + cells * (sizeof(Cell) + capacity_);
}

uint64_t OutgoingCells::memory_bytes() const {
    return static_cast<uint64_t>(nodes_) * node_bytes();
}

OutgoingCells::Ring& OutgoingCells::ring(int node) const {
    return *std::launder(
        reinterpret_cast<Ring*>(memory_ + static_cast<uint64_t>(node) * node_bytes()));
}

OutgoingCells::Cell& OutgoingCells::cell(int node, uint32_t generation) const {
    std::byte* const first = reinterpret_cast<std::byte*>(&ring(node)) + sizeof(Ring);
    return *std::launder(reinterpret_cast<Cell*>(first + cell_of(generation) * sizeof(Cell)));
}

std::byte* OutgoingCells::data(int node, uint32_t generation) const {
    return reinterpret_cast<std::byte*>(&ring(node)) + sizeof(Ring) + cells * sizeof(Cell) +
           cell_of(generation) * capacity_;
}

void OutgoingCells::initialize() {
    for (int node = 0; node < nodes_; ++node) {
        for (uint32_t i = 0; i < cells; ++i) {
            cell(node, i).word.store(first_word(i - cells) | unused, std::memory_order_relaxed);
        }
    }
}

std::optional<OutgoingCells::Place> OutgoingCells::reserve(int node, uint32_t bytes,
                                                           const Times& times,
                                                           std::optional<uint32_t>* full) {
    full->reset();
    uint32_t generation = ring(node).current.load(std::memory_order_acquire);
    while (true) {
        Cell& place = cell(node, generation);
        uint64_t word = place.word.load(std::memory_order_acquire);
        const bool is_first = is_unused_before(word, generation);
        if (!is_first && !(is_of(word, generation) && state_of(word) == open)) { // served already
            if (!go_on(node, generation)) { return std::nullopt; }
            continue;
        }
        const uint64_t before = is_first ? first_word(generation) : word;
        const uint64_t used = before & used_mask;
        if (used + bytes > capacity_) {
            if (used > 0) { *full = generation; }
            return std::nullopt;
        }
        if (!place.word.compare_exchange_weak(word, before + bytes + one_writer)) { continue; }
        keep_least(place.begun, times.now);
        keep_least(place.leaves_at, times.leaves_at);
        return Place{node, generation, static_cast<uint32_t>(used)};
    }
}

/// From a generation that was served to the next whose cell is unused. That stays so until it is
/// the current one, for no cell begins to be used before. False if there is none.
bool OutgoingCells::go_on(int node, uint32_t& generation) {
    std::atomic<uint32_t>& current = ring(node).current;
    for (uint32_t ahead = 1; ahead <= cells; ++ahead) {
        const uint32_t next = generation + ahead;
        if (!is_unused_before(cell(node, next).word.load(std::memory_order_acquire), next)) {
            continue;
        }
        if (current.compare_exchange_strong(generation, next)) { generation = next; }
        return true; // or others have gone on
    }
    const uint32_t before = generation;
    generation = current.load(std::memory_order_acquire);
    return generation != before;
}

std::byte* OutgoingCells::at(const Place& place) const {
    return data(place.node, place.generation) + place.offset;
}

void OutgoingCells::commit(const Place& place, uint64_t signature) {
    Cell& written = cell(place.node, place.generation);
    written.signature.fetch_add(signature, std::memory_order_relaxed);
    written.word.fetch_sub(one_writer, std::memory_order_acq_rel);
}

std::optional<uint32_t> OutgoingCells::collecting(int node) const {
    const uint32_t generation = ring(node).current.load(std::memory_order_acquire);
    const uint64_t word = cell(node, generation).word.load(std::memory_order_acquire);
    if (is_of(word, generation) && is_collected(word)) { return generation; }
    return std::nullopt;
}

bool OutgoingCells::has_to_leave(int node, uint32_t generation) const {
    const uint64_t word = cell(node, generation).word.load(std::memory_order_acquire);
    return is_of(word, generation) && (is_collected(word) || state_of(word) == unsent);
}

std::optional<uint32_t> OutgoingCells::not_sent(int node) const {
    if (ring(node).unsent.load(std::memory_order_acquire) == 0) { return std::nullopt; }
    for (uint32_t i = 0; i < cells; ++i) {
        const uint64_t word = cell(node, i).word.load(std::memory_order_acquire);
        if (state_of(word) == unsent) { return generation_of(word); }
    }
    return std::nullopt;
}

OutgoingCells::Times OutgoingCells::times(int node, uint32_t generation) const {
    const Cell& place = cell(node, generation);
    return {place.begun.load(std::memory_order_relaxed),
            place.leaves_at.load(std::memory_order_relaxed)};
}

bool OutgoingCells::is_known(int node, uint32_t generation) const {
    return ring(node).known.knows(cell(node, generation).signature.load(std::memory_order_acquire));
}

void OutgoingCells::learn(int node, uint32_t generation, bool in_vain) {
    Ring& here = ring(node);
    const uint64_t signature = cell(node, generation).signature.load(std::memory_order_acquire);
    if (!in_vain) { return here.known.complete(signature); }
    here.known.in_vain(signature);
    const uint32_t times = std::min(here.held_in_vain.load() + 1, most_in_vain);
    here.held_in_vain.store(times);
    here.hold_from.store(here.closings.load() + (uint32_t{1} << times));
}

bool OutgoingCells::hold(int node, uint32_t generation) {
    Cell& place = cell(node, generation);
    Ring& here = ring(node);
    const uint64_t signature = place.signature.load(std::memory_order_acquire);
    if (here.known.knows(signature)) { return false; }
    const bool is_held = place.held.load(std::memory_order_relaxed) != 0;
    const auto ahead = static_cast<int32_t>(here.hold_from.load() - here.closings.load());
    if (!is_held && ahead > 0) { return false; }
    if (!is_held) { place.held.store(signature, std::memory_order_relaxed); }
    return true;
}

std::optional<uint32_t> OutgoingCells::left_since(int node, double seconds) const {
    const Ring& here = ring(node);
    const bool is_missed = here.left_signature.load(std::memory_order_relaxed) == 0;
    if (is_missed || here.left_at.load(std::memory_order_relaxed) < seconds) {
        return std::nullopt;
    }
    return here.left_generation.load(std::memory_order_relaxed);
}

bool OutgoingCells::is_under_way(const Cell& place) {
    const uint64_t state = state_of(place.word.load(std::memory_order_acquire));
    return state != open && state != unused && state != unsent;
}

bool OutgoingCells::is_last(int node, uint32_t generation, double seconds) const {
    for (uint32_t ahead = 1; ahead < cells; ++ahead) {
        const Cell& other = cell(node, generation + ahead);
        if (!is_under_way(other)) { return false; }
        if (other.kept.load(std::memory_order_relaxed) < seconds) { return false; }
    }
    return true;
}

bool OutgoingCells::is_full_since(int node, double seconds) const {
    bool is_recent = false;
    for (uint32_t i = 0; i < cells; ++i) {
        const Cell& place = cell(node, i);
        if (!is_under_way(place)) { return false; }
        is_recent |= place.kept.load(std::memory_order_relaxed) >= seconds;
    }
    return is_recent;
}

void OutgoingCells::missed(int node) {
    Ring& here = ring(node);
    const uint64_t signature = here.left_signature.exchange(0);
    if (signature != 0) { here.known.missed(signature); }
}

/// From one state to another; writers are left alone.
bool OutgoingCells::change(Cell& place, uint32_t generation, uint64_t from, uint64_t to) {
    uint64_t word = place.word.load(std::memory_order_acquire);
    while (is_of(word, generation) && state_of(word) == from) {
        if (place.word.compare_exchange_weak(word, (word & ~state_mask) | to)) { return true; }
    }
    return false;
}

bool OutgoingCells::close(int node, uint32_t generation, double seconds) {
    if (!has_to_leave(node, generation)) { return false; }
    Cell& place = cell(node, generation);
    if (change(place, generation, unsent, closed)) {
        ring(node).unsent.fetch_sub(1);
        return true;
    }
    if (!change(place, generation, open, closed)) { return false; }
    // Others may be writing; they need nothing but the processor to finish.
    while ((place.word.load(std::memory_order_acquire) & writers_mask) != 0) { sched_yield(); }
    Ring& here = ring(node);
    here.closings.fetch_add(1);
    const uint64_t held = place.held.load(std::memory_order_relaxed);
    const uint64_t signature = place.signature.load(std::memory_order_relaxed);
    if (held != 0 && held != signature) { // it has grown
        here.held_in_vain.store(here.held_in_vain.load() / 2);
        here.known.grown(held);
    }
    here.left_at.store(seconds, std::memory_order_relaxed);
    here.left_generation.store(generation, std::memory_order_relaxed);
    here.left_signature.store(signature, std::memory_order_relaxed);
    return true;
}

void OutgoingCells::put_back(int node, uint32_t generation) {
    Cell& place = cell(node, generation);
    std::atomic<uint32_t>& count = ring(node).unsent;
    count.fetch_add(1); // before anybody closes it again
    while (!change(place, generation, closed, unsent) && !change(place, generation, kept, unsent)) {
        if (change(place, generation, kept_twice, closed)) { // others have sent it another way
            count.fetch_sub(1);
            return release(node, generation);
        }
        sched_yield(); // they are about to, which needs nothing but the processor
    }
}

std::span<const std::byte> OutgoingCells::content(int node, uint32_t generation) const {
    const uint64_t word = cell(node, generation).word.load(std::memory_order_acquire);
    return {data(node, generation), word & used_mask};
}

void OutgoingCells::keep(int node, uint32_t generation, double seconds, uint32_t messages) {
    Cell& place = cell(node, generation);
    place.messages.store(messages, std::memory_order_relaxed);
    place.kept.store(seconds, std::memory_order_relaxed);
    change(place, generation, closed, kept);
}

void OutgoingCells::empty(Cell& place, uint64_t word) {
    place.begun.store(0, std::memory_order_relaxed);
    place.leaves_at.store(0, std::memory_order_relaxed);
    place.signature.store(0, std::memory_order_relaxed);
    place.held.store(0, std::memory_order_relaxed);
    place.others.store(0, std::memory_order_relaxed);
    place.word.store(first_word(generation_of(word)) | unused, std::memory_order_release);
}

void OutgoingCells::release(int node, uint32_t generation) {
    Cell& place = cell(node, generation);
    empty(place, place.word.load(std::memory_order_acquire));
}

void OutgoingCells::returned(int node, uint32_t number) {
    Cell& place = cell(node, number);
    uint64_t word = place.word.load(std::memory_order_acquire);
    if (place.messages.fetch_sub(1) > 1) { return; }
    while (true) {
        const bool is_read = state_of(word) == kept_sending;
        const uint64_t after = (word & ~state_mask) | (is_read ? returned_sending : closed);
        if (!place.word.compare_exchange_weak(word, after)) { continue; }
        if (!is_read) { empty(place, word); }
        return;
    }
}

std::optional<uint32_t> OutgoingCells::kept_since(int node, double seconds) const {
    for (uint32_t i = 0; i < cells; ++i) {
        const Cell& place = cell(node, i);
        const uint64_t word = place.word.load(std::memory_order_acquire);
        const double since = place.kept.load(std::memory_order_relaxed);
        if (state_of(word) == kept && since < seconds) { return generation_of(word); }
    }
    return std::nullopt;
}

bool OutgoingCells::send_again(int node, uint32_t generation) {
    return change(cell(node, generation), generation, kept, kept_sending);
}

void OutgoingCells::sent_again(int node, uint32_t generation, bool is_sent) {
    Cell& place = cell(node, generation);
    if (change(place, generation, kept_sending, is_sent ? kept_twice : kept)) { return; }
    empty(place, place.word.load(std::memory_order_acquire)); // returned meanwhile
}

} // namespace nodeaware
