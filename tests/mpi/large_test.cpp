// Offsets and sizes beyond 2^31 bytes: blocks far apart in a large buffer, datatypes with huge
// extents, a message of more than 2 GiB where memory allows, and MPI_Count arguments where the MPI
// has them.

#include "tests/mpi/harness.hpp"
#include "tests/mpi/space.hpp"

#include <cstring>
#include <vector>

namespace nodeaware::test {

namespace {

constexpr size_t gibibyte = size_t{1} << 30;

/// Blocks of a few ints whose places, extent times displacement, lie beyond 2^31 bytes.
void far_apart(Harness& harness) {
    const int size = harness.size();
    MPI_Datatype four = MPI_DATATYPE_NULL;
    MPI_Datatype wide = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(4, MPI_INT, &four);
    MPI_Type_create_resized(four, 0, static_cast<MPI_Aint>(gibibyte / 2), &wide);
    MPI_Type_commit(&wide);
    const Space sent(gibibyte / 2 * static_cast<size_t>(2 * size + 1));
    const Space received(gibibyte / 2 * static_cast<size_t>(2 * size + 1));
    if (sent.data() == nullptr || received.data() == nullptr) {
        harness.skip("not enough address space");
    }
    std::vector<int> counts(static_cast<size_t>(size), 2);
    std::vector<int> places;
    for (int peer = 0; peer < size; ++peer) {
        places.push_back(2 * peer);
        for (int element = 0; element < 2; ++element) {
            int* at = reinterpret_cast<int*>(
                sent.data() + gibibyte / 2 * static_cast<size_t>(2 * peer + element));
            for (int i = 0; i < 4; ++i) {
                at[i] = harness.rank() * 1000 + peer * 10 + element * 4 + i;
            }
        }
    }
    MPI_Alltoallv(sent.data(), counts.data(), places.data(), wide, received.data(), counts.data(),
                  places.data(), wide, MPI_COMM_WORLD);
    bool right = true;
    for (int peer = 0; peer < size; ++peer) {
        for (int element = 0; element < 2; ++element) {
            const int* at = reinterpret_cast<int*>(
                received.data() + gibibyte / 2 * static_cast<size_t>(2 * peer + element));
            for (int i = 0; i < 4; ++i) {
                right = right && at[i] == peer * 1000 + harness.rank() * 10 + element * 4 + i;
            }
        }
    }
    harness.expect(right, "blocks far apart");
    MPI_Type_free(&wide);
    MPI_Type_free(&four);
}

/// One message of more than 2 GiB from the first rank to the last, small ones between all others.
void one_large_message(Harness& harness) {
    const auto size = static_cast<size_t>(harness.size());
    MPI_Datatype mebibyte = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(1 << 20, MPI_CHAR, &mebibyte);
    MPI_Type_commit(&mebibyte);
    constexpr int many = 2050;
    const bool sends = harness.rank() == 0;
    const bool receives = harness.rank() == harness.size() - 1;
    std::vector<int> sent_counts(size, 1);
    std::vector<int> received_counts(size, 1);
    std::vector<int> places(size);
    for (size_t i = 0; i < size; ++i) { places[i] = static_cast<int>(i); }
    if (sends) { sent_counts[size - 1] = many; }
    if (receives) {
        received_counts[0] = many;
        for (size_t i = 1; i < size; ++i) { places[i] = many + static_cast<int>(i); }
    }
    const size_t mebibytes = many + 2 * size;
    const Space sent(mebibytes << 20);
    const Space received(mebibytes << 20);
    if (sends) {
        const size_t begin = size - 1;
        for (size_t i = 0; i < many; ++i) {
            std::memset(sent.data() + ((begin + i) << 20), static_cast<int>(i % 251) + 1, 64);
        }
    }
    std::vector<int> sent_places(size);
    for (size_t i = 0; i < size; ++i) { sent_places[i] = static_cast<int>(i); }
    MPI_Alltoallv(sent.data(), sent_counts.data(), sent_places.data(), mebibyte, received.data(),
                  received_counts.data(), places.data(), mebibyte, MPI_COMM_WORLD);
    if (receives) {
        bool right = true;
        for (size_t i = 0; i < many; ++i) {
            const char* at = received.data() + (i << 20);
            right =
                right && at[0] == static_cast<char>(i % 251 + 1) && at[63] == at[0] && at[64] == 0;
        }
        harness.expect(right, "a message of more than 2 GiB");
    }
    MPI_Type_free(&mebibyte);
}

#ifdef NODEAWARE_MPI_LARGE_COUNTS
void large_count_functions(Harness& harness) {
    const auto size = static_cast<size_t>(harness.size());
    std::vector<int> sent(3 * size);
    for (size_t i = 0; i < sent.size(); ++i) {
        sent[i] = harness.rank() * 100 + static_cast<int>(i);
    }
    const auto is_right = [&](const std::vector<int>& received) {
        for (size_t source = 0; source < size; ++source) {
            for (size_t i = 0; i < 3; ++i) {
                if (received[3 * source + i] !=
                    static_cast<int>(source * 100 + 3 * static_cast<size_t>(harness.rank()) + i)) {
                    return false;
                }
            }
        }
        return true;
    };
    const std::vector<MPI_Count> counts(size, 3);
    std::vector<MPI_Aint> places;
    std::vector<MPI_Aint> addresses;
    const std::vector<MPI_Datatype> types(size, MPI_INT);
    for (size_t i = 0; i < size; ++i) {
        places.push_back(static_cast<MPI_Aint>(3 * i));
        addresses.push_back(static_cast<MPI_Aint>(3 * i * sizeof(int)));
    }
    std::vector<int> received(3 * size, -1);
    MPI_Alltoall_c(sent.data(), 3, MPI_INT, received.data(), 3, MPI_INT, MPI_COMM_WORLD);
    harness.expect(is_right(received), "MPI_Alltoall_c");
    received.assign(3 * size, -1);
    MPI_Alltoallv_c(sent.data(), counts.data(), places.data(), MPI_INT, received.data(),
                    counts.data(), places.data(), MPI_INT, MPI_COMM_WORLD);
    harness.expect(is_right(received), "MPI_Alltoallv_c");
    received.assign(3 * size, -1);
    MPI_Alltoallw_c(sent.data(), counts.data(), addresses.data(), types.data(), received.data(),
                    counts.data(), addresses.data(), types.data(), MPI_COMM_WORLD);
    harness.expect(is_right(received), "MPI_Alltoallw_c");

    std::vector<int> everyone;
    for (int i = 0; i < harness.size(); ++i) { everyone.push_back(i); }
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, harness.size(), everyone.data(), MPI_UNWEIGHTED,
                                   harness.size(), everyone.data(), MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &graph);
    received.assign(3 * size, -1);
    MPI_Neighbor_alltoall_c(sent.data(), 3, MPI_INT, received.data(), 3, MPI_INT, graph);
    harness.expect(is_right(received), "MPI_Neighbor_alltoall_c");
    received.assign(3 * size, -1);
    MPI_Neighbor_alltoallv_c(sent.data(), counts.data(), places.data(), MPI_INT, received.data(),
                             counts.data(), places.data(), MPI_INT, graph);
    harness.expect(is_right(received), "MPI_Neighbor_alltoallv_c");
    received.assign(3 * size, -1);
    MPI_Neighbor_alltoallw_c(sent.data(), counts.data(), addresses.data(), types.data(),
                             received.data(), counts.data(), addresses.data(), types.data(), graph);
    harness.expect(is_right(received), "MPI_Neighbor_alltoallw_c");
    received.assign(3 * size, -1);
    MPI_Neighbor_allgather_c(sent.data(), 3, MPI_INT, received.data(), 3, MPI_INT, graph);
    const int last = (harness.size() - 1) * 100 + 2;
    harness.expect(received[2] == 2 && received.back() == last, "MPI_Neighbor_allgather_c");
    received.assign(3 * size, -1);
    MPI_Neighbor_allgatherv_c(sent.data(), 3, MPI_INT, received.data(), counts.data(),
                              places.data(), MPI_INT, graph);
    harness.expect(received[2] == 2 && received.back() == last, "MPI_Neighbor_allgatherv_c");
    MPI_Comm_free(&graph);
}
#endif

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
#ifdef NODEAWARE_MPI_LARGE_COUNTS
    large_count_functions(harness);
#endif
    far_apart(harness);
    // Both ends in memory, and what MPI keeps under way.
    if (argc > 1 && std::strcmp(argv[1], "with-large-message") == 0) { one_large_message(harness); }
    return harness.finish();
}
