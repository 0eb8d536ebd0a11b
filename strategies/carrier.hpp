#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace nodeaware {

/// A carrier is the one message from a node to another in which it passes on what it has for
/// several nodes: a header, a table with an entry for each bundle (all that one node has for
/// another), and the bundles, in any order. How long it is only its sender knows, until it comes.
struct CarrierHeader {
    uint32_t call = 0; ///< number of the operation on its communicator
    uint32_t entries = 0;
    uint64_t bytes = 0; ///< of the carrier, with this header
};

struct CarrierEntry {
    uint32_t offset = 0; ///< of the bundle, from the header
    uint32_t bytes = 0;
    uint64_t fingerprint =
        0; ///< PairTraffic::fingerprint(); 0: the one node has nothing for the other
};

/// A bundle that goes on: its position in the table that it came with, and in that of the carrier
/// that it goes with.
struct PassedEntry {
    uint32_t from = 0;
    uint32_t to = 0;
};

/// Carriers in memory, on nodes between which they travel.
namespace carriers {

/// No traffic has it: of bundles that were lost on their way.
inline constexpr uint64_t lost = ~uint64_t{0};

constexpr uint64_t table_end(uint64_t entries) {
    return sizeof(CarrierHeader) + entries * sizeof(CarrierEntry);
}

inline CarrierHeader header_of(const std::byte* carrier) {
    CarrierHeader header;
    std::memcpy(&header, carrier, sizeof header);
    return header;
}
inline void set_header(std::byte* carrier, const CarrierHeader& header) {
    std::memcpy(carrier, &header, sizeof header);
}
inline CarrierEntry entry_of(const std::byte* carrier, uint32_t entry) {
    CarrierEntry result;
    std::memcpy(&result, carrier + table_end(entry), sizeof result);
    return result;
}
inline void set_entry(std::byte* carrier, uint32_t entry, const CarrierEntry& value) {
    std::memcpy(carrier + table_end(entry), &value, sizeof value);
}

/// A carrier that has `table` for now, and `bytes` in all.
inline void open(std::byte* carrier, std::span<const CarrierEntry> table, uint64_t bytes) {
    set_header(carrier, {0, static_cast<uint32_t>(table.size()), bytes});
    std::memcpy(carrier + sizeof(CarrierHeader), table.data(), table.size_bytes());
}

/// What others are to know where a carrier did not come as it should: it has nothing.
inline void spoil(std::byte* carrier, uint32_t entries) {
    set_header(carrier, {0, entries, table_end(entries)});
    for (uint32_t i = 0; i < entries; ++i) { set_entry(carrier, i, {0, 0, lost}); }
}

/// True if the table fits to a carrier with so many entries and at most `capacity` bytes.
inline bool is_sound(const std::byte* carrier, uint32_t entries, uint64_t capacity) {
    const CarrierHeader header = header_of(carrier);
    if (header.entries != entries || header.bytes > capacity || header.bytes < table_end(entries)) {
        return false;
    }
    for (uint32_t i = 0; i < entries; ++i) {
        const CarrierEntry entry = entry_of(carrier, i);
        if (uint64_t{entry.offset} + entry.bytes > header.bytes) { return false; }
    }
    return true;
}

/// Copies bundles of the carrier `from` behind what `to` has, which has room for `capacity` bytes.
inline void pass_on(const std::byte* from, std::byte* to, std::span<const PassedEntry> passed,
                    uint64_t capacity) {
    CarrierHeader header = header_of(to);
    for (const PassedEntry& bundle : passed) {
        CarrierEntry entry = entry_of(from, bundle.from);
        if (entry.bytes > capacity - header.bytes) { entry = {0, 0, lost}; }
        if (entry.bytes > 0) { std::memcpy(to + header.bytes, from + entry.offset, entry.bytes); }
        entry.offset = static_cast<uint32_t>(header.bytes);
        set_entry(to, bundle.to, entry);
        header.bytes += entry.bytes;
    }
    set_header(to, header);
}

/// Part of a carrier that travels as one message.
struct Part {
    uint64_t begin = 0;
    uint64_t end = 0;
    bool is_empty() const { return begin == end; }
    uint64_t bytes() const { return end - begin; }
};

/// Into how many messages a carrier is cut. What is larger than `bytes` costs MPI as much as `most`
/// messages, so up to `most` times `bytes` it goes in parts, and above in one.
struct Cut {
    uint64_t bytes = ~uint64_t{0};
    uint32_t most = 1;

    /// The first part has the table of a carrier.
    Cut with_table_of(size_t bundles) const { return {std::max(bytes, table_end(bundles)), most}; }

    /// Those that carriers of at most `capacity` bytes may need.
    uint32_t parts(uint64_t capacity) const {
        if (capacity == 0) { return 1; }
        return static_cast<uint32_t>(std::min<uint64_t>(most, (capacity - 1) / bytes + 1));
    }
    /// The i-th of a carrier of `length` bytes; the first has its table.
    Part part(uint64_t length, uint32_t i) const {
        const bool is_one = length == 0 || (length - 1) / bytes >= most;
        if (is_one) { return i == 0 ? Part{0, length} : Part{length, length}; }
        const uint64_t begin = i == 0 ? 0 : std::min(length, i * std::min(bytes, length));
        return {begin, std::min(bytes, length - begin) + begin};
    }
};

} // namespace carriers

} // namespace nodeaware
