// Sparse exchanges that all ranks call with wrong arguments, or that fail on one rank alone: the
// error is returned and given to the error handler of the communicator, once, and the next exchange
// goes well.

#include "runtime/core/nodeaware.h"

#include <cstdio>
#include <functional>
#include <vector>

namespace {

int failures = 0;
int handled = 0;
int handled_class = MPI_SUCCESS;
MPI_Comm handled_comm = MPI_COMM_NULL;

void handler(MPI_Comm* comm, int* code, ...) {
    ++handled;
    handled_comm = *comm;
    MPI_Error_class(*code, &handled_class);
}

void expect(bool holds, const char* test, const char* what) {
    if (holds) { return; }
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ++failures;
    std::fprintf(stderr, "rank %d, %s: %s\n", rank, test, what);
}

/// Right arguments of both functions, to be spoilt: one integer to the next rank.
struct Arguments {
    explicit Arguments(MPI_Comm on) : comm(on) {
        int rank = 0;
        if (on == MPI_COMM_NULL) { return; }
        MPI_Comm_rank(on, &rank);
        MPI_Comm_size(on, &ranks);
        destinations = {(rank + 1) % ranks};
        from = (rank + ranks - 1) % ranks;
        buffer = {rank};
    }
    int uniform() {
        return nodeaware_alltoall_sparse(messages, destinations.data(), count, type, buffer.data(),
                                         &got, has_sources ? &sources : nullptr, wanted, to,
                                         &values, comm);
    }
    int counted() {
        return nodeaware_alltoall_sparse_v(messages, size, destinations.data(), &count,
                                           &displacement, type, buffer.data(), &got, &got_size,
                                           has_sources ? &sources : nullptr, &counts,
                                           &displacements, to, &values, comm);
    }
    void free() {
        for (void* const memory : {static_cast<void*>(sources), static_cast<void*>(counts),
                                   static_cast<void*>(displacements), values}) {
            nodeaware_free(memory);
        }
        sources = counts = displacements = nullptr;
        values = nullptr;
    }

