#pragma once

#include "runtime/memory/exchange.hpp"

#include <stdexcept>

namespace nodeaware {

/// Arguments that MPI will refuse: the call is left to MPI.
struct InvalidArguments : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The buffers of the application, seen as a row of blocks. at(i) is the i-th block; what it has in
/// bytes may be 0. Equal blocks side by side: alltoall.
class UniformBlocks {
  public:
    UniformBlocks(const void* buffer, MPI_Count count, MPI_Datatype type)
        : buffer_(buffer), count_(count) {
        if (count < 0 || type == MPI_DATATYPE_NULL) { throw InvalidArguments("count or datatype"); }
        type_ = inspect(type);
    }

    UserMemory at(int i) const { return at_offset(i * count_ * type_.extent); }
    uint64_t bytes() const { return static_cast<uint64_t>(count_) * type_.size; }

  protected:
    UserMemory at_offset(MPI_Count offset) const {
        return user_memory(reinterpret_cast<void*>(reinterpret_cast<intptr_t>(buffer_) + offset),
                           count_, type_);
    }

  private:
    const void* buffer_;
    MPI_Count count_;
    Datatype type_;
};

/// The same block again and again: what allgather sends.
class OneBlock : public UniformBlocks {
  public:
    using UniformBlocks::UniformBlocks;
    UserMemory at(int /*i*/) const { return at_offset(0); }
};

/// Blocks with counts, and displacements in elements: alltoallv.
template <class Count, class Displacement> class CountedBlocks {
  public:
    CountedBlocks(const void* buffer, const Count* counts, const Displacement* displacements,
                  MPI_Datatype type)
        : buffer_(buffer), counts_(counts), displacements_(displacements) {
        if (type == MPI_DATATYPE_NULL) { throw InvalidArguments("datatype"); }
        type_ = inspect(type);
    }

    UserMemory at(int i) const {
        if (counts_ == nullptr || displacements_ == nullptr || counts_[i] < 0) {
            throw InvalidArguments("counts");
        }
        const MPI_Count offset = static_cast<MPI_Count>(displacements_[i]) * type_.extent;
        return user_memory(reinterpret_cast<void*>(reinterpret_cast<intptr_t>(buffer_) + offset),
                           counts_[i], type_);
    }

  private:
    const void* buffer_;
    const Count* counts_;
    const Displacement* displacements_;
    Datatype type_;
};

/// Blocks with counts, datatypes, and displacements in bytes: alltoallw.
template <class Count, class Displacement> class TypedBlocks {
  public:
    TypedBlocks(const void* buffer, const Count* counts, const Displacement* displacements,
                const MPI_Datatype* types)
        : buffer_(buffer), counts_(counts), displacements_(displacements), types_(types) {}

    UserMemory at(int i) {
        if (counts_ == nullptr || displacements_ == nullptr || types_ == nullptr ||
            counts_[i] < 0) {
            throw InvalidArguments("counts or datatypes");
        }
        if (counts_[i] == 0) { return {}; } // the datatype may be anything
        if (types_[i] == MPI_DATATYPE_NULL) { throw InvalidArguments("datatype"); }
        if (types_[i] != type_.handle) { type_ = inspect(types_[i]); }
        return user_memory(
            reinterpret_cast<void*>(reinterpret_cast<intptr_t>(buffer_) + displacements_[i]),
            counts_[i], type_);
    }

  private:
    const void* buffer_;
    const Count* counts_;
    const Displacement* displacements_;
    const MPI_Datatype* types_;
    Datatype type_; ///< of the block before: they are often all alike
};

/// Lists block i of `blocks` as a message to rank `peer`. The k-th message listed to a rank is the
/// k-th that it lists from this one.
template <class Blocks> void add_outgoing(Exchange& exchange, int peer, Blocks& blocks, int i) {
    const UserMemory memory = blocks.at(i);
    if (peer == MPI_PROC_NULL || memory.bytes == 0) { return; }
    exchange.traffic.outgoing.push_back({peer, 0, memory.bytes});
    exchange.outgoing.push_back(memory);
}

template <class Blocks> void add_incoming(Exchange& exchange, int peer, Blocks& blocks, int i) {
    const UserMemory memory = blocks.at(i);
    if (peer == MPI_PROC_NULL || memory.bytes == 0) { return; }
    exchange.traffic.incoming.push_back({peer, memory.bytes});
    exchange.incoming.push_back(memory);
}

/// For MPI_IN_PLACE: copies what is sent, for it will be overwritten. To be called before the
/// exchange begins. Throws MpiError.
void stage_outgoing(Exchange& exchange, MPI_Comm comm);

/// Finds messages that are read from the same memory (Outgoing::memory). To be called when all are
/// listed.
void number_memory(Exchange& exchange);

} // namespace nodeaware
