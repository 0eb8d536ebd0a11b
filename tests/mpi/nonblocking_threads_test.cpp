// nonblocking_threads_test [ROUNDS]
//
// Threads that start and complete nonblocking collectives at the same time, each on a communicator
// of its own, while another is blocked in collectives that are MPI's own.

#include "tests/mpi/harness.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace nodeaware::test {

namespace {

/// One operation: what it sends, and what must come.
class Exchange {
  public:
    Exchange(MPI_Comm comm, int salt, int integers) {
        int rank = 0;
        int size = 0;
        PMPI_Comm_rank(comm, &rank);
        PMPI_Comm_size(comm, &size);
        for (int peer = 0; peer < size; ++peer) {
            for (int i = 0; i < integers; ++i) {
                sent_.push_back(value(salt, rank, peer, i));
                expected_.push_back(value(salt, peer, rank, i));
            }
        }
        received_.assign(expected_.size(), -1);
        MPI_Ialltoall(sent_.data(), integers, MPI_INT, received_.data(), integers, MPI_INT, comm,
                      &request);
    }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    bool is_right() const { return received_ == expected_; }

    MPI_Request request = MPI_REQUEST_NULL;

  private:
    static int value(int salt, int from, int to, int i) {
        return ((salt * 64 + from) * 64 + to) * 1024 + i;
    }

    std::vector<int> sent_;
    std::vector<int> expected_;
    std::vector<int> received_;
};

using Exchanges = std::vector<std::unique_ptr<Exchange>>;

void wait_one_by_one(const Exchanges& exchanges) {
    for (size_t i = exchanges.size(); i-- > 0;) {
        MPI_Wait(&exchanges[i]->request, MPI_STATUS_IGNORE);
    }
}

void test_one_by_one(const Exchanges& exchanges) {
    for (const auto& exchange : exchanges) {
        for (int flag = 0; flag == 0; std::this_thread::yield()) {
            MPI_Test(&exchange->request, &flag, MPI_STATUS_IGNORE);
        }
    }
}

void wait_for_any(const Exchanges& exchanges) {
    std::vector<MPI_Request> requests;
    for (const auto& exchange : exchanges) { requests.push_back(exchange->request); }
    for (size_t left = requests.size(); left > 0; --left) {
        int at = 0;
        MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &at, MPI_STATUS_IGNORE);
    }
}

void wait_for_all(const Exchanges& exchanges) {
    std::vector<MPI_Request> requests;
    for (const auto& exchange : exchanges) { requests.push_back(exchange->request); }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

/// Returns the number of operations with a wrong result.
int exchange_rounds(MPI_Comm comm, int rounds, unsigned seed) {
    static constexpr std::array ways = {wait_one_by_one, test_one_by_one, wait_for_any,
                                        wait_for_all};
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    std::minstd_rand plan(seed);
    std::minstd_rand own(seed + static_cast<unsigned>(rank) * 17 + 1);
    MPI_Barrier(comm); // where the library prepares the communicator
    int wrong = 0;
    for (int round = 0; round < rounds; ++round) {
        Exchanges exchanges;
        const auto count = 1 + plan() % 12;
        const bool has_barrier = plan() % 3 == 0;
        for (unsigned i = 0; i < count; ++i) {
            const auto integers = static_cast<int>(plan() % 8 == 0 ? 700 : 1 + plan() % 5);
            exchanges.push_back(std::make_unique<Exchange>(comm, round, integers));
        }
        // A rank may block in a collective of MPI itself while others wait for what it has begun.
        const bool blocks_first = own() % 2 == 0;
        if (has_barrier && blocks_first) { MPI_Barrier(comm); }
        ways[own() % ways.size()](exchanges);
        if (has_barrier && !blocks_first) { MPI_Barrier(comm); }
        for (const auto& exchange : exchanges) { wrong += exchange->is_right() ? 0 : 1; }
    }
    return wrong;
}

/// Blocks in MPI's own collectives, for which one rank lets the others wait.
int native_rounds(MPI_Comm comm, int rounds) {
    int rank = 0;
    int size = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    int wrong = 0;
    for (int round = 0; round < rounds; ++round) {
        if (round % size == rank) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
        const int mine = rank + round;
        int sum = 0;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
        wrong += sum == size * (size - 1) / 2 + size * round ? 0 : 1;
    }
    return wrong;
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv, MPI_THREAD_MULTIPLE);
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 40;
    std::array<MPI_Comm, 3> comms{};
    for (MPI_Comm& comm : comms) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, &comm == comms.data() ? 0 : -harness.rank(), &comm);
    }
    std::array<int, 3> wrong{};
    std::thread first([&] { wrong[0] = exchange_rounds(comms[0], rounds, 1); });
    std::thread second([&] { wrong[1] = exchange_rounds(comms[1], rounds, 2); });
    wrong[2] = native_rounds(comms[2], rounds);
    first.join();
    second.join();
    for (const int number : wrong) {
        harness.expect(number == 0, std::to_string(number) + " wrong results");
    }
    for (MPI_Comm& comm : comms) { MPI_Comm_free(&comm); }
    return harness.finish();
}
