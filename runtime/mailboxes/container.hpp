#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// What travels between two nodes as one message: what ranks of the one have put together for ranks
/// of the other. It tells all that its readers need, and whether all of it is there.
namespace nodeaware::container {

/// In front of each message that is put in: whose it is. Messages are padded to 8 bytes.
struct Item {
    uint64_t name = 0;        ///< of the addressee; 0: to be skipped
    uint32_t destination = 0; ///< as numbered on its node
    uint32_t bytes = 0;       ///< of the message; all_that_follows: it is the last
};
inline constexpr uint32_t all_that_follows = ~uint32_t{0};

/// In front of all. Behind it come credits, then parts, then the items of the first part, ...
struct Head {
    uint64_t hash = 0;       ///< of all that follows it
    uint64_t generation = 0; ///< of the cell that it is sent to
    uint32_t bytes = 0;      ///< with this
    uint32_t credits = 0;
    uint32_t parts = 0;
    uint32_t unused = 0;
};

/// The items for one rank.
struct Part {
    uint32_t destination = 0;
    uint32_t offset = 0; ///< of the first, from the head
    uint32_t bytes = 0;
    uint32_t unused = 0;
};

/// Cells of a rank's that the readers' node has ready again.
struct Credit {
    uint32_t rank = 0;  ///< as numbered on the node that the container goes to
    uint32_t cells = 0; ///< a bit for each
};

constexpr uint64_t padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }
constexpr uint64_t size_of_item(uint64_t bytes) { return sizeof(Item) + padded(bytes); }
/// What a container has beside its items at most.
constexpr uint64_t overhead(uint64_t ranks_there) {
    return sizeof(Head) + ranks_there * (sizeof(Part) + sizeof(Credit));
}

/// Calls `take(item, its message)` with each item; false if they are not well formed. The last of
/// what is `framed`, and of no others, may be as long as there is.
template <class Take>
bool for_each_item(std::span<const std::byte> items, Take take, bool framed = false);

/// The items of one destination after the other, in the order in which they are given.
struct Sorted {
    std::vector<Part> parts; ///< offsets from the first item
    std::vector<std::byte> items;
};
Sorted sort(std::span<const std::byte> items);

/// Some parts of what was sorted, of `all_items`.
std::vector<std::byte> assemble(std::span<const Part> parts, std::span<const std::byte> all_items,
                                const std::vector<Credit>& credits, uint64_t generation);
inline std::vector<std::byte> assemble(const Sorted& sorted, const std::vector<Credit>& credits,
                                       uint64_t generation) {
    return assemble(sorted.parts, sorted.items, credits, generation);
}
/// The parts in lists whose containers have no more than so many bytes, unless a part has.
std::vector<std::span<const Part>> cut(std::span<const Part> parts, uint64_t bytes);

/// True if all of a container of that generation lies in `cell`, which others may be writing to.
bool is_whole(std::span<const std::byte> cell, uint64_t generation);
/// Of one that is whole, as they lie there. A cell begins at a multiple of 8 bytes.
std::span<const Part> parts_of(std::span<const std::byte> cell) noexcept;
std::span<const Credit> credits_of(std::span<const std::byte> cell) noexcept;

} // namespace nodeaware::container

#include <cstring>

template <class Take>
bool nodeaware::container::for_each_item(std::span<const std::byte> items, Take take, bool framed) {
    for (uint64_t at = 0; at < items.size();) {
        Item item;
        if (items.size() - at < sizeof item) { return false; }
        std::memcpy(&item, items.data() + at, sizeof item);
        const uint64_t left = items.size() - at - sizeof item;
        const bool is_rest = framed && item.bytes == all_that_follows;
        const uint64_t bytes = is_rest ? left : item.bytes;
        const uint64_t size = sizeof item + padded(bytes);
        if (items.size() - at < size) { return false; }
        take(item, items.subspan(at + sizeof item, bytes));
        at += size;
    }
    return true;
}
