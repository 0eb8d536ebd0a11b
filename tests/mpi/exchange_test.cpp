// exchange_test [CASES] [FIRST_SEED]
//
// Random exchanges by every interposed operation: the result of MPI_X must be that of PMPI_X byte
// for byte, gaps and canaries included. All ranks draw the same case, so that every rank knows what
// every other sends.

#include "tests/mpi/exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace nodeaware::test {

namespace {

constexpr int unit = 6; // messages are multiples of this many ints, to fit every test type

bool is_neighborhood(Operation operation) { return operation >= neighbor_alltoall; }
bool is_allgather(Operation operation) { return operation >= neighbor_allgather; }
bool is_uniform(Operation operation) {
    return operation == alltoall || operation == neighbor_alltoall ||
           operation == neighbor_allgather;
}

/// MPICH 4.0 sends by the wrong counts where a rank has more or fewer sources than destinations.
/// Open MPI 4.1 multiplies displacements by extents that are in bytes already where there is but
/// one rank.
bool native_is_broken(Operation operation, int size, bool symmetric) {
    return is_open_mpi() ? operation == alltoallw && size == 1 && symmetric
                         : operation == neighbor_alltoallw && size > 0 && !symmetric;
}

/// The four functions that a call can go to.
struct Functions {
    decltype(&MPI_Alltoall) alltoall;
    decltype(&MPI_Alltoallv) alltoallv;
    decltype(&MPI_Alltoallw) alltoallw;
    decltype(&MPI_Neighbor_alltoall) neighbor_alltoall;
    decltype(&MPI_Neighbor_alltoallv) neighbor_alltoallv;
    decltype(&MPI_Neighbor_alltoallw) neighbor_alltoallw;
    decltype(&MPI_Neighbor_allgather) neighbor_allgather;
    decltype(&MPI_Neighbor_allgatherv) neighbor_allgatherv;
};

constexpr Functions native = {PMPI_Alltoall,           PMPI_Alltoallv,
                              PMPI_Alltoallw,          PMPI_Neighbor_alltoall,
                              PMPI_Neighbor_alltoallv, PMPI_Neighbor_alltoallw,
                              PMPI_Neighbor_allgather, PMPI_Neighbor_allgatherv};
const Functions rerouted = {MPI_Alltoall,           MPI_Alltoallv,          MPI_Alltoallw,
                            MPI_Neighbor_alltoall,  MPI_Neighbor_alltoallv, MPI_Neighbor_alltoallw,
                            MPI_Neighbor_allgather, MPI_Neighbor_allgatherv};

int call(const Functions& f, Operation operation, const Buffer& sent, Buffer& received,
         bool in_place, MPI_Comm comm) {
    const void* from = in_place ? MPI_IN_PLACE : sent.memory.data();
    void* to = received.memory.data();
    const bool w = operation == alltoallw || operation == neighbor_alltoallw;
    const std::vector<int> sent_at = sent.displacements(w);
    const std::vector<int> received_at = received.displacements(w);
    const std::vector<MPI_Aint> sent_address = sent.addresses();
    const std::vector<MPI_Aint> received_address = received.addresses();
    const std::vector<MPI_Datatype> sent_types = sent.handles();
    const std::vector<MPI_Datatype> received_types = received.handles();
    const int sent_count = sent.counts[0];
    const int received_count = received.counts[0];
    const MPI_Datatype sent_type = sent_types[0];
    const MPI_Datatype received_type = received_types[0];
    switch (operation) {
    case alltoall:
        return f.alltoall(from, sent_count, sent_type, to, received_count, received_type, comm);
    case alltoallv:
        return f.alltoallv(from, sent.counts.data(), sent_at.data(), sent_type, to,
                           received.counts.data(), received_at.data(), received_type, comm);
    case alltoallw:
        return f.alltoallw(from, sent.counts.data(), sent_at.data(), sent_types.data(), to,
                           received.counts.data(), received_at.data(), received_types.data(), comm);
    case neighbor_alltoall:
        return f.neighbor_alltoall(from, sent_count, sent_type, to, received_count, received_type,
                                   comm);
    case neighbor_alltoallv:
        return f.neighbor_alltoallv(from, sent.counts.data(), sent_at.data(), sent_type, to,
                                    received.counts.data(), received_at.data(), received_type,
                                    comm);
    case neighbor_alltoallw:
        return f.neighbor_alltoallw(from, sent.counts.data(), sent_address.data(),
                                    sent_types.data(), to, received.counts.data(),
                                    received_address.data(), received_types.data(), comm);
    case neighbor_allgather:
        return f.neighbor_allgather(from, sent_count, sent_type, to, received_count, received_type,
                                    comm);
    default:
        return f.neighbor_allgatherv(from, sent_count, sent_type, to, received.counts.data(),
                                     received_at.data(), received_type, comm);
    }
}

/// A communicator and, for neighbourhood operations, who is whose neighbour.
struct Place {
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    int size = 0;
    bool symmetric = true;
    std::vector<std::vector<int>> destinations; ///< by rank; empty for the others
    std::vector<std::vector<int>> sources;

