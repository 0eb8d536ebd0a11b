// Functions of the application that MPI calls: they talk to other ranks, and these listen as
// always, when messages from point to point travel together.

#include "tests/mpi/harness.hpp"

#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace nodeaware::test {

namespace {

constexpr int question = 77;
constexpr int answer = 78;

int last = 0; ///< the rank that is talked to
bool throws = false;
bool nests = false; ///< errs itself, and catches what that throws
int caught_inside = 0;
int talks = 0; ///< of this rank

/// One message there, one back.
void talk() {
    int said = ++talks;
    int heard = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&heard, 1, MPI_INT, last, answer, MPI_COMM_WORLD, &request);
    MPI_Send(&said, 1, MPI_INT, last, question, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (heard != said + 1) { talks = -1000; }
}

void listen() {
    int heard = 0;
    MPI_Recv(&heard, 1, MPI_INT, 0, question, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const int said = heard + 1;
    MPI_Send(&said, 1, MPI_INT, 0, answer, MPI_COMM_WORLD);
}

struct Thrown : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void answer_to_error() {
    if (nests) {
        nests = false;
        try {
            MPI_Send(&talks, -1, MPI_INT, last, question, MPI_COMM_WORLD);
        } catch (const Thrown&) { ++caught_inside; }
        return;
    }
    talk();
    if (throws) { throw Thrown("as wanted"); }
}

void handle(MPI_Comm* /*comm*/, int* /*code*/, ...) { answer_to_error(); }
void handle_file(MPI_File* /*file*/, int* /*code*/, ...) { answer_to_error(); }

/// It may be called as often as anybody likes.
int query(void* /*state*/, MPI_Status* status) {
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int release(void* /*state*/) {
    talk();
    return MPI_SUCCESS;
}

int cancel(void* /*state*/, int /*is_complete*/) { return MPI_SUCCESS; }

void generalized(int others) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Grequest_start(query, release, cancel, nullptr, &requests[0]);
    MPI_Grequest_complete(requests[0]);
    MPI_Waitall(1 + others, requests, MPI_STATUSES_IGNORE);
}

int remove_attribute(MPI_Datatype /*type*/, int /*key*/, void* /*value*/, void* state) {
    if (*static_cast<int*>(state) == question) { talk(); }
    return MPI_SUCCESS;
}

/// The type goes when the message has come.
void receive_with_attribute() {
    int key = MPI_KEYVAL_INVALID;
    static std::array<int, 1000> states = {}; // each makes a kind of its own
    for (int& state : states) {
        state = question;
        if (key != MPI_KEYVAL_INVALID) { MPI_Type_free_keyval(&key); }
        MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, remove_attribute, &key, &state);
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(4, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_set_attr(type, key, nullptr);
    std::array<int, 12> received = {};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(received.data(), 1, type, last, 1, MPI_COMM_WORLD, &request);
    MPI_Type_free(&type);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free_keyval(&key);
}

void warm_up(int rank, int size) {
    for (int round = 0; round < 60; ++round) {
        std::vector<int> in(static_cast<size_t>(size)), out(in.size(), round);
        std::vector<MPI_Request> requests;
        for (int peer = 0; peer < size; ++peer) {
            if (peer == rank) { continue; }
            MPI_Irecv(&in[static_cast<size_t>(peer)], 1, MPI_INT, peer, 1, MPI_COMM_WORLD,
                      &requests.emplace_back());
        }
        for (int peer = 0; peer < size; ++peer) {
            if (peer == rank) { continue; }
            MPI_Isend(&out[static_cast<size_t>(peer)], 1, MPI_INT, peer, 1, MPI_COMM_WORLD,
                      &requests.emplace_back());
        }
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    const int rank = harness.rank();
    last = harness.size() - 1;
    warm_up(rank, harness.size());
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(handle, &handler);
    if (rank == 0) { MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler); }
    MPI_Errhandler_free(&handler);
    MPI_File_create_errhandler(handle_file, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    MPI_Errhandler_free(&handler);

    int ints[4] = {0, 0, 0, 0};
    int flag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    const auto large_message = [&] { MPI_Send(ints, 4, MPI_INT, 0, 4, MPI_COMM_WORLD); };
    struct Case {
        std::string name;
        std::function<void()> first, last;
        bool is_request = false;
    };
    const auto nothing = [] {};
    const std::array cases = {
        Case{"send", [&] { MPI_Send(ints, -1, MPI_INT, last, 3, MPI_COMM_WORLD); }, nothing},
        Case{"isend", [&] { MPI_Isend(ints, -1, MPI_INT, last, 3, MPI_COMM_WORLD, &request); },
             nothing},
        Case{"iprobe", [&] { MPI_Iprobe(9999, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); },
             nothing},
        Case{"file",
             [&] {
                 MPI_File file = MPI_FILE_NULL;
                 MPI_File_open(MPI_COMM_SELF, "/none/there", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
             },
             nothing},
        Case{"bcast", [&] { MPI_Bcast(ints, -1, MPI_INT, 0, MPI_COMM_WORLD); }, nothing},
        Case{"recv",
             [&] { MPI_Recv(ints, 1, MPI_INT, last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE); },
             large_message},
        Case{"wait",
             [&] {
                 MPI_Irecv(ints, 1, MPI_INT, last, 4, MPI_COMM_WORLD, &request);
                 MPI_Wait(&request, MPI_STATUS_IGNORE);
             },
             large_message},
        Case{"request", [] { generalized(0); }, nothing, true},
        Case{"request and none", [] { generalized(1); }, nothing, true},
        Case{"attribute", receive_with_attribute,
             [&] { MPI_Send(ints, 1, MPI_INT, 0, 1, MPI_COMM_WORLD); }, true},
    };
    int expected = 0;
    for (const bool is_thrown : {false, true}) {
        throws = is_thrown;
        for (const Case& what : cases) {
            if (throws && what.is_request) { continue; }
            PMPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0) {
                bool is_caught = false;
                try {
                    what.first();
                } catch (const Thrown& thrown) {
                    is_caught = thrown.what() == std::string("as wanted");
                }
                harness.expect(talks == ++expected, what.name);
                harness.expect(is_caught == throws, what.name + ", thrown");
            }
            if (rank == last) {
                what.last();
                listen();
            }
        }
        warm_up(rank, harness.size());
    }
    if (rank == 0) {
        nests = true;
        MPI_Bcast(ints, -1, MPI_INT, 0, MPI_COMM_WORLD); // throws nothing
        harness.expect(talks == ++expected && caught_inside == 1, "a handler that errs itself");
    }
    if (rank == last) { listen(); }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return harness.finish();
}
