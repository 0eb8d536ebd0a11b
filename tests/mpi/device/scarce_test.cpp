// A rank that has no host memory for a large message of a device, which it is to send or to
// receive: it gets an error, so does who receives from it, and nobody waits for ever.
//
// scarce_test [left_to_mpi [nonblocking]]: who receives gets other bytes then, and no error.

#include "tests/mpi/device/array.hpp"

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
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
    Scarce(int rank, int ranks, bool is_left_to_mpi)
        : rank_(rank), is_left_to_mpi_(is_left_to_mpi), receiver_(ranks - 1),
          counts_(static_cast<std::size_t>(ranks)), places_(counts_.size()) {}

    /// From or to a device, by a rank without memory, and then by the same with memory.
    int wrong(bool sends, bool is_nonblocking) const {
        const bool is_on_device = rank_ == (sends ? sender_ : receiver_);
        const Array source(is_on_device && sends ? Kind::device : Kind::host,
                           rank_ == sender_ ? length : 1);
        const Array target(is_on_device && !sends ? Kind::device : Kind::host,
                           rank_ == receiver_ ? length : 1);
        int wrong = exchange(source, target, 10, is_nonblocking) != MPI_SUCCESS ? 1 : 0; // prepares
        rlimit before{};
        getrlimit(RLIMIT_AS, &before);
        if (is_on_device) { limit_memory(); }
        const int code = exchange(source, target, static_cast<int>(length), is_nonblocking);
        setrlimit(RLIMIT_AS, &before);
        const bool is_concerned = is_on_device || (rank_ == receiver_ && !is_left_to_mpi_);
        if (is_concerned != (code != MPI_SUCCESS)) { ++wrong; }
        MPI_Barrier(MPI_COMM_WORLD); // nobody is still in that exchange
        if (exchange(source, target, static_cast<int>(length), is_nonblocking) != MPI_SUCCESS) {
            ++wrong;
        }
        if (wrong > 0) {
            std::printf("rank %d, %s: %d wrong, code %d\n", rank_, sends ? "sends" : "receives",
                        wrong, code);
        }
        return wrong;
    }

  private:
    int exchange(const Array& source, const Array& target, int each, bool is_nonblocking) const {
        std::vector<int> sent(counts_), received(counts_);
        if (rank_ == sender_) { sent[static_cast<std::size_t>(receiver_)] = each; }
        if (rank_ == receiver_) { received[static_cast<std::size_t>(sender_)] = each; }
        const auto with = [&](auto function, auto... more) {
            return function(source.data(), sent.data(), places_.data(), MPI_INT, target.data(),
                            received.data(), places_.data(), MPI_INT, MPI_COMM_WORLD, more...);
        };
        if (!is_nonblocking) { return with(MPI_Alltoallv); }
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = with(MPI_Ialltoallv, &request);
        return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }

    int rank_;
    bool is_left_to_mpi_;
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
    const bool is_left_to_mpi = argc > 1 && std::string(argv[1]) == "left_to_mpi";
    const Scarce scarce(rank, ranks, is_left_to_mpi);
    const bool is_nonblocking = argc > 2 && std::string(argv[2]) == "nonblocking";
    const int wrong = scarce.wrong(true, is_nonblocking) + scarce.wrong(false, is_nonblocking);
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