    void adopt(MPI_Comm made) {
        comm = made;
        PMPI_Comm_rank(comm, &rank);
        PMPI_Comm_size(comm, &size);
    }
};

class Cases {
  public:
    Cases(Harness& harness, uint64_t seed) : harness_(harness), random_(seed) {}

    void run() {
        Place place;
        const auto operation = static_cast<Operation>(draw(random_, 0, operations - 1));
        choose_ranks(place);
        if (place.comm == MPI_COMM_NULL) {
            return;
        } // not for this rank, which leaves the case alone
        if (is_neighborhood(operation)) { add_neighbors(place); }
        for (int changes = draw(random_, 1, 3); changes > 0; --changes) {
            exchange(operation, place);
        }
        MPI_Comm_free(&place.comm);
    }

  private:
    /// The world, its ranks in another order, or some of them.
    void choose_ranks(Place& place) {
        std::vector<int> keys(static_cast<size_t>(harness_.size()));
        std::iota(keys.begin(), keys.end(), 0);
        if (draw(random_, 0, 1) == 0) { std::shuffle(keys.begin(), keys.end(), random_); }
        std::vector<int> colors(keys.size(), 0);
        if (draw(random_, 0, 3) == 0) {
            for (int& color : colors) { color = draw(random_, 0, 3) == 0 ? MPI_UNDEFINED : 0; }
        }
        const auto me = static_cast<size_t>(harness_.rank());
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, colors[me], keys[me], &made);
        if (made != MPI_COMM_NULL) { place.adopt(made); }
    }

    void add_neighbors(Place& place) {
        MPI_Comm old = place.comm;
        MPI_Comm made = MPI_COMM_NULL;
        switch (draw(random_, 0, 2)) {
        case 0: made = make_cart(place); break;
        case 1: made = make_graph(place); break;
        default: made = make_dist_graph(place);
        }
        MPI_Comm_free(&old);
        place.adopt(made);
    }

    MPI_Comm make_cart(Place& place) {
        const int dimensions = draw(random_, 1, 3);
        std::vector<int> sizes(static_cast<size_t>(dimensions), 0);
        // Dimensions of one and two ranks are the special cases.
        if (dimensions > 1 && draw(random_, 0, 1) == 0) {
            sizes[0] = place.size % 2 == 0 ? draw(random_, 1, 2) : 1;
        }
        MPI_Dims_create(place.size, dimensions, sizes.data());
        std::vector<int> periods(static_cast<size_t>(dimensions));
        for (int& period : periods) { period = draw(random_, 0, 1); }
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Cart_create(place.comm, dimensions, sizes.data(), periods.data(), 0, &made);
        place.destinations.resize(static_cast<size_t>(place.size));
        std::vector<int> mine;
        for (int i = 0; i < dimensions; ++i) {
            int lower = 0;
            int upper = 0;
            MPI_Cart_shift(made, i, 1, &lower, &upper);
            mine.insert(mine.end(), {lower, upper});
        }
        place.destinations[static_cast<size_t>(place.rank)] = mine;
        place.sources = place.destinations;
        return made;
    }

