// A rank that has no host memory for a large message of a device, which it is to send or to
// receive: it gets an error, so does who receives from it, and nobody waits for ever.

#include "tests/mpi/device/array.hpp"

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace {

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

/// One rank of the first node sends to one of the last.
class Scarce {
  public:
    Scarce(int rank, int ranks)
        : rank_(rank), receiver_(ranks - 1), counts_(static_cast<std::size_t>(ranks)),
          places_(counts_.size()) {}

    /// From or to a device, by a rank without memory, and then by the same with memory.
    int wrong(bool sends) const {
        const bool is_on_device = rank_ == (sends ? sender_ : receiver_);
        const Array source(is_on_device && sends ? Kind::device : Kind::host,
                           rank_ == sender_ ? length : 1);
        const Array target(is_on_device && !sends ? Kind::device : Kind::host,
                           rank_ == receiver_ ? length : 1);
        int wrong = exchange(source, target, 10) != MPI_SUCCESS ? 1 : 0; // prepares
        rlimit before{};
        getrlimit(RLIMIT_AS, &before);
        if (is_on_device) { limit_memory(); }
        const int code = exchange(source, target, static_cast<int>(length));
        setrlimit(RLIMIT_AS, &before);
        const bool is_concerned = is_on_device || rank_ == receiver_;
        if (is_concerned != (code != MPI_SUCCESS)) { ++wrong; }
        MPI_Barrier(MPI_COMM_WORLD); // nobody is still in that exchange
        if (exchange(source, target, static_cast<int>(length)) != MPI_SUCCESS) { ++wrong; }
        if (wrong > 0) {
            std::printf("rank %d, %s: %d wrong, code %d\n", rank_, sends ? "sends" : "receives",
                        wrong, code);
        }
        return wrong;
    }

  private:
    int exchange(const Array& source, const Array& target, int each) const {
        std::vector<int> sent(counts_), received(counts_);
        if (rank_ == sender_) { sent[static_cast<std::size_t>(receiver_)] = each; }
        if (rank_ == receiver_) { received[static_cast<std::size_t>(sender_)] = each; }
        return MPI_Alltoallv(source.data(), sent.data(), places_.data(), MPI_INT, target.data(),
                             received.data(), places_.data(), MPI_INT, MPI_COMM_WORLD);
    }

    int rank_;
    int sender_ = 1;
    int receiver_;
    std::vector<int> counts_;
    std::vector<int> places_;
};

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
    const Scarce scarce(rank, ranks);
    const int wrong = scarce.wrong(true) + scarce.wrong(false);
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
