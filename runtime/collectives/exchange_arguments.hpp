#pragma once

#include "interpose/abi.hpp"
#include "runtime/collectives/blocks.hpp"
#include "runtime/communicators/communicator.hpp"

#include <type_traits>

namespace nodeaware {

/// What the application passes to an exchange.
struct ExchangeArguments {
    Blocks sent;
    Blocks received;
    bool is_with_neighbors = false;

    /// What is sent lies where the result goes.
    bool is_in_place() const { return !is_with_neighbors && sent.buffer == MPI_IN_PLACE; }

    /// Lists the messages of a call that MPI would accept. Returns the bytes of a block if all
    /// ranks know that all blocks have that size, else 0. Local. Throws MpiError.
    uint64_t list(MPI_Comm comm, Communicator& communicator, Exchange& exchange) const;
};

/// From the parameters of each operation; neighbor_alltoall and its kin have those of alltoall.
namespace exchange_arguments {

/// The handle of this MPI: a pointer, or a number that is kept in one.
template <class Native, class Foreign> Native native_handle(Foreign handle) {
    if constexpr (std::is_pointer_v<Native>) {
        return reinterpret_cast<Native>(handle);
    } else {
        return static_cast<Native>(reinterpret_cast<intptr_t>(handle));
    }
}
inline MPI_Comm native(abi::MPI_Comm comm) { return native_handle<MPI_Comm>(comm); }
inline MPI_Info native(abi::MPI_Info info) { return native_handle<MPI_Info>(info); }
inline MPI_Datatype native(abi::MPI_Datatype type) { return native_handle<MPI_Datatype>(type); }
inline MPI_Op native(abi::MPI_Op op) { return native_handle<MPI_Op>(op); }

template <class Foreign, class Native> Foreign foreign_handle(Native handle) {
    if constexpr (std::is_pointer_v<Native>) {
        return reinterpret_cast<Foreign>(handle);
    } else {
        return reinterpret_cast<Foreign>(static_cast<intptr_t>(handle)); // NOLINT
    }
}
inline abi::MPI_Datatype foreign(MPI_Datatype type) {
    return foreign_handle<abi::MPI_Datatype>(type);
}

inline const MPI_Datatype* native(const abi::MPI_Datatype* types) {
    return reinterpret_cast<const MPI_Datatype*>(types);
}

template <class Count>
Blocks uniform(const void* buffer, Count count, abi::MPI_Datatype type,
               Blocks::Kind kind = Blocks::Kind::uniform) {
    return {.kind = kind, .buffer = buffer, .count = count, .type = native(type)};
}

template <class Count, class Displacement>
Blocks counted(const void* buffer, const Count* counts, const Displacement* displacements,
               abi::MPI_Datatype type) {
    return {.kind = Blocks::Kind::counted,
            .buffer = buffer,
            .type = native(type),
            .counts = Integers(counts),
            .displacements = Integers(displacements)};
}

template <class Count, class Displacement>
Blocks typed(const void* buffer, const Count* counts, const Displacement* displacements,
             const abi::MPI_Datatype* types) {
    return {.kind = Blocks::Kind::typed,
            .buffer = buffer,
            .counts = Integers(counts),
            .displacements = Integers(displacements),
            .types = native(types)};
}

template <class Count>
ExchangeArguments alltoall(const void* sendbuf, Count sendcount, abi::MPI_Datatype sendtype,
                           void* recvbuf, Count recvcount, abi::MPI_Datatype recvtype,
                           abi::MPI_Comm /*comm*/) {
    return {uniform(sendbuf, sendcount, sendtype), uniform(recvbuf, recvcount, recvtype)};
}

template <class Count, class Displacement>
ExchangeArguments alltoallv(const void* sendbuf, const Count* sendcounts,
                            const Displacement* sdispls, abi::MPI_Datatype sendtype, void* recvbuf,
                            const Count* recvcounts, const Displacement* rdispls,
                            abi::MPI_Datatype recvtype, abi::MPI_Comm /*comm*/) {
    return {counted(sendbuf, sendcounts, sdispls, sendtype),
            counted(recvbuf, recvcounts, rdispls, recvtype)};
}

template <class Count, class Displacement>
ExchangeArguments alltoallw(const void* sendbuf, const Count* sendcounts,
                            const Displacement* sdispls, const abi::MPI_Datatype* sendtypes,
                            void* recvbuf, const Count* recvcounts, const Displacement* rdispls,
                            const abi::MPI_Datatype* recvtypes, abi::MPI_Comm /*comm*/) {
    return {typed(sendbuf, sendcounts, sdispls, sendtypes),
            typed(recvbuf, recvcounts, rdispls, recvtypes)};
}

template <class Count>
ExchangeArguments allgather(const void* sendbuf, Count sendcount, abi::MPI_Datatype sendtype,
                            void* recvbuf, Count recvcount, abi::MPI_Datatype recvtype,
                            abi::MPI_Comm /*comm*/) {
    return {uniform(sendbuf, sendcount, sendtype, Blocks::Kind::one),
            uniform(recvbuf, recvcount, recvtype)};
}

template <class Count, class Displacement>
ExchangeArguments allgatherv(const void* sendbuf, Count sendcount, abi::MPI_Datatype sendtype,
                             void* recvbuf, const Count* recvcounts, const Displacement* displs,
                             abi::MPI_Datatype recvtype, abi::MPI_Comm /*comm*/) {
    return {uniform(sendbuf, sendcount, sendtype, Blocks::Kind::one),
            counted(recvbuf, recvcounts, displs, recvtype)};
}

} // namespace exchange_arguments

} // namespace nodeaware
