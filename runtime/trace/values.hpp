#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Which blocks of a call have equal values, by hashes of samples of them.
namespace nodeaware::trace {

/// Where the bytes of a block lie, on the host.
struct BlockBytes {
    const std::byte* begin = nullptr; ///< nullptr: that is not known, or they are not side by side
    uint64_t size = 0;
};

/// Calls with more blocks are not looked at.
inline constexpr size_t most_blocks_in_sample = 16384;

/// Classes of blocks: for each the first one of its class.
using Firsts = std::vector<int>;

/// Blocks of the same size and hash are of one class, and those of one class of `same`, if that is
/// not empty, whose first is read for them. Those that are not known or cannot be read are alone;
/// empty: all are, or there are not two to compare. Hashed are at most 4 KiB of a block, in pieces
/// that lie elsewhere in the next sample, and less of each where blocks are many: at most 4 MiB of
/// a call. No signal comes of memory that cannot be read.
Firsts equal_blocks(const std::vector<BlockBytes>& blocks, const Firsts& same, uint64_t sample);

/// Of one class are blocks that are so in both, which have as many.
Firsts common_classes(const Firsts& one, const Firsts& other);

/// Every block is alone, or with those of its class in `same`, if that is not empty.
bool are_all_apart(const Firsts& firsts, const Firsts& same);

} // namespace nodeaware::trace
