// sendrecv_test [ROUNDS]
//
// A loop of nothing but MPI_Sendrecv, in which ranks wait inside MPI: they must see nevertheless
// that others propose to hand messages over, and answer. Whether any went through the library the
// report tells.

#include "tests/mpi/harness.hpp"

#include <array>
#include <cstdlib>

int main(int argc, char** argv) {
    nodeaware::test::Harness harness(&argc, &argv);
    constexpr int tag = 5;
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 400;
    const int rank = harness.rank();
    const int size = harness.size();
    for (int round = 0; round < rounds; ++round) {
        const int distance = 2 + round % 2; // to other nodes of two ranks
        const int from = (rank + size - distance) % size;
        const std::array<int, 2> sent = {rank, round};
        std::array<int, 2> received = {};
        MPI_Sendrecv(sent.data(), 2, MPI_INT, (rank + distance) % size, tag, received.data(), 2,
                     MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        harness.expect(received == std::array{from, round}, "wrong data");
    }
    return harness.finish();
}