    MPI_Comm comm;
    int ranks = 1;
    int from = 0;
    int messages = 1;
    std::vector<int> destinations = {0};
    int count = 1;
    int displacement = 0;
    int size = 1;
    MPI_Datatype type = MPI_INT;
    std::vector<int> buffer = {0};
    int wanted = 1;
    MPI_Datatype to = MPI_INT;
    bool has_sources = true;
    int got = -1;
    int got_size = -1;
    int* sources = nullptr;
    int* counts = nullptr;
    int* displacements = nullptr;
    void* values = nullptr;
};

void expect_right(MPI_Comm comm, const char* test) {
    Arguments arguments(comm);
    const auto check = [&](int code) {
        const bool is_right = code == MPI_SUCCESS && arguments.got == 1 &&
                              arguments.sources[0] == arguments.from &&
                              *static_cast<int*>(arguments.values) == arguments.from;
        expect(is_right, test, "the next exchange is wrong");
        arguments.free();
    };
    check(arguments.uniform());
    check(arguments.counted());
}

using Spoil = std::function<void(Arguments&)>;

void expect_error(MPI_Comm comm, const char* test, int wanted, bool is_counted,
                  const Spoil& spoil) {
    Arguments arguments(comm);
    spoil(arguments);
    handled = 0;
    const int code = is_counted ? arguments.counted() : arguments.uniform();
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    expect(error_class == wanted, test, "another class of error");
    expect(handled == 1 && handled_class == wanted, test, "the handler was not called once");
    const MPI_Comm responsible = comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm;
    expect(handled_comm == responsible, test, "another communicator's handler was called");
    expect(arguments.got == -1 && arguments.values == nullptr, test, "something was given");
}

void expect_errors(MPI_Comm comm) {
    const struct {
        const char* name;
        int error_class;
        Spoil spoil;
    } cases[] = {
        {"negative number", MPI_ERR_COUNT, [](auto& a) { a.messages = -1; }},
        {"negative count", MPI_ERR_COUNT, [](auto& a) { a.count = -1; }},
        {"negative rank", MPI_ERR_RANK, [](auto& a) { a.destinations[0] = -1; }},
        {"rank too high", MPI_ERR_RANK, [](auto& a) { a.destinations[0] = a.ranks; }},
        {"no process", MPI_ERR_RANK, [](auto& a) { a.destinations[0] = MPI_PROC_NULL; }},
        {"no destinations", MPI_ERR_ARG, [](auto& a) { a.destinations = std::vector<int>(); }},
        {"no buffer", MPI_ERR_BUFFER, [](auto& a) { a.buffer = std::vector<int>(); }},
        {"no type", MPI_ERR_TYPE, [](auto& a) { a.type = MPI_DATATYPE_NULL; }},
        {"no type of receives", MPI_ERR_TYPE, [](auto& a) { a.to = MPI_DATATYPE_NULL; }},
        {"no result", MPI_ERR_ARG, [](auto& a) { a.has_sources = false; }},
    };
    for (const auto& [name, error_class, spoil] : cases) {
        for (const bool is_counted : {false, true}) {
            expect_error(comm, name, error_class, is_counted, spoil);
            expect_right(comm, name);
        }
    }
    expect_error(comm, "negative size", MPI_ERR_COUNT, true, [](auto& a) { a.size = -1; });
    expect_error(comm, "beyond the end", MPI_ERR_ARG, true, [](auto& a) { a.displacement = 1; });
    expect_error(comm, "before the beginning", MPI_ERR_ARG, true,
                 [](auto& a) { a.displacement = -1; });
    expect_error(comm, "negative count of receives", MPI_ERR_COUNT, false,
                 [](auto& a) { a.wanted = -1; });
    expect_error(comm, "too long", MPI_ERR_TRUNCATE, false, [](auto& a) { a.wanted = 0; });
    expect_error(comm, "part of an element", MPI_ERR_TRUNCATE, true,
                 [](auto& a) { a.to = MPI_DOUBLE; });
    expect_right(comm, "after all");
}

/// Rank 0 alone finds when it packs that its datatype is not committed: it gets an error, and the
/// others all that comes from others, lists that have no room in a block among it.
void expect_error_alone(MPI_Comm comm) {
    constexpr int empty_messages = 3000;
    const char* const test = "one rank alone";
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Datatype gaps = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    const std::vector<int> sent = {rank, rank, rank};
    std::vector<int> destinations = {(rank + 1) % ranks};
    std::vector<int> counts = {1};
    for (int i = 0; i < empty_messages && rank != 0; ++i) {
        destinations.push_back((rank + 1) % ranks);
        counts.push_back(0);
    }
    const std::vector<int> displacements(counts.size());
    const auto messages = static_cast<int>(counts.size());
    int got = 0;
    int size = 0;
    int* sources = nullptr;
    int* got_counts = nullptr;
    int* got_displacements = nullptr;
    void* values = nullptr;
    handled = 0;
    const int code = nodeaware_alltoall_sparse_v(messages, 1, destinations.data(), counts.data(),
                                                 displacements.data(), rank == 0 ? gaps : MPI_INT,
                                                 sent.data(), &got, &size, &sources, &got_counts,
                                                 &got_displacements, MPI_INT, &values, comm);
    if (rank == 0) {
        expect(code != MPI_SUCCESS && handled == 1, test, "no error");
    } else {
        const bool is_from_first = rank == 1;
        expect(code == MPI_SUCCESS && handled == 0, test, "an error of another rank");
        expect(got == (is_from_first ? 0 : empty_messages + 1), test, "another number of messages");
        const bool has_value = size == 1 && *static_cast<int*>(values) == rank - 1;
        expect(is_from_first || has_value, test, "another message");
    }
    for (void* const memory : {static_cast<void*>(sources), static_cast<void*>(got_counts),
                               static_cast<void*>(got_displacements), values}) {
        nodeaware_free(memory);
    }
    MPI_Type_free(&gaps);
    expect_right(comm, test);
}

MPI_Comm make_intercommunicator() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm local = MPI_COMM_NULL;
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &inter);
    MPI_Comm_free(&local);
    return inter;
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm dup = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm inter = make_intercommunicator();
    for (const MPI_Comm comm : {MPI_COMM_WORLD, dup, inter}) {
        MPI_Comm_set_errhandler(comm, errhandler);
    }
    expect_errors(dup);
    expect_error_alone(dup);
    expect_errors(MPI_COMM_WORLD);
    for (const bool is_counted : {false, true}) {
        expect_error(MPI_COMM_NULL, "no communicator", MPI_ERR_COMM, is_counted,
                     [](auto& /*a*/) {});
        expect_error(inter, "intercommunicator", MPI_ERR_COMM, is_counted, [](auto& /*a*/) {});
    }
    nodeaware_free(nullptr);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&dup);
    MPI_Errhandler_free(&errhandler);
    int all = 0;
    int rank = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) { std::printf(all == 0 ? "passed\n" : "%d failures\n", all); }
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
