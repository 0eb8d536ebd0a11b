// A rank that has no host memory for a large message of a device: it gets an error, so does the
// receiver, and nobody waits for ever.

#include "tests/mpi/device/array.hpp"

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int sender = 1;
constexpr std::size_t length = std::size_t{20} << 20; ///< ints

/// No more address space than is in use, and a little.
void limit_memory() {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + (16 << 20);
    setrlimit(RLIMIT_AS, &limit);
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    driver_must(cuInit(0), "cuInit");
    driver_must(cuDevicePrimaryCtxRetain(contexts.data(), 0), "context");
    const int receiver = ranks - 1;
    std::vector<int> counts(static_cast<std::size_t>(ranks)), places(counts.size());
    const auto exchange = [&](const Array& source, const Array& target, int each) {
        std::vector<int> sent(counts.size()), received(counts.size());
        if (rank == sender) { sent[static_cast<std::size_t>(receiver)] = each; }
        if (rank == receiver) { received[sender] = each; }
        return MPI_Alltoallv(source.data(), sent.data(), places.data(), MPI_INT, target.data(),
                             received.data(), places.data(), MPI_INT, MPI_COMM_WORLD);
    };
    const Array source(rank == sender ? Kind::device : Kind::host, rank == sender ? length : 1);
    const Array target(Kind::host, rank == receiver ? length : 1);
    int wrong = 0;
    if (exchange(source, target, 10) != MPI_SUCCESS) { ++wrong; } // prepares
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    if (rank == sender) { limit_memory(); }
    const int code = exchange(source, target, static_cast<int>(length));
    setrlimit(RLIMIT_AS, &before);
    const bool is_concerned = rank == sender || rank == receiver;
    if (is_concerned && code == MPI_SUCCESS) { ++wrong; }
    if (exchange(source, target, static_cast<int>(length)) != MPI_SUCCESS) { ++wrong; }
    if (wrong > 0) { std::printf("rank %d: %d wrong, code %d\n", rank, wrong, code); }
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
