// meetings_elsewhere_test
//
// All ranks exchange messages on a communicator and meet only on the one that it was made from: the
// library is to learn from that, too. Run with NODEAWARE_REPORT=1, which tells.

#include "tests/mpi/one_to_each.hpp"

int main(int argc, char** argv) {
    nodeaware::test::Harness harness(&argc, &argv);
    const int sizes[] = {harness.size()};
    const int periods[] = {1};
    MPI_Comm ring = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, periods, 0, &ring);
    for (int iteration = 0; iteration < 40; ++iteration) {
        nodeaware::test::one_to_each(harness, ring, iteration);
        int sum = 0;
        MPI_Allreduce(&iteration, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        harness.expect(sum == iteration * harness.size(), "a wrong sum");
    }
    MPI_Comm_free(&ring);
    return harness.finish();
}
