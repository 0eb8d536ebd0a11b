#pragma once

#include "runtime/memory/contribution_room.hpp"
#include "strategies/gathered.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace nodeaware {

/// Shared memory in which the ranks of a node leave what they contribute to nonblocking operations,
/// until the last of them takes it. Beginning an operation must not wait for anybody, so there is
/// room for as many operations as a rank may be ahead of another. Operations that begin in the same
/// order on all ranks are a lane; several lanes may share the memory.
class Contributions {
  public:
    using Shape = ContributionRoom::Shape;
    static size_t bytes_of(const Shape& shape) { return ContributionRoom::bytes_of(shape); }
    static size_t first_bytes_of(const Shape& shape) {
        return ContributionRoom::first_bytes_of(shape);
    }
    static size_t reserve_of(const Shape& shape) { return ContributionRoom::reserve_of(shape); }

    /// The first lane, in memory as ContributionRoom wants it; this is the `own`-th rank.
    Contributions(SharedMemory memory, const Shape& shape, int own);
    /// A lane of that memory, from 0.
    Contributions(const Contributions& first, int lane);

    /// Operations that a rank may have begun and another one of its node not yet. One more has to
    /// wait.
    uint32_t window() const { return ContributionRoom::window_of(lane_); }

    /// True if this rank can contribute `part` to `operation` now: it is the next one, and there is
    /// room, which it gets. To be called until it is true.
    bool make_room(uint64_t operation, const gathered::OwnPart& part);
    /// Where this rank packs `part`, whose contributions it lists; until the next call for any
    /// lane.
    std::byte* contribute(uint64_t operation, const gathered::OwnPart& part);
    /// The contributions to `operation` are complete. True for the rank that is the last of its
    /// node: it has to take them all before it begins the next operation.
    bool arrive(uint64_t operation);

    /// For that rank: makes the contributions of all accessible. False if that is not possible now.
    bool open(uint64_t operation);
    /// What a rank of the node has contributed, and where the bytes are; until the next call for
    /// any lane.
    struct Contributed {
        std::vector<gathered::Contribution> list;
        std::byte* bytes = nullptr;
    };
    Contributed contributed(uint64_t operation, int local) const;
    /// It has taken them: others may use the memory. Operations are released in their order: who
    /// was last in one has begun the next only after that.
    void release(uint64_t operation);

  private:
    uint32_t place_of(uint64_t operation) const {
        return static_cast<uint32_t>(operation % window());
    }
    uint32_t& position(uint64_t operation, int local) const {
        return room_->position(lane_, place_of(operation), local);
    }
    std::byte* at(uint64_t operation, int local) const {
        return room_->at(lane_, local, position(operation, local));
    }

    std::shared_ptr<ContributionRoom> room_;
    int lane_ = 0;
    uint64_t arrived_ = 0; ///< operations that this rank has contributed to
    bool is_last_ = false; ///< and has not released the operation yet
};

} // namespace nodeaware
