#include "strategies/sparse_block.hpp"

#include "strategies/short_numbers.hpp"

#include <cstring>

namespace nodeaware::sparse {

namespace {

constexpr uint64_t not_whole = 1;
constexpr uint64_t more = 2;
constexpr unsigned flags = 2; ///< bits

} // namespace

std::vector<std::byte> list_of(std::span<const Entry> entries) {
    std::vector<std::byte> list;
    for (const Entry& entry : entries) {
        short_numbers::append(list, static_cast<uint64_t>(entry.local));
        short_numbers::append(list, entry.bytes);
    }
    return list;
}

std::optional<std::vector<Entry>> read_list(std::span<const std::byte> list, int ranks) {
    std::vector<Entry> entries;
    while (!list.empty()) {
        const auto local = short_numbers::take(list);
        const auto bytes = short_numbers::take(list);
        if (!local || !bytes || *local >= static_cast<uint64_t>(ranks)) { return std::nullopt; }
        entries.push_back({static_cast<int>(*local), *bytes});
    }
    return entries;
}

void write_header(std::byte* block, const Header& header) {
    const uint64_t word = header.list_bytes << flags | (header.is_whole ? 0 : not_whole) |
                          (header.has_more ? more : 0);
    std::memcpy(block, &word, sizeof word);
}

Header read_header(const std::byte* block) {
    uint64_t word = 0;
    std::memcpy(&word, block, sizeof word);
    return {word >> flags, (word & not_whole) == 0, (word & more) != 0};
}

std::optional<Block> read_block(std::span<const std::byte> block, int ranks) {
    Block read;
    read.header = read_header(block.data());
    const uint64_t list_bytes = read.header.list_bytes;
    read.is_listed = has_room(list_bytes, block.size());
    if (!read.is_listed) {
        return read.header.is_whole ? std::nullopt : std::optional(std::move(read));
    }
    auto entries = read_list(block.subspan(header_bytes, list_bytes), ranks);
    if (!entries) { return std::nullopt; }
    read.entries = std::move(*entries);
    read.payload = header_bytes + list_bytes;
    uint64_t room = block.size() - read.payload;
    for (const Entry& entry : read.entries) {
        if (!read.header.is_whole) { break; }
        if (entry.bytes > room) { return std::nullopt; }
        room -= entry.bytes;
    }
    return read;
}

} // namespace nodeaware::sparse