    /// Random edges, each in both directions.
    MPI_Comm make_graph(Place& place) {
        std::vector<std::vector<int>> edges(static_cast<size_t>(place.size));
        for (int i = draw(random_, 0, 3 * place.size); i > 0; --i) {
            const int a = draw(random_, 0, place.size - 1);
            const int b = draw(random_, 0, place.size - 1);
            if (a == b) { continue; }
            edges[static_cast<size_t>(a)].push_back(b);
            edges[static_cast<size_t>(b)].push_back(a);
        }
        std::vector<int> index;
        std::vector<int> flat;
        for (const auto& list : edges) {
            flat.insert(flat.end(), list.begin(), list.end());
            index.push_back(static_cast<int>(flat.size()));
        }
        MPI_Comm made = MPI_COMM_NULL;
        flat.push_back(0); // so that there is an address
        MPI_Graph_create(place.comm, place.size, index.data(), flat.data(), 0, &made);
        place.destinations = edges;
        place.sources = edges;
        return made;
    }

    /// Random edges, several between the same ranks and from a rank to itself included.
    MPI_Comm make_dist_graph(Place& place) {
        place.destinations.resize(static_cast<size_t>(place.size));
        place.sources.resize(static_cast<size_t>(place.size));
        const bool repeat = draw(random_, 0, 1) == 0;
        for (int i = draw(random_, 0, 4 * place.size); i > 0; --i) {
            const int from = draw(random_, 0, place.size - 1);
            const int to = draw(random_, 0, place.size - 1);
            for (int copies = repeat ? draw(random_, 1, 2) : 1; copies > 0; --copies) {
                place.destinations[static_cast<size_t>(from)].push_back(to);
                place.sources[static_cast<size_t>(to)].push_back(from);
            }
        }
        for (size_t i = 0; i < place.sources.size(); ++i) {
            place.symmetric =
                place.symmetric && place.sources[i].size() == place.destinations[i].size();
        }
        const auto me = static_cast<size_t>(place.rank);
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Dist_graph_create_adjacent(
            place.comm, static_cast<int>(place.sources[me].size()), place.sources[me].data(),
            MPI_UNWEIGHTED, static_cast<int>(place.destinations[me].size()),
            place.destinations[me].data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
        return made;
    }

    /// Ints that go from `source` to `destination`; the same on all ranks, and for all messages
    /// between the two.
    int integers(uint64_t seed, bool uniform, int source, int destination) const {
        Random random(uniform ? seed
                              : seed + static_cast<uint64_t>(source) * 4099 +
                                    static_cast<uint64_t>(destination) * 13);
        random.discard(3);
        const int kind = draw(random, 0, 19);
        if (kind < 6) { return 0; }
        if (kind < 17) { return unit * draw(random, 1, 8); }
        return unit * (kind < 19 ? draw(random, 1, 600) : draw(random, 1, 6000));
    }

    void exchange(Operation operation, const Place& place) {
        const uint64_t seed = random_();
        const bool uniform = is_uniform(operation);
        const bool in_place = !is_neighborhood(operation) && draw(random_, 0, 4) == 0;
        const bool w = operation == alltoallw || operation == neighbor_alltoallw;
        std::vector<int> out;
        std::vector<int> in;
        const auto me = static_cast<size_t>(place.rank);
        // In place, what a rank sends to another must have the size of what it gets from it.
        const auto size_of = [&](int source, int destination) {
            return in_place
                       ? integers(seed, uniform, std::min(source, destination),
                                  std::max(source, destination))
                       : integers(seed, uniform, source, is_allgather(operation) ? 0 : destination);
        };
        if (is_neighborhood(operation)) {
            for (const int to : place.destinations[me]) { out.push_back(size_of(place.rank, to)); }
            for (const int from : place.sources[me]) {
                in.push_back(from < 0 ? size_of(0, 0) : size_of(from, place.rank));
            }
        } else {
            for (int peer = 0; peer < place.size; ++peer) {
                out.push_back(size_of(place.rank, peer));
                in.push_back(size_of(peer, place.rank));
            }
        }
        if (is_allgather(operation)) { out.assign(1, size_of(place.rank, 0)); }
        // Buffers differ from rank to rank; the generator that all share must not.
        Random own(seed + 7 * static_cast<uint64_t>(place.rank));
        Buffer sent;
        Buffer received;
        sent.lay_out(own, types_, out, !w, uniform || is_allgather(operation));
        received.lay_out(own, types_, in, !w, uniform);
        // Open MPI takes a count of 0 for a sign that nobody has anything to do, even from ranks
        // without neighbours.
        if (uniform && out.empty()) { sent.set_count(size_of(0, 0)); }
        if (uniform && in.empty()) { received.set_count(size_of(0, 0)); }
        if (!in_place && !uniform && !is_allgather(operation) && out.size() > 1 &&
            draw(own, 0, 3) == 0) {
            share_memory(own, out, sent);
        }
        if (native_is_broken(operation, place.size, place.symmetric)) { return; }
        for (int repeats = draw(random_, 1, 3); repeats > 0; --repeats) {
            compare(operation, place, sent, received, in_place);
        }
    }

    /// Lets some blocks of the same size be read from the same memory.
    static void share_memory(Random& random, const std::vector<int>& sizes, Buffer& sent) {
        for (size_t i = 1; i < sizes.size(); ++i) {
            const auto other = static_cast<size_t>(draw(random, 0, static_cast<int>(i) - 1));
            if (sizes[i] != sizes[other]) { continue; }
            sent.places[i] = sent.places[other];
            sent.types[i] = sent.types[other];
            sent.counts[i] = sent.counts[other];
        }
    }

    void compare(Operation operation, const Place& place, Buffer& sent, Buffer& received,
                 bool in_place) {
        int next = place.rank * 1000003;
        for (int& value : sent.memory) { value = next++; }
        Buffer expected = received;
        if (in_place) {
            for (int& value : expected.memory) { value = next++; }
        }
        Buffer result = expected;
        const std::vector<int> unchanged = sent.memory;
        const int native_code = call(native, operation, sent, expected, in_place, place.comm);
        const int code = call(rerouted, operation, sent, result, in_place, place.comm);
        const std::string what =
            std::string(operation_names[operation]) + (in_place ? " in place" : "");
        harness_.expect(code == native_code, what + ": another return value");
        harness_.expect(sent.memory == unchanged, what + ": the send buffer was changed");
        for (size_t i = 0; i < expected.memory.size(); ++i) {
            if (expected.memory[i] == result.memory[i]) { continue; }
            harness_.expect(false, what + ": int " + std::to_string(i) + " of " +
                                       std::to_string(expected.memory.size()) + " is " +
                                       std::to_string(result.memory[i]) + ", should be " +
                                       std::to_string(expected.memory[i]));
            break;
        }
    }

    Harness& harness_;
    Random random_;
    const TestTypes types_;
};

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    const int cases = argc > 1 ? std::atoi(argv[1]) : 50;
    const uint64_t first_seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(cases); ++seed) {
        const int before = harness.failures();
        Cases(harness, seed).run();
        if (harness.failures() > before) {
            std::fprintf(stderr, "rank %d: seed %d\n", harness.rank(), static_cast<int>(seed));
        }
    }
    return harness.finish();
}
