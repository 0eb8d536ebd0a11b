#include "runtime/device/pinned_memory.hpp"

#include <algorithm>
#include <new>

namespace nodeaware::device {

bool PinnedMemory::holds(const Span& span) const {
    return span.begin >= mapping_.begin && span.begin - mapping_.begin < mapping_.bytes;
}

std::byte* PinnedMemory::begin_of(size_t part) const {
    return reinterpret_cast<std::byte*>(mapping_.begin) + part * part_bytes;
}

uint64_t PinnedMemory::bytes_of(size_t part) const {
    return std::min(part_bytes, mapping_.bytes - part * part_bytes);
}

/// It need not be pinned, or will not be.
bool PinnedMemory::is_as_it_was(size_t part, const Place& place) const {
    switch (parts_[part].state) {
    case State::unused: return false;
    case State::refused: return true;
    default: return is_pinned(place, {reinterpret_cast<uintptr_t>(begin_of(part)), bytes_of(part)});
    }
}

void PinnedMemory::pin(Copies& copies, const Place& place, const Span& span) noexcept {
    if (!holds(span) || span.bytes == 0) { return; }
    if (parts_.empty()) {
        try {
            parts_.resize((mapping_.bytes + part_bytes - 1) / part_bytes);
        } catch (const std::bad_alloc&) { return; }
    }
    const uint64_t offset = span.begin - mapping_.begin;
    const size_t last = (offset + span.bytes - 1) / part_bytes;
    for (size_t i = offset / part_bytes; i <= last && i < parts_.size(); ++i) {
        if (is_as_it_was(i, place)) { continue; }
        Part& part = parts_[i];
        part.state = copies.pin(begin_of(i), bytes_of(i)) ? State::pinned : State::refused;
        if (part.state == State::pinned) { part = {State::pinned, true, place}; }
    }
}

uint64_t PinnedMemory::in_one_copy(const Span& span) const {
    if (!holds(span)) { return span.bytes; }
    return std::min(span.bytes, part_bytes - (span.begin - mapping_.begin) % part_bytes);
}

bool PinnedMemory::unpin() {
    bool are_all = true;
    for (size_t i = 0; i < parts_.size(); ++i) {
        if (!parts_[i].was_pinned) { continue; }
        are_all = device::unpin(parts_[i].place, begin_of(i)) && are_all;
    }
    parts_.clear();
    return are_all;
}

} // namespace nodeaware::device
