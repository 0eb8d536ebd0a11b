// learning_test [CALLS]
//
// The same exchange often enough for the library to try out other ways: whatever it tries, the
// result must be right, and it must find its way back.

#include "tests/mpi/harness.hpp"

#include <vector>

namespace nodeaware::test {

namespace {

int value(int source, int destination, int round) {
    return source * 10000 + destination * 100 + round % 100;
}

/// Alltoallv whose counts differ by rank; some blocks are empty.
void exchange(Harness& harness, MPI_Comm comm, int round, bool grows) {
    const int scale = grows && round % 50 == 49 ? 500 : 1;
    std::vector<int> counts, places, sent, expected;
    for (int peer = 0; peer < harness.size(); ++peer) {
        counts.push_back((harness.rank() + peer) % 4 * scale);
        places.push_back(static_cast<int>(sent.size()));
        for (int i = 0; i < counts.back(); ++i) {
            sent.push_back(value(harness.rank(), peer, round));
            expected.push_back(value(peer, harness.rank(), round));
        }
    }
    std::vector<int> received(expected.size(), -1);
    MPI_Alltoallv(sent.data(), counts.data(), places.data(), MPI_INT, received.data(),
                  counts.data(), places.data(), MPI_INT, comm);
    harness.expect(received == expected, "alltoallv, round " + std::to_string(round));
}

/// Blocks of several sizes in turn: each is learned about by itself.
void exchange_uniform(Harness& harness, MPI_Comm comm, int round) {
    const int count = 1 << (round % 3 * 4);
    const auto block = static_cast<size_t>(count);
    std::vector<int> sent, expected;
    for (int peer = 0; peer < harness.size(); ++peer) {
        sent.insert(sent.end(), block, value(harness.rank(), peer, round));
        expected.insert(expected.end(), block, value(peer, harness.rank(), round));
    }
    std::vector<int> received(expected.size(), -1);
    MPI_Alltoall(sent.data(), count, MPI_INT, received.data(), count, MPI_INT, comm);
    harness.expect(received == expected, "alltoall, round " + std::to_string(round));
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    const int calls = argc > 1 ? std::atoi(argv[1]) : 900;
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int round = 0; round < calls; ++round) {
        exchange(harness, MPI_COMM_WORLD, round, false);
        exchange(harness, copy, round, true);
        exchange_uniform(harness, copy, round);
    }
    MPI_Comm_free(&copy);
    return harness.finish();
}
