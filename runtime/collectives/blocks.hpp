#pragma once

#include "runtime/memory/exchange.hpp"

#include <cstdint>
#include <optional>

namespace nodeaware {

/// Integers in the application's memory: int or, of functions for large counts, 64 bits wide.
class Integers {
  public:
    Integers() = default;
    template <class Integer>
    explicit Integers(const Integer* first) : first_(first), is_wide_(sizeof(Integer) == 8) {
        static_assert(sizeof(Integer) == 8 || sizeof(Integer) == sizeof(int));
    }

    bool is_null() const { return first_ == nullptr; }
    bool is_wide() const { return is_wide_; }
    bool operator==(const Integers&) const = default; ///< the same array
    MPI_Count operator[](int i) const {
        return is_wide_ ? static_cast<const int64_t*>(first_)[i]
                        : static_cast<const int*>(first_)[i];
    }

  private:
    const void* first_ = nullptr;
    bool is_wide_ = false;
};

/// One of the two buffers of an exchange, as the application describes it: a row of blocks.
struct Blocks {
    enum class Kind {
        one,     ///< the same block for every neighbour
        uniform, ///< equal blocks side by side
        counted, ///< with counts, and displacements in elements
        typed,   ///< with counts, displacements in bytes, and datatypes
    };
    Kind kind = Kind::uniform;
    const void* buffer = nullptr;
    MPI_Count count = 0;                   ///< of each block: one, uniform
    MPI_Datatype type = MPI_DATATYPE_NULL; ///< all but typed
    Integers counts{};                     ///< counted, typed
    Integers displacements{};
    const MPI_Datatype* types = nullptr; ///< typed

    MPI_Count count_of(int i) const {
        return kind == Kind::one || kind == Kind::uniform ? count : counts[i];
    }
    MPI_Datatype type_of(int i) const {
        if (kind != Kind::typed) { return type; }
        return types == nullptr ? MPI_DATATYPE_NULL : types[i];
    }
};

/// The memory of one block after the other, in a call that MPI would accept.
class BlockReader {
  public:
    /// `place`: of the buffer, if that is known.
    explicit BlockReader(const Blocks& blocks, const std::optional<device::Place>& place = {})
        : blocks_(blocks) {
        if (is_one_piece()) { place_ = place; }
    }

    /// The i-th block; what it has in bytes may be 0. Throws MpiError.
    UserMemory at(int i);

  private:
    MPI_Count offset_of(int i) const;
    /// All blocks lie in one piece of memory, so the driver is asked once. But programs give
    /// displacements in bytes from anywhere to anywhere.
    bool is_one_piece() const {
        return blocks_.kind != Blocks::Kind::typed && blocks_.buffer != MPI_BOTTOM;
    }

    const Blocks& blocks_;
    Datatype type_;                      ///< of the block before: they are often all alike
    std::optional<device::Place> place_; ///< of the first block
};

/// Lists block i of `blocks` as a message to rank `peer`. The k-th message listed to a rank is the
/// k-th that it lists from this one.
void add_outgoing(Exchange& exchange, int peer, BlockReader& blocks, int i);
void add_incoming(Exchange& exchange, int peer, BlockReader& blocks, int i);

/// For MPI_IN_PLACE: copies what is sent, for it will be overwritten. To be called before the
/// exchange begins. What fails is an error of the exchange, which takes place nevertheless.
void stage_outgoing(Exchange& exchange, MPI_Comm comm);

/// Asks anew where the memory of messages is, which may have come to be a device's.
void look_where_it_is(Exchange& exchange);

/// Finds messages that are read from the same memory (Outgoing::memory). To be called when all are
/// listed.
void number_memory(Exchange& exchange);

} // namespace nodeaware
