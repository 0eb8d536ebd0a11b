// The core of the library for one MPI: from the arguments of each intercepted call to an Exchange,
// and the decision who does it.

#include "interpose/abi.hpp"
#include "runtime/blocks.hpp"
#include "runtime/device_memory.hpp"
#include "runtime/library.hpp"
#include "runtime/log.hpp"

#include <chrono>
#include <memory>

namespace nodeaware {

namespace {

std::unique_ptr<Library> library;

MPI_Comm native(abi::MPI_Comm comm) {
#ifdef OPEN_MPI
    return reinterpret_cast<MPI_Comm>(comm);
#else
    return static_cast<MPI_Comm>(reinterpret_cast<intptr_t>(comm));
#endif
}

MPI_Datatype native(abi::MPI_Datatype type) {
#ifdef OPEN_MPI
    return reinterpret_cast<MPI_Datatype>(type);
#else
    return static_cast<MPI_Datatype>(reinterpret_cast<intptr_t>(type));
#endif
}

const MPI_Datatype* native(const abi::MPI_Datatype* types) {
    return reinterpret_cast<const MPI_Datatype*>(types);
}

void count_native_messages(const Team& team, const Exchange& exchange, CallRecord& record) {
    const Topology& topology = team.topology();
    const int node = topology.node_of(team.rank());
    for (const Outgoing& message : exchange.traffic.outgoing) {
        record.bytes += message.bytes;
        if (topology.node_of(message.peer) == node) { continue; }
        ++record.node_messages;
        record.node_bytes += message.bytes;
    }
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A call that this thread leaves to MPI: what is to be done when it is over.
struct LeftToMpi {
    Selected selected;
    CallRecord record;
    Clock::time_point start;
};
thread_local LeftToMpi left_to_mpi;

/// One intercepted call on its way. `fill` lists the messages in the exchange, and returns the
/// bytes of a block if all ranks know that all blocks have that size, else 0. Every decision here
/// is one that all ranks of the communicator take alike.
template <class Fill> class Call {
  public:
    Call(Operation operation, MPI_Comm comm, Fill fill) : comm_(comm), fill_(fill) {
        record_.operation = operation;
    }

    bool run(int* result) {
        const auto start = Clock::now();
        Selected selected;
        record_.reason = attempt(result, selected);
        if (record_.reason != Reason::none) {
            left_to_mpi = {selected, record_, start};
            return false;
        }
        if (library->report.wants_times()) { record_.seconds = seconds_since(start); }
        library->report.add(record_);
        return true;
    }

  private:
    Reason attempt(int* result, Selected& selected) {
        const Choice& choice = library->world.options.choice(record_.operation);
        if (choice.kind == Choice::Kind::native) { return Reason::chosen; }
        if (comm_ == MPI_COMM_NULL) { return Reason::invalid_arguments; }
        Communicator& communicator = Communicator::of(comm_, library->world);
        if (communicator.obstacle() != Reason::none) { return communicator.obstacle(); }
        Team& team = communicator.team();
        Exchange& exchange = team.exchange();
        exchange.clear();
        look_for_devices();
        exchange.operation = record_.operation;
        uint64_t uniform_bytes = 0;
        try {
            uniform_bytes = fill_(communicator, exchange);
            number_memory(exchange);
        } catch (const InvalidArguments&) {
            return Reason::invalid_arguments;
        } catch (const MpiError&) { return Reason::invalid_arguments; }
        if (library->report.wants_times()) { count_native_messages(team, exchange, record_); }
        try {
            selected =
                communicator.selection().select(team, record_.operation, choice, uniform_bytes);
        } catch (const MpiError& error) {
            // The other ranks may have selected a strategy: the native call would wait for them.
            *result = error.code;
            mpi.Comm_call_errhandler(comm_, error.code);
            return Reason::none;
        }
        record_.is_measured = selected.is_measured;
        record_.learning_seconds = selected.learning_seconds;
        if (selected.strategy == nullptr) { return Reason::native_is_faster; }
        record_.strategy = selected.strategy;
        *result = execute(comm_, team, exchange, selected, record_);
        if (selected.is_measured) { selected.learn_time(); }
        return Reason::none;
    }

    MPI_Comm comm_;
    Fill fill_;
    CallRecord record_;
};

/// The hooks must not throw into the application, whose call stack may be C or Fortran.
template <class Fill> bool run(int* result, Operation operation, MPI_Comm comm, Fill fill) {
    try {
        return Call<Fill>(operation, comm, fill).run(result);
    } catch (const std::exception& error) {
        log(LogLevel::warn, "{}: {}", name_of(operation), error.what());
        left_to_mpi = {};
        left_to_mpi.record.operation = operation;
        left_to_mpi.record.reason = Reason::internal_failure;
        left_to_mpi.start = Clock::now();
        return false;
    }
}

/// Messages of an all-to-all operation. `make_sent` and `make_received` make the views of the two
/// buffers.
template <class MakeSent, class MakeReceived>
void fill_all(const Team& team, Exchange& exchange, bool in_place, MakeSent make_sent,
              MakeReceived make_received) {
    exchange.sharing = Sharing::sender;
    auto received = make_received();
    const int size = team.size();
    for (int peer = 0; peer < size; ++peer) { add_incoming(exchange, peer, received, peer); }
    if (in_place) {
        for (int peer = 0; peer < size; ++peer) { add_outgoing(exchange, peer, received, peer); }
        stage_outgoing(exchange, team.comm());
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
bool alltoall(int* result, const void* sendbuf, Count sendcount, abi::MPI_Datatype sendtype,
              void* recvbuf, Count recvcount, abi::MPI_Datatype recvtype, abi::MPI_Comm comm) {
    return run(result, Operation::alltoall, native(comm),
               [&](Communicator& communicator, Exchange& exchange) {
                   fill_all(
                       communicator.team(), exchange, sendbuf == MPI_IN_PLACE,
                       [&] { return UniformBlocks(sendbuf, sendcount, native(sendtype)); },
                       [&] { return UniformBlocks(recvbuf, recvcount, native(recvtype)); });
                   return exchange.traffic.incoming.empty()
                              ? 0
                              : exchange.traffic.incoming.front().bytes;
               });
}

template <class Count, class Displacement>
bool alltoallv(int* result, const void* sendbuf, const Count* sendcounts,
               const Displacement* sdispls, abi::MPI_Datatype sendtype, void* recvbuf,
               const Count* recvcounts, const Displacement* rdispls, abi::MPI_Datatype recvtype,
               abi::MPI_Comm comm) {
    return run(
        result, Operation::alltoallv, native(comm),
        [&](Communicator& communicator, Exchange& exchange) {
            fill_all(
                communicator.team(), exchange, sendbuf == MPI_IN_PLACE,
                [&] { return CountedBlocks(sendbuf, sendcounts, sdispls, native(sendtype)); },
                [&] { return CountedBlocks(recvbuf, recvcounts, rdispls, native(recvtype)); });
            return uint64_t{0};
        });
}

template <class Count, class Displacement>
bool alltoallw(int* result, const void* sendbuf, const Count* sendcounts,
               const Displacement* sdispls, const abi::MPI_Datatype* sendtypes, void* recvbuf,
               const Count* recvcounts, const Displacement* rdispls,
               const abi::MPI_Datatype* recvtypes, abi::MPI_Comm comm) {
    return run(
        result, Operation::alltoallw, native(comm),
        [&](Communicator& communicator, Exchange& exchange) {
            fill_all(
                communicator.team(), exchange, sendbuf == MPI_IN_PLACE,
                [&] { return TypedBlocks(sendbuf, sendcounts, sdispls, native(sendtypes)); },
                [&] { return TypedBlocks(recvbuf, recvcounts, rdispls, native(recvtypes)); });
            return uint64_t{0};
        });
}

template <class Count>
bool neighbor_alltoall(int* result, const void* sendbuf, Count sendcount,
                       abi::MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                       abi::MPI_Datatype recvtype, abi::MPI_Comm comm) {
    return run(result, Operation::neighbor_alltoall, native(comm),
               [&](Communicator& communicator, Exchange& exchange) {
                   fill_neighbors(native(comm), communicator, exchange, Sharing::sender,
                                  UniformBlocks(sendbuf, sendcount, native(sendtype)),
                                  UniformBlocks(recvbuf, recvcount, native(recvtype)));
                   return uint64_t{0};
               });
}

template <class Count, class Displacement>
bool neighbor_alltoallv(int* result, const void* sendbuf, const Count* sendcounts,
                        const Displacement* sdispls, abi::MPI_Datatype sendtype, void* recvbuf,
                        const Count* recvcounts, const Displacement* rdispls,
                        abi::MPI_Datatype recvtype, abi::MPI_Comm comm) {
    return run(result, Operation::neighbor_alltoallv, native(comm),
               [&](Communicator& communicator, Exchange& exchange) {
                   fill_neighbors(native(comm), communicator, exchange, Sharing::sender,
                                  CountedBlocks(sendbuf, sendcounts, sdispls, native(sendtype)),
                                  CountedBlocks(recvbuf, recvcounts, rdispls, native(recvtype)));
                   return uint64_t{0};
               });
}

template <class Count>
bool neighbor_alltoallw(int* result, const void* sendbuf, const Count* sendcounts,
                        const abi::MPI_Aint* sdispls, const abi::MPI_Datatype* sendtypes,
                        void* recvbuf, const Count* recvcounts, const abi::MPI_Aint* rdispls,
                        const abi::MPI_Datatype* recvtypes, abi::MPI_Comm comm) {
    return run(result, Operation::neighbor_alltoallw, native(comm),
               [&](Communicator& communicator, Exchange& exchange) {
                   fill_neighbors(native(comm), communicator, exchange, Sharing::sender,
                                  TypedBlocks(sendbuf, sendcounts, sdispls, native(sendtypes)),
                                  TypedBlocks(recvbuf, recvcounts, rdispls, native(recvtypes)));
                   return uint64_t{0};
               });
}

template <class Count>
bool neighbor_allgather(int* result, const void* sendbuf, Count sendcount,
                        abi::MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                        abi::MPI_Datatype recvtype, abi::MPI_Comm comm) {
    return run(result, Operation::neighbor_allgather, native(comm),
               [&](Communicator& communicator, Exchange& exchange) {
                   fill_neighbors(native(comm), communicator, exchange, Sharing::both,
                                  OneBlock(sendbuf, sendcount, native(sendtype)),
                                  UniformBlocks(recvbuf, recvcount, native(recvtype)));
                   return uint64_t{0};
               });
}

template <class Count, class Displacement>
bool neighbor_allgatherv(int* result, const void* sendbuf, Count sendcount,
                         abi::MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                         const Displacement* displs, abi::MPI_Datatype recvtype,
                         abi::MPI_Comm comm) {
    return run(result, Operation::neighbor_allgatherv, native(comm),
               [&](Communicator& communicator, Exchange& exchange) {
                   fill_neighbors(native(comm), communicator, exchange, Sharing::both,
                                  OneBlock(sendbuf, sendcount, native(sendtype)),
                                  CountedBlocks(recvbuf, recvcounts, displs, native(recvtype)));
                   return uint64_t{0};
               });
}

void degrees(abi::MPI_Comm comm, bool neighborhood, int* sends, int* receives) {
    try {
        if (neighborhood) {
            const Neighbors neighbors = find_neighbors(native(comm), Operation::neighbor_allgather);
            *sends = static_cast<int>(neighbors.destinations.size());
            *receives = static_cast<int>(neighbors.sources.size());
            return;
        }
        int inter = 0;
        MPI_CALL(Comm_test_inter, native(comm), &inter);
        if (inter != 0) {
            MPI_CALL(Comm_remote_size, native(comm), sends);
        } else {
            MPI_CALL(Comm_size, native(comm), sends);
        }
        *receives = *sends;
    } catch (const MpiError&) {
        *sends = 0;
        *receives = 0;
    }
}

void native_done() {
    LeftToMpi& left = left_to_mpi;
    if (left.selected.is_measured) { left.selected.learn_time(); }
    left.selected = {};
    if (library->report.wants_times()) { left.record.seconds = seconds_since(left.start); }
    library->report.add(left.record);
}

bool start() {
    try {
        auto made = std::make_unique<Library>();
        made->world = World::discover();
        if (made->world.options.disable) { return false; }
        open_datatypes();
        Communicator::open();
        made->report.open(made->world);
        Communicator::of(MPI_COMM_WORLD, made->world);
        library = std::move(made);
        return true;
    } catch (const BadSettings& error) {
        int rank = 0;
        if (mpi.Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS && rank == 0) {
            write_log(LogLevel::warn,
                      std::string(error.what()) + " (NODEAWARE_STRICT=1 ends the job)");
        }
        mpi.Abort(MPI_COMM_WORLD, 1);
    } catch (const std::exception& error) { log(LogLevel::warn, "{}", error.what()); }
    return false;
}

void stop() {
    try {
        library->report.close(library->world);
    } catch (const std::exception& error) { log(LogLevel::warn, "report: {}", error.what()); }
    Communicator::close();
    mpi.Group_free(&library->world.group);
    library.reset();
}

constexpr abi::Core core = {
    .size = sizeof(abi::Core),
    .start = start,
    .stop = stop,
    .degrees = degrees,
    .native_done = native_done,
    .Alltoall = alltoall<int>,
    .Alltoallv = alltoallv<int, int>,
    .Alltoallw = alltoallw<int, int>,
    .Neighbor_alltoall = neighbor_alltoall<int>,
    .Neighbor_alltoallv = neighbor_alltoallv<int, int>,
    .Neighbor_alltoallw = neighbor_alltoallw<int>,
    .Neighbor_allgather = neighbor_allgather<int>,
    .Neighbor_allgatherv = neighbor_allgatherv<int, int>,
    .Alltoall_c = alltoall<abi::MPI_Count>,
    .Alltoallv_c = alltoallv<abi::MPI_Count, abi::MPI_Aint>,
    .Alltoallw_c = alltoallw<abi::MPI_Count, abi::MPI_Aint>,
    .Neighbor_alltoall_c = neighbor_alltoall<abi::MPI_Count>,
    .Neighbor_alltoallv_c = neighbor_alltoallv<abi::MPI_Count, abi::MPI_Aint>,
    .Neighbor_alltoallw_c = neighbor_alltoallw<abi::MPI_Count>,
    .Neighbor_allgather_c = neighbor_allgather<abi::MPI_Count>,
    .Neighbor_allgatherv_c = neighbor_allgatherv<abi::MPI_Count, abi::MPI_Aint>,
};

} // namespace

} // namespace nodeaware

/// The way in, see interpose/abi.hpp.
extern "C" __attribute__((visibility("default"))) const nodeaware::abi::Core*
nodeaware_core(void* (*next)(const char*)) {
    if (const char* missing = nodeaware::load_mpi(next)) {
        nodeaware::write_log(nodeaware::LogLevel::warn, std::string("this MPI has no ") + missing);
        return nullptr;
    }
    return &nodeaware::core;
}
