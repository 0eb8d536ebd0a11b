#pragma once

#include "tests/mpi/engine_limits.hpp"

namespace nodeaware::test {

/// All ranks exchange with all others, in ways that only together are more than the library could
/// do: senders that wait for their receiver, and receivers that go into a collective call while
/// receives with wildcards wait.
class Synchronous {
  public:
    explicit Synchronous(Program& program) : program_(program) {}

    void repeat(int count, bool waits, bool wildcards) {
        for (int i = 0; i < count; ++i) { exchange(i, waits, wildcards); }
    }

  private:
    void exchange(int value, bool waits, bool wildcards) {
        const int size = program_.harness.size();
        std::vector<int> received(static_cast<size_t>(size), -1);
        std::vector<MPI_Request> requests;
        for (int peer = 0; peer < size; ++peer) {
            if (peer == program_.rank) { continue; }
            MPI_Irecv(&received[static_cast<size_t>(peer)], 1, MPI_INT,
                      wildcards ? MPI_ANY_SOURCE : peer, Program::learned_tag, MPI_COMM_WORLD,
                      &requests.emplace_back());
        }
        received[static_cast<size_t>(program_.rank)] = value;
        // Each waits for a receiver that is in the barrier, but for the last.
        for (int turn = 0; turn < size; ++turn) {
            if (turn == program_.rank) { send(value, waits, requests); }
            if (wildcards) { MPI_Barrier(program_.side); }
        }
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        program_.harness.expect(std::count(received.begin(), received.end(), value) == size,
                                "wrong values");
        MPI_Barrier(program_.side); // what is sent next is not for these receives
    }

    void send(const int& value, bool waits, std::vector<MPI_Request>& requests) {
        for (int peer = 0; peer < program_.harness.size(); ++peer) {
            if (peer == program_.rank) { continue; }
            if (waits) {
                MPI_Ssend(&value, 1, MPI_INT, peer, Program::learned_tag, MPI_COMM_WORLD);
            } else {
                MPI_Isend(&value, 1, MPI_INT, peer, Program::learned_tag, MPI_COMM_WORLD,
                          &requests.emplace_back());
            }
        }
    }

    Program& program_;
};

/// First the one, then the other, then both.
inline void synchronous(Program& program, int count) {
    Synchronous exchanges(program);
    exchanges.repeat(count, true, false);
    exchanges.repeat(count, false, true);
    exchanges.repeat(count, true, true);
}

} // namespace nodeaware::test
