#include "runtime/device/list_writer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace nodeaware::device {

bool ListWriter::add(uint64_t to, uint64_t from, uint64_t bytes) {
    if (bytes == 0) { return true; }
    if (bytes > most_bytes || runs_.size() == most_runs) { return false; }
    constexpr uint64_t half_of_reach = uint64_t{1} << 31U;
    if (runs_.empty()) {
        to_ = to - half_of_reach;
        from_ = from - half_of_reach;
    }
    const uint64_t to_offset = to - to_;
    const uint64_t from_offset = from - from_;
    // With all of its bytes, for long runs are cut.
    const uint64_t reach = 2 * half_of_reach - bytes;
    if (to_offset > reach || from_offset > reach) { return false; }
    runs_.push_back({static_cast<uint32_t>(to_offset), static_cast<uint32_t>(from_offset),
                     static_cast<uint32_t>(bytes)});
    bytes_ += bytes;
    return true;
}

/// So that a thread moves the widest word up to four times, which it does at once, and those that
/// are side by side a whole line.
size_t ListWriter::class_of(uint32_t bytes) {
    constexpr uint32_t word = 16;
    constexpr uint32_t line = 8;
    constexpr uint32_t at_once = 4;
    const uint32_t words = (bytes + word - 1) / word;
    const uint32_t lanes = words <= line ? words : std::max(line, (words + at_once - 1) / at_once);
    return static_cast<size_t>(std::bit_width(std::bit_ceil(std::clamp(lanes, 1U, list_block))) -
                               1);
}

void ListWriter::sort_into_classes() {
    const auto for_each_entry = [this](auto take) {
        for (ListEntry rest : runs_) {
            while (rest.bytes > 0) {
                const uint32_t bytes = std::min(rest.bytes, part_bytes);
                take(ListEntry{rest.to, rest.from, bytes});
                rest = {rest.to + bytes, rest.from + bytes, rest.bytes - bytes};
            }
        }
    };
    first_of_class_.fill(0);
    for_each_entry(
        [this](const ListEntry& entry) { ++first_of_class_[class_of(entry.bytes) + 1]; });
    for (size_t i = 0; i < classes; ++i) { first_of_class_[i + 1] += first_of_class_[i]; }
    entries_.resize(first_of_class_.back());
    auto next = first_of_class_;
    for_each_entry(
        [&](const ListEntry& entry) { entries_[next[class_of(entry.bytes)]++] = entry; });
}

uint64_t ListWriter::prepare() {
    sort_into_classes();
    parts_.clear();
    for (size_t i = 0; i < classes; ++i) {
        const auto lanes = static_cast<uint16_t>(1U << i);
        uint32_t bytes = part_bytes; // of the last part, which is full
        for (size_t k = first_of_class_[i]; k < first_of_class_[i + 1]; ++k) {
            if (bytes >= part_bytes || parts_.back().entries == part_entries) {
                parts_.push_back({static_cast<uint32_t>(k), 0, lanes});
                bytes = 0;
            }
            ++parts_.back().entries;
            bytes += entries_[k].bytes;
        }
    }
    return parts_.size() * sizeof(ListPart) + entries_.size() * sizeof(ListEntry);
}

CopyList ListWriter::write(std::byte* memory, uint64_t address) const {
    if (!parts_.empty()) {
        const size_t bytes_of_parts = parts_.size() * sizeof(ListPart);
        std::memcpy(memory, parts_.data(), bytes_of_parts);
        std::memcpy(memory + bytes_of_parts, entries_.data(), entries_.size() * sizeof(ListEntry));
    }
    return written(address, parts_.size());
}

void ListWriter::clear() {
    runs_.clear();
    bytes_ = 0;
}

} // namespace nodeaware::device
