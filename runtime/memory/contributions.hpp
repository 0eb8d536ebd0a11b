#pragma once

#include "runtime/memory/shared_memory.hpp"
#include "strategies/gathered.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace nodeaware {

/// Shared memory in which the ranks of a node leave what they contribute to nonblocking operations,
/// until the last of them takes it. Beginning an operation must not wait for anybody, so there is
/// room for as many operations as a rank may be ahead of another: a rank has a space of its own
/// that is as large as it takes. The first part of each space, a chunk, is there from the
/// beginning; the others are the reserve of the memory, and go back as soon as nothing is left in
/// them.
class Contributions {
  public:
    /// Operations that a rank may have begun and another one of its node not yet. One more has to
    /// wait.
    static constexpr uint32_t window = 16384;

    struct Shape {
        int ranks = 0;
        uint64_t largest = 0; ///< bytes of the largest contribution to one operation, and its list
    };
    static size_t bytes_of(const Shape& shape);
    static size_t reserve_of(const Shape& shape);

    /// Lays them out in memory of bytes_of() zeroes, with a reserve as far as it can be had; this
    /// is the `own`-th rank.
    Contributions(SharedMemory memory, const Shape& shape, int own);

    /// True if this rank can contribute `part` to `operation` now: it is the next one, and there is
    /// room, which it gets. To be called until it is true.
    bool make_room(uint64_t operation, const gathered::OwnPart& part);
    /// Where this rank packs `part`, whose contributions it lists; until the next call.
    std::byte* contribute(uint64_t operation, const gathered::OwnPart& part);
    /// The contributions to `operation` are complete. True for the rank that is the last of its
    /// node: it has to take them all before it begins the next operation.
    bool arrive(uint64_t operation);

    /// For that rank: makes the contributions of all accessible. False if that is not possible now.
    bool open(uint64_t operation);
    /// What a rank of the node has contributed, and where the bytes are; until the next call.
    struct Contributed {
        std::vector<gathered::Contribution> list;
        std::byte* bytes = nullptr;
    };
    Contributed contributed(uint64_t operation, int local) const;
    /// It has taken them: others may use the memory.
    void release(uint64_t operation);

  private:
    /// Operations are released in their order: who was last in one has begun the next only after
    /// that.
    struct Control {
        alignas(64) std::atomic<uint64_t> released{0};
        /// By operation, in turn. Only ever counted up.
        alignas(64) std::array<std::atomic<uint32_t>, window> arrivals;
    };
    /// Room of this rank that others have yet to read.
    struct Held {
        uint64_t operation;
        uint64_t begin;
        uint64_t end;
    };

    static uint64_t chunk_of(const Shape& shape);
    static size_t data_at(const Shape& shape);

    Control& control() const;
    /// Where the contribution is in the space of its rank, in units of `unit`, + 1; 0: nowhere.
    uint32_t& position(uint64_t operation, int local) const;
    /// Offset in the memory of a place in the space of a rank.
    size_t offset_of(int local, uint64_t place) const;
    /// Bytes of the memory that hold the chunk of such a place, of all ranks.
    size_t bytes_up_to(uint64_t place) const;
    std::byte* at(uint64_t operation, int local) const;
    uint64_t find_room(uint64_t wanted, std::vector<Held>::iterator& next);
    bool take_room(uint64_t begin, uint64_t wanted);
    void drop_released();

    SharedMemory memory_;
    Shape shape_;
    int own_;
    uint64_t chunk_;
    std::vector<Held> held_; ///< in ascending order of position
    uint64_t arrived_ = 0;   ///< operations that this rank has contributed to
    uint64_t released_ = 0;  ///< when held_ was looked at
    uint64_t reserve_end_ =
        0; ///< end of what this rank has used of its space, if that was more than a chunk
    bool is_last_ = false; ///< and has not released the operation yet
};

} // namespace nodeaware
