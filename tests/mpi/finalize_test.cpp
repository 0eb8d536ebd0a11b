// finalize_test [threads|atexit|never]
//
// MPI_Finalize first deletes the attributes of MPI_COMM_SELF, and the callbacks that it calls for
// that may still use MPI: one waits here for an operation begun before, and for messages from other
// nodes. threads: with MPI_THREAD_MULTIPLE. atexit: MPI_Finalize is called when the program ends,
// by a function that was registered before MPI_Init, after the destructors of what was loaded
// since. never: it is not called at all.

#include "tests/mpi/harness.hpp"

#include <cstring>
#include <numeric>
#include <vector>

namespace {

constexpr int message_tag = 5;

/// Waited for in a callback.
struct Pending {
    nodeaware::test::Harness* harness;
    std::vector<int> sent, received;
    MPI_Request exchange = MPI_REQUEST_NULL;
    MPI_Request message = MPI_REQUEST_NULL;
    int content = -1;
};
Pending* pending;
int callbacks = 0;

/// The rank that is half a job further is on another node.
int receiver() {
    return (pending->harness->rank() + pending->harness->size() / 2) % pending->harness->size();
}
int sender() {
    return (pending->harness->rank() + (pending->harness->size() + 1) / 2) %
           pending->harness->size();
}

void exchange_messages(int value) {
    auto& harness = *pending->harness;
    int received = -1;
    MPI_Request requests[2];
    MPI_Irecv(&received, 1, MPI_INT, sender(), message_tag, MPI_COMM_WORLD, &requests[0]);
    const int sent = value + harness.rank();
    MPI_Isend(&sent, 1, MPI_INT, receiver(), message_tag, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    harness.expect(received == value + sender(), "a wrong message came");
}

void exchange_all() {
    auto& harness = *pending->harness;
    const auto size = static_cast<size_t>(harness.size());
    std::vector<int> sent(size);
    std::iota(sent.begin(), sent.end(), 100 * harness.rank());
    std::vector<int> received(size, -1);
    MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (size_t i = 0; i < size; ++i) {
        harness.expect(received[i] == 100 * static_cast<int>(i) + harness.rank(),
                       "a wrong block came");
    }
}

void begin() {
    auto& harness = *pending->harness;
    const auto size = static_cast<size_t>(harness.size());
    MPI_Barrier(MPI_COMM_WORLD);
    pending->sent.assign(size, harness.rank());
    pending->received.assign(size, -1);
    MPI_Ialltoall(pending->sent.data(), 1, MPI_INT, pending->received.data(), 1, MPI_INT,
                  MPI_COMM_WORLD, &pending->exchange);
    MPI_Irecv(&pending->content, 1, MPI_INT, MPI_ANY_SOURCE, message_tag + 1, MPI_COMM_WORLD,
              &pending->message);
}

int finish(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
    ++callbacks;
    auto& harness = *pending->harness;
    const int size = harness.size();
    MPI_Wait(&pending->exchange, MPI_STATUS_IGNORE);
    for (int peer = 0; peer < size; ++peer) {
        harness.expect(pending->received[static_cast<size_t>(peer)] == peer,
                       "a wrong block of a nonblocking operation came");
    }
    const int number = harness.rank();
    MPI_Send(&number, 1, MPI_INT, receiver(), message_tag + 1, MPI_COMM_WORLD);
    MPI_Wait(&pending->message, MPI_STATUS_IGNORE);
    harness.expect(pending->content == sender(), "a wrong message came to a receive from anywhere");
    exchange_messages(1000);
    exchange_all();
    return MPI_SUCCESS;
}

int exchange_at_copy(MPI_Comm /*comm*/, int /*keyval*/, void* /*extra*/, void* /*value*/,
                     void* /*copy*/, int* flag) {
    exchange_messages(2000);
    *flag = 1;
    return MPI_SUCCESS;
}

int exchange_at_deletion(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
    exchange_messages(3000);
    return MPI_SUCCESS;
}

/// Gives a communicator an attribute, and copies it once.
int keep_with(MPI_Comm comm, MPI_Comm_copy_attr_function* copy,
              MPI_Comm_delete_attr_function* deletion) {
    int keyval = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(copy, deletion, &keyval, nullptr);
    MPI_Comm_set_attr(comm, keyval, nullptr);
    MPI_Comm duplicate = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &duplicate);
    MPI_Comm_free(&duplicate);
    return keyval;
}

/// The callbacks for other communicators may do the same.
void copy_and_delete() {
    int keyval = keep_with(MPI_COMM_WORLD, exchange_at_copy, exchange_at_deletion);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
    MPI_Comm_free_keyval(&keyval);
}

void finalize() {
    MPI_Finalize();
    const bool good = callbacks == 1 && pending->harness->failures() == 0;
    std::printf(good ? "finished\n" : "FAILED: %d callbacks\n", callbacks);
    if (!good) { std::_Exit(EXIT_FAILURE); }
}

} // namespace

int main(int argc, char** argv) {
    const char* const when = argc > 1 ? argv[1] : "";
    const bool threads = std::strcmp(when, "threads") == 0;
    const bool at_exit = std::strcmp(when, "atexit") == 0;
    if (at_exit) { std::atexit(finalize); }
    static nodeaware::test::Harness harness(&argc, &argv,
                                            threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    pending = new Pending{&harness, {}, {}};
    keep_with(MPI_COMM_SELF, MPI_COMM_NULL_COPY_FN, finish);
    for (int iteration = 0; iteration < 40; ++iteration) {
        exchange_messages(iteration);
        exchange_all();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    copy_and_delete();
    begin();
    if (std::strcmp(when, "never") != 0 && !at_exit) { finalize(); }
    return 0;
}
