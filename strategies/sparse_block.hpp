#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// What a rank tells all ranks of a node in a sparse exchange, where nobody knows what it will
/// receive: blocks of one size from every rank to every node. A block has a header, the list of the
/// rank's messages for the node if it has room, and what these carry if that has room, too.
namespace nodeaware::sparse {

/// A message of the rank to one of the node.
struct Entry {
    int local = 0; ///< local number of the destination
    uint64_t bytes = 0;
    bool operator==(const Entry&) const = default;
};

/// The beginning of a block. One of zeros is that of a rank without messages.
struct Header {
    uint64_t list_bytes = 0;
    bool is_whole = true;  ///< the block holds the messages themselves
    bool has_more = false; ///< some block of this rank, for whatever node, is not whole
    bool operator==(const Header&) const = default;
};
inline constexpr uint64_t header_bytes = sizeof(uint64_t);

/// The list as it is sent: numbers of as few bytes as they need.
std::vector<std::byte> list_of(std::span<const Entry> entries);
/// What it says; nothing if it is none, or names ranks that a node of `ranks` has not.
std::optional<std::vector<Entry>> read_list(std::span<const std::byte> list, int ranks);

/// A list of so many bytes has room in a block.
inline bool has_room(uint64_t list_bytes, uint64_t block_bytes) {
    return list_bytes <= block_bytes - header_bytes;
}
/// And so has what the messages carry.
inline bool is_whole(uint64_t list_bytes, uint64_t payload_bytes, uint64_t block_bytes) {
    return has_room(list_bytes, block_bytes) &&
           payload_bytes <= block_bytes - header_bytes - list_bytes;
}

void write_header(std::byte* block, const Header& header);
Header read_header(const std::byte* block);

/// The messages in a block, as far as it lists them.
struct Block {
    Header header;
    bool is_listed = false;
    std::vector<Entry> entries;
    uint64_t payload = 0; ///< of a whole block: where the first message begins
};
/// Nothing if what the block says cannot be.
std::optional<Block> read_block(std::span<const std::byte> block, int ranks);

} // namespace nodeaware::sparse
