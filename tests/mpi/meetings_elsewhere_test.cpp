// meetings_elsewhere_test
//
// All ranks exchange messages on a communicator and meet only on the one that it was made from: the
// library is to learn from that, too. Run with NODEAWARE_REPORT=1, which tells.

#include "tests/mpi/harness.hpp"

#include <vector>

namespace {

/// One message from each rank to each other one.
void exchange(nodeaware::test::Harness& harness, MPI_Comm comm, int iteration) {
    const int ranks = harness.size();
    std::vector<int> sent(static_cast<size_t>(ranks), iteration * 100 + harness.rank());
    std::vector<int> received(static_cast<size_t>(ranks), -1);
    std::vector<MPI_Request> requests;
    for (int peer = 0; peer < ranks; ++peer) {
        MPI_Irecv(&received[static_cast<size_t>(peer)], 1, MPI_INT, peer, 3, comm,
                  &requests.emplace_back());
    }
    for (int peer = 0; peer < ranks; ++peer) {
        MPI_Isend(&sent[static_cast<size_t>(peer)], 1, MPI_INT, peer, 3, comm,
                  &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (int peer = 0; peer < ranks; ++peer) {
        harness.expect(received[static_cast<size_t>(peer)] == iteration * 100 + peer,
                       "a wrong message came");
    }
}

} // namespace

int main(int argc, char** argv) {
    nodeaware::test::Harness harness(&argc, &argv);
    const int sizes[] = {harness.size()};
    const int periods[] = {1};
    MPI_Comm ring = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, periods, 0, &ring);
    for (int iteration = 0; iteration < 40; ++iteration) {
        exchange(harness, ring, iteration);
        int sum = 0;
        MPI_Allreduce(&iteration, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        harness.expect(sum == iteration * harness.size(), "a wrong sum");
    }
    MPI_Comm_free(&ring);
    return harness.finish();
}
