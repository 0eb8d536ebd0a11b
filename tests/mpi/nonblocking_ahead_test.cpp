// Ranks that begin many operations before others begin the first, and then block where others wait
// for these operations first: nobody may need them again.

#include "tests/mpi/harness.hpp"

#include <unistd.h>
#include <vector>

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    constexpr size_t operations = 200;
    const auto size = static_cast<size_t>(harness.size());
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int round = 0; round < 4; ++round) {
        std::vector<int> sent(operations * size);
        std::vector<int> received(operations * size, -1);
        for (size_t i = 0; i < sent.size(); ++i) {
            sent[i] = harness.rank() * 1000000 + static_cast<int>(i) * 4 + round;
        }
        const bool is_ahead = (harness.rank() + round) % 2 == 0;
        if (!is_ahead) { usleep(30000); }
        std::vector<MPI_Request> requests(operations, MPI_REQUEST_NULL);
        for (size_t i = 0; i < operations; ++i) {
            MPI_Ialltoall(&sent[i * size], 1, MPI_INT, &received[i * size], 1, MPI_INT,
                          MPI_COMM_WORLD, &requests[i]);
        }
        if (is_ahead) { MPI_Barrier(other); }
        MPI_Waitall(static_cast<int>(operations), requests.data(), MPI_STATUSES_IGNORE);
        if (!is_ahead) { MPI_Barrier(other); }
        int wrong = 0;
        for (size_t i = 0; i < received.size(); ++i) {
            const size_t source = i % size;
            const size_t place = i / size * size + static_cast<size_t>(harness.rank());
            wrong += received[i] == static_cast<int>(source) * 1000000 +
                                        static_cast<int>(place) * 4 + round
                         ? 0
                         : 1;
        }
        harness.expect(wrong == 0, std::to_string(wrong) + " wrong numbers");
    }
    MPI_Comm_free(&other);
    return harness.finish();
}
