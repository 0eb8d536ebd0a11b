// Persistent exchanges that each rank starts in an order of its own, more of them than the library
// takes on a communicator, among nonblocking ones: each has to get what belongs to it.

#include "tests/mpi/nonblocking_case.hpp"

#include <deque>
#include <unistd.h>

namespace nodeaware::test {

#ifdef NODEAWARE_TEST_PERSISTENT

namespace {

/// The exchange with this number on its communicator: an int from each rank to each other.
struct Numbered {
    Numbered(int number_, MPI_Comm comm_) : number(number_), comm(comm_) {
        MPI_Comm_rank(comm, &rank);
        int size = 0;
        MPI_Comm_size(comm, &size);
        sent.resize(static_cast<size_t>(size));
        received.resize(sent.size());
    }

    void make() {
        NODEAWARE_TEST_PERSISTENT(Alltoall)
        (sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm, MPI_INFO_NULL, &request);
    }
    /// `time`: how often it has been started, the same on all ranks.
    void fill(int time) {
        for (size_t peer = 0; peer < sent.size(); ++peer) {
            sent[peer] = value(rank, static_cast<int>(peer), time);
            received[peer] = -1;
        }
    }
    bool is_right(int time) const {
        bool all = true;
        for (size_t peer = 0; peer < received.size(); ++peer) {
            all &= received[peer] == value(static_cast<int>(peer), rank, time);
        }
        return all;
    }
    int value(int source, int destination, int time) const {
        return ((number * 32 + time) * 32 + source) * 32 + destination;
    }

