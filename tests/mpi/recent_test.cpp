// What MPI 4.1 and MPI 5.0 have brought along, where the MPI has it: buffers of communicators,
// the status of several requests of which one has failed, and predefined functions that are no
// addresses.

#include "tests/mpi/harness.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace {

using nodeaware::test::Harness;

/// Of a communicator and of a datatype, whose copies have them, too.
void copy_attributes(Harness& harness) {
    int value = 0;
    int key = MPI_KEYVAL_INVALID;
    int is_there = 0;
    void* found = nullptr;
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_attr(copy, key, static_cast<void*>(&found), &is_there);
    harness.expect(is_there != 0 && found == &value, "an attribute of a communicator");
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free(&copy);
    MPI_Comm_free_keyval(&key);

    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Datatype same = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &key, nullptr);
    MPI_Type_set_attr(pair, key, &value);
    MPI_Type_dup(pair, &same);
    found = nullptr;
    MPI_Type_get_attr(same, key, static_cast<void*>(&found), &is_there);
    harness.expect(is_there != 0 && found == &value, "an attribute of a datatype");
    MPI_Type_free(&same);
    MPI_Type_free(&pair);
    MPI_Type_free_keyval(&key);
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)

/// The communicator's own memory is enough.
void send_buffered(Harness& harness, int peer) {
    constexpr int bytes = 8000;
    std::vector<char> memory(1 << 20);
    std::vector<char> sent(bytes);
    std::vector<char> received(bytes);
    MPI_Comm_attach_buffer(MPI_COMM_WORLD, memory.data(), static_cast<int>(memory.size()));
    for (int i = 0; i < 300; ++i) {
        MPI_Request request = MPI_REQUEST_NULL;
        std::fill(sent.begin(), sent.end(), static_cast<char>(i));
        MPI_Irecv(received.data(), bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD, &request);
        const int code = MPI_Bsend(sent.data(), bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
        harness.expect(code == MPI_SUCCESS, "MPI_Bsend with a communicator's buffer");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        harness.expect(received == sent, "what MPI_Bsend has sent");
        MPI_Comm_flush_buffer(MPI_COMM_WORLD);
    }
    void* address = nullptr;
    int size = 0;
    MPI_Comm_detach_buffer(MPI_COMM_WORLD, static_cast<void*>(&address), &size);
    harness.expect(address == memory.data(), "the buffer");
}

int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

/// The first of two receives gets more than it has room for. Open MPI tells no errors here.
void ask_for_status(Harness& harness, int peer, bool is_of_all) {
    std::array<int, 4> sent{};
    std::array<int, 8> received{};
    std::array<MPI_Request, 2> requests{};
    std::array<MPI_Status, 2> statuses{};
    MPI_Irecv(received.data(), 1, MPI_INT, peer, 3, MPI_COMM_WORLD, requests.data());
    MPI_Irecv(&received[4], 4, MPI_INT, peer, 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(sent.data(), 4, MPI_INT, peer, 3, MPI_COMM_WORLD);
    MPI_Send(sent.data(), 4, MPI_INT, peer, 4, MPI_COMM_WORLD);
    int told = 0;
    int code = MPI_SUCCESS;
    int index = -1;
    while (code == MPI_SUCCESS && told == 0) {
        code = is_of_all
                   ? MPI_Request_get_status_all(2, requests.data(), &told, statuses.data())
                   : MPI_Request_get_status_any(1, requests.data(), &index, &told, statuses.data());
    }
    if (!nodeaware::test::is_open_mpi()) {
        harness.expect(class_of(code) == (is_of_all ? MPI_ERR_IN_STATUS : MPI_ERR_TRUNCATE),
                       "the status of requests: class " + std::to_string(class_of(code)));
        harness.expect(!is_of_all || (class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE &&
                                      (statuses[1].MPI_ERROR == MPI_SUCCESS ||
                                       class_of(statuses[1].MPI_ERROR) == MPI_ERR_PENDING)),
                       "what has failed");
    }
    for (MPI_Request& request : requests) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
}

void use_newer_functions(Harness& harness) {
    const int peer = (harness.rank() + harness.size() / 2) % harness.size();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    send_buffered(harness, peer);
    for (int i = 0; i < 20; ++i) { ask_for_status(harness, peer, i % 2 == 0); }
}

#else

void use_newer_functions(Harness& /*harness*/) {}

#endif

} // namespace

int main(int argc, char** argv) {
    Harness harness(&argc, &argv);
    std::vector<int> sent(static_cast<size_t>(harness.size()), harness.rank());
    std::vector<int> received(sent.size(), -1);
    MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, MPI_COMM_WORLD);
    harness.expect(received.back() == harness.size() - 1, "an exchange");
    copy_attributes(harness);
    use_newer_functions(harness);
    return harness.finish();
}
