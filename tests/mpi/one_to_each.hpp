#pragma once

#include "tests/mpi/harness.hpp"

#include <vector>

namespace nodeaware::test {

/// A batch: one message from each rank to each other one and to itself.
inline void one_to_each(Harness& harness, MPI_Comm comm, int iteration) {
    const int ranks = harness.size();
    const std::vector<int> sent(static_cast<size_t>(ranks), iteration * 100 + harness.rank());
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

} // namespace nodeaware::test
