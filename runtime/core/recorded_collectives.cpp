#include "runtime/core/recorded_collectives.hpp"

#include "runtime/collectives/exchange_arguments.hpp"

#include <algorithm>

namespace nodeaware::recorded_collectives {

namespace {

using abi::Passed;
using exchange_arguments::native;
using recorded_communicators::Known;
using trace::Block;

/// What MPI reads of a call on this rank.
class Part {
  public:
    Part(const Passed& passed, bool is_in_place)
        : part_(is_in_place && passed.received.type != nullptr ? passed.received : passed.sent),
          are_large_(passed.are_large) {}

    /// Where the datatype has been asked for.
    uint64_t type_bytes() const {
        return static_cast<uint64_t>(std::max<MPI_Count>(type_bytes_, 0));
    }
    bool has_counts() const { return part_.counts != nullptr; }
    uint64_t bytes() { return bytes_of(part_.count); }
    uint64_t bytes_of_rank(int rank) {
        return bytes_of(are_large_ ? static_cast<const MPI_Count*>(part_.counts)[rank]
                                   : static_cast<const int*>(part_.counts)[rank]);
    }

  private:
    uint64_t bytes_of(MPI_Count count) {
        if (count <= 0) { return 0; } // the datatype may be anything
        if (type_bytes_ < 0) { MPI_CALL(Type_size_x, native(part_.type), &type_bytes_); }
        return static_cast<uint64_t>(count) * static_cast<uint64_t>(type_bytes_);
    }

    const Passed::Part& part_;
    const bool are_large_;
    MPI_Count type_bytes_ = -1;
};

class BlockList {
  public:
    void add(int peer, uint64_t bytes) {
        if (bytes > 0) { list_.push_back({peer, bytes}); }
    }
    std::vector<Block> take() { return std::move(list_); }

  private:
    std::vector<Block> list_;
};

/// The root of an intercommunicator is in the other group, or this rank, or none of this one's.
bool is_root(const Passed& passed, const Known& known) {
    return passed.root == (known.is_inter ? MPI_ROOT : known.rank);
}

} // namespace

Given given_by(const Passed& passed, const Known& known) {
    using To = Passed::To;
    BlockList blocks;
    Part part(passed, passed.buffer == MPI_IN_PLACE);
    const auto own = [&] { // of what all ranks receive
        return part.has_counts() ? part.bytes_of_rank(known.rank) : part.bytes();
    };
    const bool is_from_root = passed.to == To::from_root || passed.to == To::each_from_root;
    if (is_from_root && !is_root(passed, known)) { return {}; }
    switch (passed.to) {
    case To::nobody: break;
    case To::all:
    case To::from_root: blocks.add(Block::every_rank, own()); break;
    case To::root:
        if (passed.root >= 0) { blocks.add(passed.root, own()); } // else it only receives
        break;
    case To::each:
        // Between groups, counts are of this one's ranks: how the others share is not known here.
        if (known.is_inter) { break; }
        if (!part.has_counts()) {
            blocks.add(Block::every_rank, own());
            break;
        }
        [[fallthrough]];
    case To::each_from_root:
        for (int peer = 0; peer < known.size; ++peer) {
            blocks.add(peer, part.bytes_of_rank(peer));
        }
        break;
    case To::later:
        for (int peer = known.rank + 1; peer < known.size; ++peer) { blocks.add(peer, own()); }
        break;
    }
    return {blocks.take(), part.type_bytes()};
}

} // namespace nodeaware::recorded_collectives