    int number;
    MPI_Comm comm;
    int rank = 0;
    std::vector<int> sent;
    std::vector<int> received;
    MPI_Request request = MPI_REQUEST_NULL;
};

using Exchanges = std::deque<Numbered>;

std::vector<Numbered*> shuffled(Exchanges& exchanges, Random& own) {
    std::vector<Numbered*> order;
    for (Numbered& exchange : exchanges) { order.push_back(&exchange); }
    std::shuffle(order.begin(), order.end(), own);
    return order;
}

/// All are started, and a nonblocking one begins among them, which is their order on all ranks.
void run_all(Harness& harness, Exchanges& exchanges, Random& own, int time) {
    Numbered among(1000, exchanges.front().comm);
    among.fill(time);
    const auto starts = shuffled(exchanges, own);
    const auto place = static_cast<size_t>(draw(own, 0, static_cast<int>(exchanges.size()) - 1));
    for (size_t i = 0; i < starts.size(); ++i) {
        if (i == place) {
            MPI_Ialltoall(among.sent.data(), 1, MPI_INT, among.received.data(), 1, MPI_INT,
                          among.comm, &among.request);
        }
        starts[i]->fill(time);
        MPI_Start(&starts[i]->request);
        if (draw(own, 0, 20) == 0) { usleep(static_cast<useconds_t>(draw(own, 1, 2000))); }
    }
    for (Numbered* const exchange : shuffled(exchanges, own)) {
        MPI_Wait(&exchange->request, MPI_STATUS_IGNORE);
        harness.expect(exchange->is_right(time),
                       "exchange " + std::to_string(exchange->number) + ": data of another one");
    }
    MPI_Wait(&among.request, MPI_STATUS_IGNORE);
    harness.expect(among.is_right(time), "nonblocking exchange: data of another one");
}

void run_rounds(Harness& harness, MPI_Comm comm) {
    constexpr int many = 40; // 32 are the library's
    Random plan(1);
    Random own(static_cast<uint64_t>(harness.rank()) + 2);
    Exchanges exchanges;
    int made = 0;
    for (int time = 0; time < 4; ++time) {
        while (exchanges.size() < many) {
            exchanges.emplace_back(made++, comm);
            exchanges.back().make();
        }
        run_all(harness, exchanges, own, time);
        // Each rank is done with others when the next are made.
        std::shuffle(exchanges.begin(), exchanges.end(), plan);
        for (int i = 0; i < many / 3; ++i) {
            MPI_Request_free(&exchanges.back().request);
            exchanges.pop_back();
        }
    }
    for (Numbered* const exchange : shuffled(exchanges, own)) {
        MPI_Request_free(&exchange->request);
    }
}

/// To make a request is local where the communicator is prepared from the beginning: who comes late
/// may wait for a message of one that has made it.
void make_late(Harness& harness, MPI_Comm comm) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    Numbered exchange(2000, comm);
    int token = 7;
    if (rank == 0) {
        exchange.make();
        for (int peer = 1; peer < size; ++peer) { MPI_Send(&token, 1, MPI_INT, peer, 1, comm); }
    } else {
        MPI_Recv(&token, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
        exchange.make();
    }
    exchange.fill(0);
    MPI_Start(&exchange.request);
    MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
    harness.expect(exchange.is_right(0), "wrong data in an exchange that is made late");
    MPI_Request_free(&exchange.request);
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
/// Functions that ask for several requests and leave them as they are.
void ask_for_several(Harness& harness) {
    enum { all, any, some };
    for (const int function : {all, any, some}) {
        Numbered exchange(4000 + function, MPI_COMM_WORLD);
        exchange.make();
        exchange.fill(0);
        // The others ask while it is under way.
        if (harness.rank() == 0) { usleep(20000); }
        MPI_Start(&exchange.request);
        for (int is_over = 0; is_over == 0;) {
            int index = -1;
            if (function == all) {
                MPI_Request_get_status_all(1, &exchange.request, &is_over, MPI_STATUSES_IGNORE);
            } else if (function == any) {
                MPI_Request_get_status_any(1, &exchange.request, &index, &is_over,
                                           MPI_STATUS_IGNORE);
            } else {
                MPI_Request_get_status_some(1, &exchange.request, &is_over, &index,
                                            MPI_STATUSES_IGNORE);
            }
        }
        harness.expect(exchange.is_right(0), "an exchange was said to be over that is not");
        MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
        MPI_Request_free(&exchange.request);
    }
}
#else
void ask_for_several(Harness& /*harness*/) {}
#endif

/// Collectives cannot be cancelled. Open MPI says so; MPICH ends the job.
void try_to_cancel(Harness& harness) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    Numbered exchange(3000, MPI_COMM_WORLD);
    Numbered other(3001, MPI_COMM_WORLD);
    exchange.make();
    exchange.fill(0);
    other.fill(0);
    MPI_Start(&exchange.request);
    MPI_Ialltoall(other.sent.data(), 1, MPI_INT, other.received.data(), 1, MPI_INT, MPI_COMM_WORLD,
                  &other.request);
    for (MPI_Request* const request : {&exchange.request, &other.request}) {
        int kind = MPI_SUCCESS;
        MPI_Error_class(MPI_Cancel(request), &kind);
        harness.expect(kind == MPI_ERR_REQUEST, "a collective was cancelled");
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    harness.expect(exchange.is_right(0) && other.is_right(0),
                   "wrong data in an exchange that is not cancelled");
    MPI_Request_free(&exchange.request);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/// A communicator that is freed while its exchange is under way.
void outlive(Harness& harness) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    Numbered exchange(1, comm);
    exchange.make();
    exchange.fill(0);
    MPI_Start(&exchange.request);
    MPI_Comm_free(&comm);
    MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
    harness.expect(exchange.is_right(0), "wrong data after the communicator was freed");
    MPI_Request_free(&exchange.request);
}

} // namespace

#endif

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
#ifdef NODEAWARE_TEST_PERSISTENT
    make_late(harness, MPI_COMM_WORLD);
    ask_for_several(harness); // before there are so many that MPI has them: MPICH fails
    MPI_Comm line = MPI_COMM_NULL;
    const int length = harness.size();
    const int is_periodic = 0;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &length, &is_periodic, 0, &line);
    make_late(harness, line);
    MPI_Comm_free(&line);
    run_rounds(harness, MPI_COMM_WORLD);
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, harness.rank() % 4 == 0 ? 0 : 1, 0, &half);
    run_rounds(harness, half);
    MPI_Comm_free(&half);
    if (!mpich) { try_to_cancel(harness); }
    if (!freed_communicators_are_broken) { outlive(harness); }
#else
    harness.skip("this MPI has no persistent collective operations");
#endif
    return harness.finish();
}
