// Ranks of which one alone begins to use memory of a device after a while, as often as the library
// needs to agree and to try out other ways: whatever it tries, every rank gets the right bytes, and
// none waits for others that go another way.
//
// mixed_test [host]: `host` stays with memory of the host.

#include "tests/mpi/device/array.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int rounds = 60;
constexpr int rank_with_device = 1;
constexpr int first_round_on_device = 5;

int rank = 0;
int ranks = 0;
int wrong = 0;
bool is_on_host = false;

int value(int source, int destination, int round) {
    return source * 10000 + destination * 100 + round % 100;
}

Kind kind_in(int round) {
    const bool uses = rank == rank_with_device && round >= first_round_on_device;
    return uses && !is_on_host ? Kind::device : Kind::host;
}

void require(bool is_right, const char* what, int round) {
    if (is_right) { return; }
    ++wrong;
    std::printf("rank %d: %s, round %d: wrong bytes\n", rank, what, round);
}

/// Blocks of 0 to 3 ints, or of `scale` times as many.
void alltoallv(MPI_Comm comm, int round, int scale) {
    std::vector<int> counts, places, sent, expected;
    for (int peer = 0; peer < ranks; ++peer) {
        counts.push_back((rank + peer) % 4 * scale);
        places.push_back(static_cast<int>(sent.size()));
        for (int i = 0; i < counts.back(); ++i) {
            sent.push_back(value(rank, peer, round));
            expected.push_back(value(peer, rank, round));
        }
    }
    const Array source(kind_in(round), sent.size());
    const Array target(kind_in(round), sent.size());
    source.write(sent);
    target.write(std::vector<int>(sent.size(), -1));
    MPI_Alltoallv(source.data(), counts.data(), places.data(), MPI_INT, target.data(),
                  counts.data(), places.data(), MPI_INT, comm);
    require(target.read() == expected, "alltoallv", round);
}

/// Blocks of two sizes in turn, what is sent always on the host.
void alltoall(MPI_Comm comm, int round) {
    const int count = round % 2 == 0 ? 1 : 40000;
    std::vector<int> sent, expected;
    for (int peer = 0; peer < ranks; ++peer) {
        sent.insert(sent.end(), static_cast<std::size_t>(count), value(rank, peer, round));
        expected.insert(expected.end(), static_cast<std::size_t>(count), value(peer, rank, round));
    }
    const Array target(kind_in(round), sent.size());
    target.write(std::vector<int>(sent.size(), -1));
    MPI_Alltoall(sent.data(), count, MPI_INT, target.data(), count, MPI_INT, comm);
    require(target.read() == expected, "alltoall", round);
}

} // namespace

int main(int argc, char** argv) {
    is_on_host = argc > 1 && std::string(argv[1]) == "host";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    use_devices();
    // Two communicators of the same ranks, which share what the library keeps for them; the other
    // one never has memory of a device.
    MPI_Comm twin = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    for (int round = 0; round < rounds; ++round) {
        alltoallv(MPI_COMM_WORLD, round, round % 4 == 3 ? 20000 : 1);
        alltoall(MPI_COMM_WORLD, round);
        alltoallv(twin, round % first_round_on_device, 1);
    }
    MPI_Comm_free(&twin);
    int all_wrong = 0;
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all_wrong == 0 ? 0 : 1;
}
