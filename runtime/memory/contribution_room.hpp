#pragma once

#include "runtime/memory/shared_memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace nodeaware {

/// The memory of Contributions, as this rank sees it: room that it has there, for contributions of
/// all lanes.
///
/// A rank has a space of its own that is as large as it takes. The first part of each space, a
/// chunk, is there from the beginning; the others are the reserve of the memory, and go back as
/// soon as nothing is left in them. Lanes whose operations begin in any order must not wait for
/// room that those of others hold, so where there are several each has a slot besides, for one
/// contribution.
class ContributionRoom {
  public:
    struct Shape {
        int ranks = 0;
        uint64_t largest = 0; ///< bytes of the largest contribution to one operation, and its list
        int lanes = 0;        ///< besides the first
    };
    /// What has to be there for certain, for operations of one lane wait for none of another; all
    /// but the first part may be mapped later.
    static size_t bytes_of(const Shape& shape);
    static size_t first_bytes_of(const Shape& shape);
    static size_t reserve_of(const Shape& shape);

    /// Operations of a lane that a rank may have begun and another one of its node not yet.
    static constexpr uint32_t window_of(int lane) { return lane == 0 ? 16384 : 2048; }

    /// Operations of the lane that have been released, which happens in their order.
    std::atomic<uint64_t>& released(int lane) const;
    /// Of the operations of the lane that are at this place of its window. Only ever counted up.
    std::atomic<uint32_t>& arrivals(int lane, uint32_t place) const;
    /// Where the contribution of the rank to that operation is, + 1; 0: nowhere.
    uint32_t& position(int lane, uint32_t place, int local) const;

    /// Lays it out in memory of bytes_of() zeroes, of which first_bytes_of() are mapped at least,
    /// with a reserve as far as it can be had; this is the `own`-th rank.
    ContributionRoom(SharedMemory memory, const Shape& shape, int own);

    const Shape& shape() const { return shape_; }
    int own() const { return own_; }
    /// A position for so many bytes, held until the operation is released; nothing: there is no
    /// room now.
    std::optional<uint32_t> take(int lane, uint64_t operation, uint64_t bytes);
    /// Makes the contributions of the lane up to that of this position accessible. False if that is
    /// not possible now.
    bool open(int lane, uint32_t position);
    /// nullptr for no position.
    std::byte* at(int lane, int local, uint32_t position) const;

  private:
    /// Room that others have yet to read.
    struct Held {
        int lane;
        uint64_t operation;
        uint64_t begin;
        uint64_t end;
    };

    static uint64_t chunk_of(const Shape& shape);
    static size_t lane_bytes(const Shape& shape, int lane);
    static size_t lane_at(const Shape& shape, int lane);
    static size_t slots_at(const Shape& shape);
    static size_t slots_up_to(const Shape& shape, int lane);
    static size_t data_at(const Shape& shape);

    bool take_slot(int lane, uint64_t operation);
    void drop_released();
    /// Offset in the memory of a place in the space of a rank.
    size_t offset_of(int local, uint64_t place) const;
    /// Bytes of the memory that hold the chunk of such a place, of all ranks.
    size_t bytes_up_to(uint64_t place) const;
    uint64_t find_room(uint64_t wanted, std::vector<Held>::iterator& next);
    bool take_room(uint64_t begin, uint64_t wanted);

    SharedMemory memory_;
    Shape shape_;
    int own_;
    uint64_t chunk_;
    std::vector<Held> held_; ///< in ascending order of position
    struct Lane {
        uint64_t released = 0; ///< when held_ was looked at, if it had any of this lane
        uint64_t held = 0;
        uint64_t in_slot = 0; ///< the operation whose contribution is there, + 1
    };
    std::vector<Lane> lanes_;
    uint64_t reserve_end_ =
        0; ///< end of what this rank has used of its space, if that was more than a chunk
};

} // namespace nodeaware
