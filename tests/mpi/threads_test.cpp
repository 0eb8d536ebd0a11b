// Threads that exchange at the same time, each on a communicator of its own.

#include "tests/mpi/harness.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace nodeaware::test {

namespace {

/// One exchange; true if the result is right.
bool exchange(MPI_Comm comm, int salt, int bytes) {
    int rank = 0;
    int size = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    std::vector<char> sent;
    for (int peer = 0; peer < size; ++peer) {
        sent.insert(sent.end(), static_cast<size_t>(bytes),
                    static_cast<char>(salt + rank * 16 + peer));
    }
    std::vector<char> received(sent.size());
    MPI_Alltoall(sent.data(), bytes, MPI_CHAR, received.data(), bytes, MPI_CHAR, comm);
    for (size_t i = 0; i < received.size(); ++i) {
        if (received[i] != static_cast<char>(salt + static_cast<int>(i) / bytes * 16 + rank)) {
            return false;
        }
    }
    return true;
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv, MPI_THREAD_MULTIPLE);
    constexpr int threads = 3;
    constexpr int rounds = 60;
    std::vector<MPI_Comm> comms(threads, MPI_COMM_NULL);
    for (int i = 0; i < threads; ++i) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 == 0 ? 0 : -harness.rank(),
                       &comms[static_cast<size_t>(i)]);
    }
    std::atomic<int> wrong = 0;
    std::vector<std::thread> running;
    running.reserve(threads);
    for (int i = 0; i < threads; ++i) {
        running.emplace_back([&, i] {
            for (int round = 0; round < rounds; ++round) {
                const int bytes = round % 7 == 0 ? 3000 : 8 * (i + 1);
                if (!exchange(comms[static_cast<size_t>(i)], round, bytes)) { ++wrong; }
                if (round % 20 == 19) { // communicators come and go as well
                    MPI_Comm copy = MPI_COMM_NULL;
                    MPI_Comm_dup(comms[static_cast<size_t>(i)], &copy);
                    if (!exchange(copy, round, 16)) { ++wrong; }
                    MPI_Comm_free(&copy);
                }
            }
        });
    }
    for (std::thread& thread : running) { thread.join(); }
    harness.expect(wrong == 0, std::to_string(wrong) + " wrong exchanges");
    for (MPI_Comm& comm : comms) { MPI_Comm_free(&comm); }
    return harness.finish();
}
