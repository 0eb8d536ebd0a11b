// own_handler_test [hidden|unseen]
//
// An error handler of the program is called once for each error, the call returns what MPI's own
// function does, and the program goes on. hidden: that is success, as with MPICH from 4.3 on.
// unseen: likewise, and the handler is one of so many that the library does not see it called.

#include "tests/mpi/harness.hpp"

#include <array>
#include <cstdlib>
#include <functional>
#include <utility>

namespace {

int calls = 0;
void count(MPI_Comm* /*comm*/, int* /*code*/, ...) {
    constexpr int many = 1000;
    if (++calls > many) { std::abort(); } // there is no end
}

template <int number> void other(MPI_Comm* /*comm*/, int* /*code*/, ...) { calls += number; }
template <int... number> void make_others(std::integer_sequence<int, number...> /*all*/) {
    for (auto* const function : {other<number>...}) {
        MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
        MPI_Comm_create_errhandler(function, &handler);
        MPI_Errhandler_free(&handler);
    }
}

struct Ring {
    MPI_Comm comm;
    int before;
    int after;
};

void pass_on(nodeaware::test::Harness& harness, const Ring& ring, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        int received = -1;
        const int sent = harness.rank() * rounds + i;
        MPI_Sendrecv(&sent, 1, MPI_INT, ring.after, 1, &received, 1, MPI_INT, ring.before, 1,
                     ring.comm, MPI_STATUS_IGNORE);
        harness.expect(received == ring.before * rounds + i, "a message");
    }
}

} // namespace

int main(int argc, char** argv) {
    nodeaware::test::Harness harness(&argc, &argv);
    const std::string_view how = argc > 1 ? argv[1] : "";
    if (how == "unseen") { make_others(std::make_integer_sequence<int, 256>()); }
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(count, &handler);
    const int size = harness.size();
    const bool are_hidden = !how.empty();
    constexpr int step = 2; // to another node
    Ring ring{MPI_COMM_NULL, (harness.rank() + size - step) % size, (harness.rank() + step) % size};
    MPI_Comm_dup(MPI_COMM_WORLD, &ring.comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(ring.comm, handler);
    const auto expect = [&](const char* what, const std::function<int()>& by_library,
                            const std::function<int()>& by_mpi) {
        calls = 0;
        const int code = by_library();
        const int times = calls;
        calls = 0;
        const int by_itself = by_mpi();
        const int native = are_hidden ? MPI_SUCCESS : by_itself;
        harness.expect(times == calls, std::string(what) + ": the handler was called " +
                                           std::to_string(times) + " times, by MPI " +
                                           std::to_string(calls));
        harness.expect((code == MPI_SUCCESS) == (native == MPI_SUCCESS),
                       std::string(what) + ": " + std::to_string(code));
    };
    pass_on(harness, ring, 500);
    for (int round = 0; round < 20; ++round) {
        int received = -1;
        int index = 0;
        [[maybe_unused]] int done = 0;
        MPI_Request pending = MPI_REQUEST_NULL;
        MPI_Request none = MPI_REQUEST_NULL;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        MPI_Irecv(&received, 1, MPI_INT, ring.before, 2, ring.comm, &pending);
        constexpr int bad_tag = -77;
        const auto both = [&](const char* what, const auto& call) {
            expect(
                what, [&] { return call(true); }, [&] { return call(false); });
        };
#define EITHER(name) (is_library ? MPI_##name : PMPI_##name)
        both("MPI_Probe", [&](bool is_library) {
            return EITHER(Probe)(ring.before, bad_tag, ring.comm, &status);
        });
        both("MPI_Mprobe", [&](bool is_library) {
            return EITHER(Mprobe)(ring.before, bad_tag, ring.comm, &message, &status);
        });
        both("MPI_Probe of nobody",
             [&](bool is_library) { return EITHER(Probe)(size + 5, 1, ring.comm, &status); });
#if !defined(MPI_ABI_VERSION) || MPI_ABI_VERSION < 1 // where MPICH 5.0 crashes
        both("MPI_Waitany",
             [&](bool is_library) { return EITHER(Waitany)(-1, &pending, &index, &status); });
        both("MPI_Waitsome", [&](bool is_library) {
            return EITHER(Waitsome)(-1, &pending, &done, &index, MPI_STATUSES_IGNORE);
        });
#endif
        both("MPI_Send", [&](bool is_library) {
            return EITHER(Send)(&round, 1, MPI_INT, ring.after, bad_tag, ring.comm);
        });
        both("MPI_Isend", [&](bool is_library) {
            return EITHER(Isend)(&round, -1, MPI_INT, ring.after, 1, ring.comm, &none);
        });
        both("MPI_Recv", [&](bool is_library) {
            return EITHER(Recv)(&index, -1, MPI_INT, ring.before, 1, ring.comm, &status);
        });
        if (how != "unseen") { // else the library takes it for made
            both("MPI_Comm_dup of none", [&](bool is_library) {
                MPI_Comm made = ring.comm; // it is not
                return EITHER(Comm_dup)(MPI_COMM_NULL, &made);
            });
        }
        MPI_Send(&round, 1, MPI_INT, ring.after, 2, ring.comm);
        MPI_Wait(&pending, MPI_STATUS_IGNORE);
        harness.expect(received == round, "the message that was waited for");
        pass_on(harness, ring, 100);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&ring.comm);
    return harness.finish();
}
