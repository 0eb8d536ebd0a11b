// Communicators with topologies, and who sends to whom there.

#include "tests/mpi/conformance/exchanges.hpp"

#include <numeric>

namespace nodeaware::conformance {

namespace {

void graph_neighbors(MPI_Comm comm, Peers& peers) {
    int sources = 0;
    int destinations = 0;
    int weighted = 0;
    MPI_Dist_graph_neighbors_count(comm, &sources, &destinations, &weighted);
    peers.sources.resize(static_cast<size_t>(sources));
    peers.destinations.resize(static_cast<size_t>(destinations));
    MPI_Dist_graph_neighbors(comm, sources, peers.sources.data(), MPI_UNWEIGHTED, destinations,
                             peers.destinations.data(), MPI_UNWEIGHTED);
}

void cart_neighbors(MPI_Comm comm, Peers& peers) {
    int dimensions = 0;
    MPI_Cartdim_get(comm, &dimensions);
    for (int dimension = 0; dimension < dimensions; ++dimension) {
        int before = 0;
        int behind = 0;
        MPI_Cart_shift(comm, dimension, 1, &before, &behind);
        peers.sources.insert(peers.sources.end(), {before, behind});
    }
    peers.destinations = peers.sources;
}

} // namespace

Peers everybody(MPI_Comm comm) {
    int inter = 0;
    int size = 0;
    MPI_Comm_test_inter(comm, &inter);
    if (inter != 0) {
        MPI_Comm_remote_size(comm, &size);
    } else {
        MPI_Comm_size(comm, &size);
    }
    Peers peers;
    peers.sources.resize(static_cast<size_t>(size));
    std::iota(peers.sources.begin(), peers.sources.end(), 0);
    peers.destinations = peers.sources;
    return peers;
}

Peers neighbors(MPI_Comm comm) {
    Peers peers;
    int kind = MPI_UNDEFINED;
    MPI_Topo_test(comm, &kind);
    if (kind == MPI_DIST_GRAPH) { graph_neighbors(comm, peers); }
    if (kind == MPI_CART) { cart_neighbors(comm, peers); }
    return peers;
}

MPI_Comm make_graph(Context& context, bool balanced) {
    std::vector<int> sources;
    std::vector<int> destinations;
    for (const int shift : {1, 3, 4}) {
        // Unbalanced: the last rank takes no part, and the others have it as no neighbour.
        const int from = context.left(shift);
        const int to = context.right(shift);
        const int last = context.size - 1;
        if (balanced || (context.rank != last && from != last)) { sources.push_back(from); }
        if (balanced || (context.rank != last && to != last)) { destinations.push_back(to); }
    }
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(context.comm, static_cast<int>(sources.size()), sources.data(),
                                   MPI_UNWEIGHTED, static_cast<int>(destinations.size()),
                                   destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    return made;
}

MPI_Comm make_ring(Context& context, bool periodic) {
    const int periods = periodic ? 1 : 0;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Cart_create(context.comm, 1, &context.size, &periods, 0, &made);
    return made;
}

Place::Place(Context& context, const Function& function)
    : context_(context), comm_(context.comm), is_own_(function.is_neighborhood()) {
    if (!is_own_) { return; }
    comm_ = make_graph(context);
    context.out.watch(comm_, "graph");
}

Place::~Place() {
    if (!is_own_) { return; }
    context_.out.forget(comm_);
    MPI_Comm_free(&comm_);
}

} // namespace nodeaware::conformance
