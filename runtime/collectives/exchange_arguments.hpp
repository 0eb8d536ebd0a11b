#pragma once

#include "interpose/abi.hpp"
#include "runtime/collectives/blocks.hpp"
#include "runtime/communicators/communicator.hpp"

/// From the arguments of each operation to an Exchange. A fill is called with the communicator's
/// state and the exchange; it returns the bytes of a block if all ranks know that all blocks have
/// that size, else 0. Throws InvalidArguments and MpiError.
namespace nodeaware::exchange_arguments {

inline MPI_Comm native(abi::MPI_Comm comm) {
#ifdef OPEN_MPI
    return reinterpret_cast<MPI_Comm>(comm);
#else
    return static_cast<MPI_Comm>(reinterpret_cast<intptr_t>(comm));
#endif
}

inline MPI_Datatype native(abi::MPI_Datatype type) {
#ifdef OPEN_MPI
    return reinterpret_cast<MPI_Datatype>(type);
#else
    return static_cast<MPI_Datatype>(reinterpret_cast<intptr_t>(type));
#endif
}

inline const MPI_Datatype* native(const abi::MPI_Datatype* types) {
    return reinterpret_cast<const MPI_Datatype*>(types);
}

/// Messages of an all-to-all operation. `make_sent` and `make_received` make the views of the two
/// buffers.
template <class MakeSent, class MakeReceived>
void fill_all(const InnerCommunicator& inner, Exchange& exchange, bool in_place, MakeSent make_sent,
              MakeReceived make_received) {
    exchange.sharing = Sharing::sender;
    exchange.in_place = in_place;
    auto received = make_received();
    const int size = inner.size();
    for (int peer = 0; peer < size; ++peer) { add_incoming(exchange, peer, received, peer); }
    if (in_place) {
        for (int peer = 0; peer < size; ++peer) { add_outgoing(exchange, peer, received, peer); }
        return;
    }
    auto sent = make_sent();
    for (int peer = 0; peer < size; ++peer) { add_outgoing(exchange, peer, sent, peer); }
}

/// Messages of a neighbourhood operation.
template <class Sent, class Received>
void fill_neighbors(MPI_Comm comm, Communicator& communicator, Exchange& exchange, Sharing sharing,
                    Sent sent, Received received) {
    const Neighbors& neighbors = communicator.neighbors(comm, exchange.operation);
    if (!neighbors.has_topology) { throw InvalidArguments("no topology"); }
    exchange.sharing = sharing;
    for (size_t i = 0; i < neighbors.destinations.size(); ++i) {
        add_outgoing(exchange, neighbors.destinations[i], sent, static_cast<int>(i));
    }
    for (const int i : neighbors.receive_order) {
        add_incoming(exchange, neighbors.sources[static_cast<size_t>(i)], received, i);
    }
}

template <class Count>
auto alltoall(const void* sendbuf, Count sendcount, abi::MPI_Datatype sendtype, void* recvbuf,
              Count recvcount, abi::MPI_Datatype recvtype, abi::MPI_Comm /*comm*/) {
    return [=](Communicator& communicator, Exchange& exchange) -> uint64_t {
        fill_all(
            communicator.inner(), exchange, sendbuf == MPI_IN_PLACE,
            [&] { return UniformBlocks(sendbuf, sendcount, native(sendtype)); },
            [&] { return UniformBlocks(recvbuf, recvcount, native(recvtype)); });
        return exchange.traffic.incoming.empty() ? 0 : exchange.traffic.incoming.front().bytes;
    };
}

template <class Count, class Displacement>
auto alltoallv(const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
               abi::MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
               const Displacement* rdispls, abi::MPI_Datatype recvtype, abi::MPI_Comm /*comm*/) {
    return [=](Communicator& communicator, Exchange& exchange) -> uint64_t {
        fill_all(
            communicator.inner(), exchange, sendbuf == MPI_IN_PLACE,
            [&] { return CountedBlocks(sendbuf, sendcounts, sdispls, native(sendtype)); },
            [&] { return CountedBlocks(recvbuf, recvcounts, rdispls, native(recvtype)); });
        return 0;
    };
}

template <class Count, class Displacement>
auto alltoallw(const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
               const abi::MPI_Datatype* sendtypes, void* recvbuf, const Count* recvcounts,
               const Displacement* rdispls, const abi::MPI_Datatype* recvtypes,
               abi::MPI_Comm /*comm*/) {
    return [=](Communicator& communicator, Exchange& exchange) -> uint64_t {
        fill_all(
            communicator.inner(), exchange, sendbuf == MPI_IN_PLACE,
            [&] { return TypedBlocks(sendbuf, sendcounts, sdispls, native(sendtypes)); },
            [&] { return TypedBlocks(recvbuf, recvcounts, rdispls, native(recvtypes)); });
        return 0;
    };
}

template <class Count>
auto neighbor_alltoall(const void* sendbuf, Count sendcount, abi::MPI_Datatype sendtype,
                       void* recvbuf, Count recvcount, abi::MPI_Datatype recvtype,
                       abi::MPI_Comm comm) {
    return [=](Communicator& communicator, Exchange& exchange) -> uint64_t {
        fill_neighbors(native(comm), communicator, exchange, Sharing::sender,
                       UniformBlocks(sendbuf, sendcount, native(sendtype)),
                       UniformBlocks(recvbuf, recvcount, native(recvtype)));
        return 0;
    };
}

template <class Count, class Displacement>
auto neighbor_alltoallv(const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
                        abi::MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                        const Displacement* rdispls, abi::MPI_Datatype recvtype,
                        abi::MPI_Comm comm) {
    return [=](Communicator& communicator, Exchange& exchange) -> uint64_t {
        fill_neighbors(native(comm), communicator, exchange, Sharing::sender,
                       CountedBlocks(sendbuf, sendcounts, sdispls, native(sendtype)),
                       CountedBlocks(recvbuf, recvcounts, rdispls, native(recvtype)));
        return 0;
    };
}

template <class Count>
auto neighbor_alltoallw(const void* sendbuf, const Count* sendcounts, const abi::MPI_Aint* sdispls,
                        const abi::MPI_Datatype* sendtypes, void* recvbuf, const Count* recvcounts,
                        const abi::MPI_Aint* rdispls, const abi::MPI_Datatype* recvtypes,
                        abi::MPI_Comm comm) {
    return [=](Communicator& communicator, Exchange& exchange) -> uint64_t {
        fill_neighbors(native(comm), communicator, exchange, Sharing::sender,
                       TypedBlocks(sendbuf, sendcounts, sdispls, native(sendtypes)),
                       TypedBlocks(recvbuf, recvcounts, rdispls, native(recvtypes)));
        return 0;
    };
}

template <class Count>
auto neighbor_allgather(const void* sendbuf, Count sendcount, abi::MPI_Datatype sendtype,
                        void* recvbuf, Count recvcount, abi::MPI_Datatype recvtype,
                        abi::MPI_Comm comm) {
    return [=](Communicator& communicator, Exchange& exchange) -> uint64_t {
        fill_neighbors(native(comm), communicator, exchange, Sharing::both,
                       OneBlock(sendbuf, sendcount, native(sendtype)),
                       UniformBlocks(recvbuf, recvcount, native(recvtype)));
        return 0;
    };
}

template <class Count, class Displacement>
auto neighbor_allgatherv(const void* sendbuf, Count sendcount, abi::MPI_Datatype sendtype,
                         void* recvbuf, const Count* recvcounts, const Displacement* displs,
                         abi::MPI_Datatype recvtype, abi::MPI_Comm comm) {
    return [=](Communicator& communicator, Exchange& exchange) -> uint64_t {
        fill_neighbors(native(comm), communicator, exchange, Sharing::both,
                       OneBlock(sendbuf, sendcount, native(sendtype)),
                       CountedBlocks(recvbuf, recvcounts, displs, native(recvtype)));
        return 0;
    };
}

} // namespace nodeaware::exchange_arguments
