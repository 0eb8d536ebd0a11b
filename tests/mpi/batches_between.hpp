#pragma once

#include "tests/mpi/batches_completion.hpp"
#include "tests/mpi/batches_plan.hpp"

namespace nodeaware::test {

/// MPICH 4.0.2: Alltoallv on a communicator of one rank does not end while messages of persistent
/// requests to itself are under way (three ranks, each with such a communicator).
inline const bool lone_alltoallv_is_broken = !is_open_mpi();

inline void add_up(const Log& log, MPI_Comm comm, int value) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const std::array<int, 2> mine = {value + rank, value};
    std::array<int, 2> sum = {};
    MPI_Allreduce(mine.data(), sum.data(), 2, MPI_INT, MPI_SUM, comm);
    log.expect(sum[0] == value * size + size * (size - 1) / 2 && sum[1] == value * size,
               "wrong sum");
}

inline void exchange_varying(const Log& log, MPI_Comm comm, int value) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (lone_alltoallv_is_broken && size == 1) { return; }
    std::vector<int> to;
    std::vector<int> from;
    std::vector<int> to_at;
    std::vector<int> from_at;
    std::vector<int> sent;
    std::vector<int> expected;
    for (int other = 0; other < size; ++other) {
        to.push_back((rank + 2 * other + value) % 5);
        from.push_back((other + 2 * rank + value) % 5);
        to_at.push_back(static_cast<int>(sent.size()));
        from_at.push_back(static_cast<int>(expected.size()));
        sent.insert(sent.end(), static_cast<size_t>(to.back()), value + rank * size + other);
        expected.insert(expected.end(), static_cast<size_t>(from.back()),
                        value + other * size + rank);
    }
    std::vector<int> got(expected.size());
    MPI_Alltoallv(sent.data(), to.data(), to_at.data(), MPI_INT, got.data(), from.data(),
                  from_at.data(), MPI_INT, comm);
    log.expect(got == expected, "wrong Alltoallv");
}

/// Messages around a ring of a communicator that was just made, which is then freed.
inline void use_and_free(const Log& log, MPI_Comm comm, int value) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int left = (rank + size - 1) % size;
    for (int round = value % 4; round >= 0; --round) {
        const std::array<int, 3> sent = {rank, value, round};
        std::array<int, 3> got = {};
        MPI_Sendrecv(sent.data(), 3, MPI_INT, (rank + 1) % size, 1, got.data(), 3, MPI_INT, left, 1,
                     comm, MPI_STATUS_IGNORE);
        log.expect(got == std::array{left, value, round}, "wrong ring message on a new one");
        add_up(log, comm, round);
    }
    MPI_Comm_free(&comm);
}

inline void between(const Log& log, MPI_Comm comm, Between what, int value) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm made = MPI_COMM_NULL;
    int sent = rank == value % size ? value : -1;
    switch (what) {
    case Between::allreduce: add_up(log, comm, value); break;
    case Between::barrier: MPI_Barrier(comm); break;
    case Between::bcast:
        MPI_Bcast(&sent, 1, MPI_INT, value % size, comm);
        log.expect(sent == value, "wrong Bcast");
        break;
    case Between::alltoallv: exchange_varying(log, comm, value); break;
    case Between::dup:
        MPI_Comm_dup(comm, &made);
        use_and_free(log, made, value);
        break;
    default: MPI_Comm_split(comm, (rank + value) % 2, rank, &made); use_and_free(log, made, value);
    }
}

} // namespace nodeaware::test
