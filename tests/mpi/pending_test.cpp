// Messages of the application that are under way while it is in a collective: a receive for
// anything from anyone must not catch the library's messages, and a rank that waits in a collective
// must let its own sends go on.

#include "tests/mpi/harness.hpp"

#include <vector>

namespace nodeaware::test {

namespace {

constexpr int block = 40;

void exchange(Harness& harness, int salt) {
    const auto size = static_cast<size_t>(harness.size());
    std::vector<int> sent(size * block);
    std::vector<int> received(size * block, -1);
    for (size_t i = 0; i < sent.size(); ++i) {
        sent[i] = salt + harness.rank() * 1000 + static_cast<int>(i);
    }
    MPI_Alltoall(sent.data(), block, MPI_INT, received.data(), block, MPI_INT, MPI_COMM_WORLD);
    bool right = true;
    for (int source = 0; source < harness.size(); ++source) {
        for (int i = 0; i < block; ++i) {
            const int at = source * block + i;
            right = right && received[static_cast<size_t>(at)] ==
                                 salt + source * 1000 + harness.rank() * block + i;
        }
    }
    harness.expect(right, "the exchange is wrong");
}

/// A receive for anything from anyone, posted before exchanges and satisfied after them.
void wildcard_receive(Harness& harness) {
    const int to = (harness.rank() + 1) % harness.size();
    const int from = (harness.rank() + harness.size() - 1) % harness.size();
    int received = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 5; ++i) { exchange(harness, i); }
    int done = 1;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    harness.expect(done == 0, "the receive caught something that the application did not send");
    MPI_Barrier(MPI_COMM_WORLD);
    const int sent = harness.rank() + 500;
    MPI_Send(&sent, 1, MPI_INT, to, 17, MPI_COMM_WORLD);
    MPI_Status status;
    MPI_Wait(&request, &status);
    harness.expect(received == from + 500 && status.MPI_SOURCE == from && status.MPI_TAG == 17,
                   "wrong message");
    MPI_Barrier(MPI_COMM_WORLD);
}

/// Rank 0 sends a message too large to be buffered and goes into the exchange; the receiver goes
/// there only when it has the message.
void large_send_across(Harness& harness) {
    const int last = harness.size() - 1;
    std::vector<int> large(2000000);
    MPI_Request request = MPI_REQUEST_NULL;
    if (harness.rank() == 0) {
        for (size_t i = 0; i < large.size(); ++i) { large[i] = static_cast<int>(i); }
        MPI_Isend(large.data(), static_cast<int>(large.size()), MPI_INT, last, 3, MPI_COMM_WORLD,
                  &request);
    }
    if (harness.rank() == last) {
        MPI_Recv(large.data(), static_cast<int>(large.size()), MPI_INT, 0, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        harness.expect(large[1999999] == 1999999, "the large message is wrong");
    }
    exchange(harness, 7);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    for (int i = 0; i < 3; ++i) {
        wildcard_receive(harness);
        large_send_across(harness);
    }
    return harness.finish();
}
