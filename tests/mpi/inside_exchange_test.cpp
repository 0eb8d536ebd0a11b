// inside_exchange_test
//
// An even number of ranks. Every other one is inside a blocking exchange on MPI_COMM_WORLD, with a
// receive that waits, while a rank that has yet to come there waits for its synchronous send to be
// matched. Connections have been handed over: who waits in the exchange is to look after the
// messages of the others.

#include "tests/mpi/one_to_each.hpp"

#include <vector>

namespace {

using nodeaware::test::Harness;

constexpr int tag = 4;

void meet(Harness& harness, int iteration) {
    const auto ranks = static_cast<size_t>(harness.size());
    const std::vector<int> sent(ranks, iteration * 100 + harness.rank());
    std::vector<int> received(ranks, -1);
    MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (size_t peer = 0; peer < ranks; ++peer) {
        harness.expect(received[peer] == iteration * 100 + static_cast<int>(peer),
                       "a wrong block came");
    }
}

/// Rank n + 1 receives from rank n, one of which is inside the exchange before the other.
void send_to_who_is_inside(Harness& harness, int iteration, int source) {
    const int ranks = harness.size();
    const int rank = harness.rank();
    const bool comes_late = (rank + iteration) % 2 != 0;
    int value = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    if (comes_late) {
        value = rank;
        MPI_Issend(&value, 1, MPI_INT, (rank + 1) % ranks, tag, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        meet(harness, iteration);
    } else {
        const int before = (rank + ranks - 1) % ranks;
        MPI_Irecv(&value, 1, MPI_INT, source == MPI_ANY_SOURCE ? source : before, tag,
                  MPI_COMM_WORLD, &request);
        meet(harness, iteration);
        MPI_Status status;
        MPI_Wait(&request, &status);
        harness.expect(value == before && status.MPI_SOURCE == before,
                       "a wrong message came to who was inside");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

} // namespace

int main(int argc, char** argv) {
    Harness harness(&argc, &argv);
    for (int iteration = 0; iteration < 40; ++iteration) {
        nodeaware::test::one_to_each(harness, MPI_COMM_WORLD, iteration);
        meet(harness, iteration);
    }
    for (int iteration = 0; iteration < 8; ++iteration) {
        send_to_who_is_inside(harness, iteration, MPI_ANY_SOURCE);
        send_to_who_is_inside(harness, iteration, 0);
        nodeaware::test::one_to_each(harness, MPI_COMM_WORLD, iteration);
    }
    return harness.finish();
}
