#include "runtime/trace/values.hpp"

#include "strategies/hash.hpp"
#include "strategies/traffic.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace nodeaware::trace {

namespace {

constexpr size_t piece = 256;
constexpr size_t most_of_block = 4096;
constexpr size_t most_of_call = size_t{4} << 20;
static_assert(most_of_call / most_blocks_in_sample >= piece);

/// Hashes blocks. The system reads them, many at a time, and says so where there is nothing to be
/// read: MPI may know memory that the processor must not touch.
class Hashes {
  public:
    /// `of_block`: how much to read of each at most, a multiple of a piece.
    Hashes(size_t of_block, uint64_t sample)
        : of_block_(of_block), sample_(sample), bytes_(room_in_bytes) {
        pieces_.reserve(room_in_pieces);
    }

    void add(int number, const BlockBytes& block) {
        const bool is_whole = block.size <= of_block_;
        const size_t count = is_whole ? 1 : of_block_ / piece;
        const size_t size = is_whole ? block.size : of_block_;
        if (used_ + size > room_in_bytes || pieces_.size() + count > room_in_pieces) { flush(); }
        blocks_.push_back({number, block.size, size});
        used_ += size;
        auto* const begin = const_cast<std::byte*>(block.begin); // which is only read
        if (is_whole) { return pieces_.push_back({begin, size}); }
        const uint64_t step = block.size / count;
        const uint64_t first = mix(0, sample_) % (step - piece + 1);
        for (size_t i = 0; i < count; ++i) { pieces_.push_back({begin + first + i * step, piece}); }
    }
    /// Tells of each block that could be read the first one of the same size and hash. False: there
    /// are none.
    template <class Tell> bool finish(Tell tell) {
        flush();
        for (const auto& [number, key] : keys_) {
            tell(number, known_.try_emplace(key, number).first->second);
        }
        return !keys_.empty();
    }

  private:
    static constexpr size_t room_in_bytes = size_t{64} << 10;
    static constexpr size_t room_in_pieces = 1024; ///< that the system takes at once

    struct Read {
        int number;
        uint64_t size; ///< of the block
        size_t read;
    };

    void flush() {
        const iovec local{bytes_.data(), used_};
        const ssize_t read =
            process_vm_readv(getpid(), &local, 1, pieces_.data(), pieces_.size(), 0);
        size_t at = 0;
        for (const Read& block : blocks_) {
            const auto part = std::span(bytes_).subspan(at, block.read);
            at += block.read;
            if (read < 0 || at > static_cast<size_t>(read)) { break; }
            keys_.emplace_back(block.number, std::pair(block.size, hash_of(part)));
        }
        blocks_.clear();
        pieces_.clear();
        used_ = 0;
    }

    size_t of_block_;
    uint64_t sample_;
    std::vector<std::byte> bytes_;
    size_t used_ = 0;
    std::vector<iovec> pieces_;
    std::vector<Read> blocks_; ///< that the pieces are of
    std::vector<std::pair<int, std::pair<uint64_t, uint64_t>>> keys_;
    std::map<std::pair<uint64_t, uint64_t>, int> known_;
};

} // namespace

Firsts equal_blocks(const std::vector<BlockBytes>& blocks, const Firsts& same, uint64_t sample) {
    if (!same.empty() && same.size() != blocks.size()) { return {}; }
    Firsts firsts(blocks.size());
    size_t count = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
        firsts[i] = same.empty() ? static_cast<int>(i) : same[i];
        count += firsts[i] == static_cast<int>(i) ? 1 : 0;
    }
    if (count < 2 || blocks.size() > most_blocks_in_sample) { return {}; }
    const size_t of_block = std::min(most_of_block, most_of_call / count / piece * piece);
    Hashes hashes(of_block, sample);
    for (size_t i = 0; i < blocks.size(); ++i) {
        const bool is_first = firsts[i] == static_cast<int>(i);
        const bool is_known = blocks[i].begin != nullptr && blocks[i].size > 0;
        if (is_first && is_known) { hashes.add(firsts[i], blocks[i]); }
    }
    const auto keep = [&](int number, int first) { firsts[static_cast<size_t>(number)] = first; };
    if (!hashes.finish(keep)) { return {}; }
    for (int& first : firsts) { first = firsts[static_cast<size_t>(first)]; }
    return firsts;
}

Firsts common_classes(const Firsts& one, const Firsts& other) {
    std::map<std::pair<int, int>, int> known;
    Firsts firsts(one.size());
    for (size_t i = 0; i < one.size(); ++i) {
        const auto number = static_cast<int>(i);
        firsts[i] = known.try_emplace({one[i], other[i]}, number).first->second;
    }
    return firsts;
}

bool are_all_apart(const Firsts& firsts, const Firsts& same) {
    for (size_t i = 0; i < firsts.size(); ++i) {
        if (firsts[i] != (same.empty() ? static_cast<int>(i) : same[i])) { return false; }
    }
    return true;
}

} // namespace nodeaware::trace
