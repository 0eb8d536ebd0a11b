#include "runtime/communicators/neighbors.hpp"

#include "runtime/communicators/self_communicator.hpp"
#include "runtime/job/log.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

namespace nodeaware {

namespace {

/// How an MPI matches blocks when a rank sends several to the same neighbour. The standard asks for
/// `mirrored` on Cartesian grids of one or two ranks in a dimension (what goes in the negative
/// direction arrives from the positive one); not all libraries do that, nor in all operations, and
/// the application must get what it would get without us.
enum class Matching { in_order, reversed, mirrored };

std::vector<int> order_of(Matching matching, size_t count) {
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    if (matching == Matching::reversed) { std::reverse(order.begin(), order.end()); }
    if (matching == Matching::mirrored) {
        for (size_t i = 0; i + 1 < count; i += 2) { std::swap(order[i], order[i + 1]); }
    }
    return order;
}

/// A communicator of this process alone, freed at the end.
class Probe {
  public:
    explicit Probe(bool cartesian) {
        if (cartesian) {
            const std::array<int, 2> ones = {1, 1};
            MPI_CALL(Cart_create, self_communicator(), 2, ones.data(), ones.data(), 0, &comm_);
        } else {
            const std::array<int, 4> self = {0, 0, 0, 0};
            MPI_CALL(Dist_graph_create_adjacent, self_communicator(), 4, self.data(),
                     MPI_UNWEIGHTED, 4, self.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm_);
        }
    }
    ~Probe() { mpi.Comm_free(&comm_); }
    Probe(const Probe&) = delete;
    Probe& operator=(const Probe&) = delete;

    /// Which block sent arrives as which block received.
    std::array<int, 4> exchange(Operation operation) const {
        const std::array<int, 4> sent = {0, 1, 2, 3};
        std::array<int, 4> received = {-1, -1, -1, -1};
        const std::array<int, 4> counts = {1, 1, 1, 1};
        const std::array<MPI_Datatype, 4> types = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
        const std::array<MPI_Aint, 4> places = {0, sizeof(int), 2 * sizeof(int), 3 * sizeof(int)};
        MPI_Request request = MPI_REQUEST_NULL;
        switch (operation) {
        case Operation::neighbor_alltoallw:
            MPI_CALL(Neighbor_alltoallw, sent.data(), counts.data(), places.data(), types.data(),
                     received.data(), counts.data(), places.data(), types.data(), comm_);
            break;
        case Operation::ineighbor_alltoallw:
            MPI_CALL(Ineighbor_alltoallw, sent.data(), counts.data(), places.data(), types.data(),
                     received.data(), counts.data(), places.data(), types.data(), comm_, &request);
            break;
        case Operation::neighbor_alltoallv:
            MPI_CALL(Neighbor_alltoallv, sent.data(), counts.data(), sent.data(), MPI_INT,
                     received.data(), counts.data(), sent.data(), MPI_INT, comm_);
            break;
        case Operation::ineighbor_alltoallv:
            MPI_CALL(Ineighbor_alltoallv, sent.data(), counts.data(), sent.data(), MPI_INT,
                     received.data(), counts.data(), sent.data(), MPI_INT, comm_, &request);
            break;
        case Operation::ineighbor_alltoall:
            MPI_CALL(Ineighbor_alltoall, sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT,
                     comm_, &request);
            break;
        default: // of others all blocks of a rank are the same
            MPI_CALL(Neighbor_alltoall, sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT,
                     comm_);
        }
        MPI_CALL(Wait, &request, MPI_STATUS_IGNORE);
        return received;
    }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

Matching probe_matching(Operation operation, bool cartesian) {
    const auto received = Probe(cartesian).exchange(operation);
    for (const Matching matching : {Matching::in_order, Matching::reversed, Matching::mirrored}) {
        const auto order = order_of(matching, received.size());
        bool fits = true;
        for (size_t k = 0; k < order.size(); ++k) {
            fits = fits && received[static_cast<size_t>(order[k])] == static_cast<int>(k);
        }
        if (fits) { return matching; }
    }
    log(LogLevel::warn,
        "{}: this MPI matches blocks between the same two ranks in an unknown order",
        name_of(operation));
    return Matching::in_order;
}

bool has_repetition(const std::vector<int>& ranks) {
    std::set<int> seen;
    return std::any_of(ranks.begin(), ranks.end(), [&](int rank) {
        return rank != MPI_PROC_NULL && !seen.insert(rank).second;
    });
}

void read_cart(MPI_Comm comm, Neighbors& neighbors) {
    int dimensions = 0;
    MPI_CALL(Cartdim_get, comm, &dimensions);
    for (int dimension = 0; dimension < dimensions; ++dimension) {
        int lower = MPI_PROC_NULL;
        int upper = MPI_PROC_NULL;
        MPI_CALL(Cart_shift, comm, dimension, 1, &lower, &upper);
        neighbors.sources.insert(neighbors.sources.end(), {lower, upper});
    }
    neighbors.destinations = neighbors.sources;
}

void read_graph(MPI_Comm comm, Neighbors& neighbors) {
    int rank = 0;
    int count = 0;
    MPI_CALL(Comm_rank, comm, &rank);
    MPI_CALL(Graph_neighbors_count, comm, rank, &count);
    neighbors.sources.resize(static_cast<size_t>(count));
    MPI_CALL(Graph_neighbors, comm, rank, count, neighbors.sources.data());
    neighbors.destinations = neighbors.sources;
}

void read_dist_graph(MPI_Comm comm, Neighbors& neighbors) {
    int sources = 0;
    int destinations = 0;
    int weighted = 0;
    MPI_CALL(Dist_graph_neighbors_count, comm, &sources, &destinations, &weighted);
    neighbors.sources.resize(static_cast<size_t>(sources));
    neighbors.destinations.resize(static_cast<size_t>(destinations));
    std::vector<int> source_weights(static_cast<size_t>(sources));
    std::vector<int> destination_weights(static_cast<size_t>(destinations));
    MPI_CALL(Dist_graph_neighbors, comm, sources, neighbors.sources.data(),
             weighted != 0 ? source_weights.data() : MPI_UNWEIGHTED, destinations,
             neighbors.destinations.data(),
             weighted != 0 ? destination_weights.data() : MPI_UNWEIGHTED);
}

} // namespace

Neighbors read_neighbors(MPI_Comm comm) {
    Neighbors neighbors;
    MPI_CALL(Topo_test, comm, &neighbors.topology);
    if (neighbors.topology == MPI_CART) { read_cart(comm, neighbors); }
    if (neighbors.topology == MPI_GRAPH) { read_graph(comm, neighbors); }
    if (neighbors.topology == MPI_DIST_GRAPH) { read_dist_graph(comm, neighbors); }
    return neighbors;
}

Neighbors find_neighbors(MPI_Comm comm, Operation operation) {
    Neighbors neighbors = read_neighbors(comm);
    const bool repetition =
        has_repetition(neighbors.sources) || has_repetition(neighbors.destinations);
    neighbors.receive_order = order_of(
        repetition ? probe_matching(operation, neighbors.topology == MPI_CART) : Matching::in_order,
        neighbors.sources.size());
    return neighbors;
}

bool has_neighbors(MPI_Comm comm) {
    const Neighbors neighbors = read_neighbors(comm);
    return neighbors.topology == MPI_UNDEFINED || !neighbors.sources.empty() ||
           !neighbors.destinations.empty();
}

} // namespace nodeaware
