// Errors of requests and of MPI_COMM_SELF come to the handler that they come to without the
// library, after exchanges for which it has made communicators of its own. MPICH asks
// MPI_COMM_WORLD for its handler where a communicator has none.

#include "tests/mpi/harness.hpp"

#include <array>
#include <string>
#include <vector>

namespace {

int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

} // namespace

int main(int argc, char** argv) {
    nodeaware::test::Harness harness(&argc, &argv);
    const int rank = harness.rank();
    const int size = harness.size();
    std::vector<int> sent(static_cast<size_t>(size), rank);
    std::vector<int> received(static_cast<size_t>(size), -1);
    const auto exchange = [&] {
        MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, MPI_COMM_WORLD);
        harness.expect(received.back() == size - 1, "an exchange");
    };
    exchange();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    // With Open MPI each has its own.
    if (nodeaware::test::is_open_mpi()) {
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    }
    for (int i = 0; i < 3; ++i) {
        const std::array<int, 8> many{};
        int one = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&one, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &request);
        MPI_Send(many.data(), 8, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD);
        const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        harness.expect(class_of(code) == MPI_ERR_TRUNCATE,
                       "a message that is too long: class " + std::to_string(class_of(code)));
        exchange();
    }
    const int code = MPI_Send(sent.data(), -1, MPI_INT, 0, 0, MPI_COMM_SELF);
    harness.expect(class_of(code) == MPI_ERR_COUNT,
                   "MPI_COMM_SELF: class " + std::to_string(class_of(code)));
    return harness.finish();
}
