#include "runtime/core/communicator_calls.hpp"

#include "runtime/collectives/contexts.hpp"
#include "runtime/collectives/exchange_arguments.hpp"
#include "runtime/collectives/graph_creation.hpp"
#include "runtime/communicators/grid_order.hpp"
#include "runtime/core/guarded.hpp"
#include "runtime/point_to_point/hooks.hpp"
#include "runtime/requests/library.hpp"

namespace nodeaware::communicator_calls {

using exchange_arguments::native;

void before_blocking() {
    guarded([&] { library->progress.before_blocking(); });
}

void before_meeting() {
    guarded([] {
        if (library->messages != nullptr) { library->messages->before_meeting(); }
    });
    before_blocking(); // whatever has failed
}

int meeting(abi::MPI_Comm comm, int result) {
    if (native(comm) == MPI_COMM_NULL || is_refused(result)) { return result; }
    const int code = p2p::guarded(native(comm), [&] {
        contexts::meeting(native(comm));
        return MPI_SUCCESS;
    });
    return code == MPI_SUCCESS ? result : code;
}

int created(abi::MPI_Comm parent, abi::MPI_Comm* comm) {
    const MPI_Comm made = *reinterpret_cast<MPI_Comm*>(comm);
    if (made == MPI_COMM_NULL) { return MPI_SUCCESS; }
    return p2p::guarded(native(parent), [&] {
        if (library->messages != nullptr) {
            const Turn turn;
            library->messages->created(native(parent), made);
        }
        int topology = MPI_UNDEFINED;
        MPI_CALL(Topo_test, made, &topology);
        const bool is_of_use = topology != MPI_UNDEFINED && !library->world.options.observes;
        if (is_of_use) { contexts::prepare(made); }
        return MPI_SUCCESS;
    });
}

void not_created() {
    const Turn turn;
    if (library->messages != nullptr) { library->messages->not_created(); }
}

bool make_grid(int* result, abi::MPI_Comm comm, int dimensions, const int* sizes,
               const int* periods, int may_reorder, abi::MPI_Comm* made) {
    return grid_order::create(library->world, {native(comm), dimensions, sizes, periods},
                              may_reorder != 0, reinterpret_cast<MPI_Comm*>(made), result);
}

bool make_graph(int* result, abi::MPI_Comm comm, int nodes, const int* sources, const int* degrees,
                const int* destinations, const int* weights, abi::MPI_Info info, int may_reorder,
                abi::MPI_Comm* made) {
    graph_creation::Outcome outcome;
    const graph_creation::GraphArguments graph{native(comm), nodes,           sources,
                                               degrees,      destinations,    weights,
                                               native(info), may_reorder != 0};
    if (!graph_creation::create(graph, reinterpret_cast<MPI_Comm*>(made), outcome)) {
        return false;
    }
    *result = outcome.code;
    if (outcome.is_failed_alone) { // the others prepare it
        created(comm, made);
        mpi.Comm_call_errhandler(native(comm), outcome.code);
    }
    return true;
}

int map_grid(abi::MPI_Comm comm, int dimensions, const int* sizes, const int* periods, int* rank) {
    return p2p::guarded(native(comm), [&] {
        grid_order::map(library->world, {native(comm), dimensions, sizes, periods}, rank);
        return MPI_SUCCESS;
    });
}

void communicator_begun() { InnerCommunicator::communicator_begun(); }

void degrees(abi::MPI_Comm comm, bool neighborhood, int* sends, int* receives) {
    try {
        if (neighborhood) {
            const Neighbors neighbors = read_neighbors(native(comm));
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

} // namespace nodeaware::communicator_calls
