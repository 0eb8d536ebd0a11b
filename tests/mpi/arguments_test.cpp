// Calls that MPI refuses, made by one rank alone while the others go on: the error is MPI's own,
// its handler is called as often as without the library, and the exchanges that follow are right,
// those of a communicator that has not been used before as well as those of one that has.

#include "tests/mpi/arguments_calls.hpp"
#include "tests/mpi/harness.hpp"

#include <functional>
#include <vector>

namespace nodeaware::test {

namespace {

const std::string nonblocking = ", nonblocking";

int handler_calls = 0;
void count_errors(MPI_Comm* /*comm*/, int* /*code*/, ...) { ++handler_calls; }

struct Fault {
    const char* what;
    std::function<bool(Operation)> is_refused;
    std::function<void(Arguments&, Buffers&, int own)> make;
};

const auto by_all = [](Operation) { return true; };

/// In operations with neighbours block 1 is that of a neighbour, in the others that of a rank.
const std::vector<Fault>& faults() {
    static const std::vector<Fault> list = {
        {"a negative count to send", by_all,
         [](Arguments& a, Buffers&, int) { a.sendcounts[0] = -1; }},
        {"a negative count to receive", // Open MPI does not look at it in the nonblocking form
         [](Operation o) { return !is_open_mpi() || o != n_allgatherv; },
         [](Arguments& a, Buffers&, int) { a.recvcounts[0] = -1; }},
        {"a later negative count", is_row,
         [](Arguments& a, Buffers&, int) { a.recvcounts[1] = -7; }},
        {"no datatype to send", by_all,
         [](Arguments& a, Buffers&, int) { a.sendtypes[0] = MPI_DATATYPE_NULL; }},
        {"no datatype to receive", by_all,
         [](Arguments& a, Buffers&, int) { a.recvtypes[0] = MPI_DATATYPE_NULL; }},
        {"a datatype to send that is not committed", by_all,
         [](Arguments& a, Buffers& b, int own) {
             a.sendtypes[0] = b.uncommitted;
             a.sendcounts[0] = 1;
             a.recvcounts[0] = 2;
             static_cast<void>(own);
         }},
        {"a datatype to receive that is not committed",
         [](Operation o) { return !is_open_mpi() || !gathers(o); },
         [](Arguments& a, Buffers& b, int) { a.recvtypes[0] = b.uncommitted; }},
        {"no datatype for an empty block",
         [](Operation o) { return is_open_mpi() && (o == alltoallw || o == n_alltoallw); },
         [](Arguments& a, Buffers&, int) {
             a.sendtypes[1] = MPI_DATATYPE_NULL;
             a.sendcounts[1] = 0;
         }},
        {"MPI_IN_PLACE as receive buffer",
         [](Operation o) { return is_open_mpi() || !is_with_neighbors(o); },
         [](Arguments& a, Buffers&, int) { a.recvbuf = MPI_IN_PLACE; }},
        {"MPI_IN_PLACE with neighbours",
         [](Operation o) { return is_open_mpi() && is_with_neighbors(o); },
         [](Arguments& a, Buffers&, int) { a.sendbuf = MPI_IN_PLACE; }},
        {"no lists", [](Operation o) { return is_open_mpi() && is_row(o); },
         [](Arguments& a, Buffers&, int) { a.lists = false; }},
        {"more to send than to receive",
         [](Operation o) {
             return is_open_mpi() && !gathers(o) && o != n_alltoallv && o != n_alltoallw;
         },
         [](Arguments& a, Buffers&, int own) {
             a.recvcounts[0] = 1;
             a.recvcounts[static_cast<size_t>(own)] = 1;
         }},
        {"no send buffer", [](Operation) { return !is_open_mpi(); },
         [](Arguments& a, Buffers&, int) { a.sendbuf = nullptr; }},
        {"no receive buffer", [](Operation) { return !is_open_mpi(); },
         [](Arguments& a, Buffers&, int) { a.recvbuf = nullptr; }},
        {"the same buffer twice",
         [](Operation o) { return !is_open_mpi() && !is_with_neighbors(o); },
         [](Arguments& a, Buffers& b, int) {
             a.sendbuf = b.received.data();
             a.same_lists = true;
         }},
    };
    return list;
}

class Refused {
  public:
    explicit Refused(Harness& harness) : harness_(harness), buffers_(harness.size()) {
        MPI_Comm_create_errhandler(count_errors, &handler_);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler_);
    }

    void run(Operation operation) {
        for (const Fault& fault : faults()) {
            if (!fault.is_refused(operation)) { continue; }
            MPI_Comm comm = fresh(operation);
            for (int rank = 0; rank < harness_.size(); ++rank) {
                err(operation, fault, comm, rank);
            }
            for (int i = 0; i < 20; ++i) { exchange(operation, comm, fault.what, i % 2 == 1); }
            err(operation, fault, comm, harness_.size() / 2);
            exchange(operation, comm, fault.what);
            MPI_Comm_free(&comm);
            if (is_with_neighbors(operation)) { continue; }
            // Nonblocking operations have been prepared there.
            err(operation, fault, MPI_COMM_WORLD, 0);
            err(operation, fault, MPI_COMM_WORLD, harness_.size() - 1);
            for (int i = 0; i < 4; ++i) { exchange(operation, MPI_COMM_WORLD, fault.what, true); }
        }
    }

    /// MPI_Alltoall of nothing returns at once, whatever the others do.
    void empty_alone() {
        MPI_Comm comm = fresh(alltoall);
        for (int rank = 0; rank < harness_.size(); ++rank) {
            if (harness_.rank() != rank) { continue; }
            const int code = MPI_Alltoall(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, comm);
            harness_.expect(code == MPI_SUCCESS, "an exchange of nothing");
        }
        exchange(alltoall, comm, "nothing");
        MPI_Comm_free(&comm);
    }

    /// Not refused: what the blocks do not use may be anything, and NULL is MPI_BOTTOM.
    void unusual() {
        for (const Operation operation : {alltoallw, n_alltoallw}) {
            MPI_Comm comm = fresh(operation);
            Arguments arguments(buffers_);
            if (!is_open_mpi()) {
                arguments.sendtypes.assign(arguments.sendtypes.size(), MPI_DATATYPE_NULL);
                arguments.recvtypes = arguments.sendtypes;
            }
            arguments.sendcounts.assign(arguments.sendcounts.size(), 0);
            arguments.recvcounts = arguments.sendcounts;
            harness_.expect(Call(operation, buffers_, arguments).run(comm, false) == MPI_SUCCESS,
                            std::string(names[operation]) + ": no datatypes for empty blocks");
            exchange(operation, comm, "no datatypes");
            MPI_Comm_free(&comm);
        }
        at_bottom();
    }

    /// Blocks at absolute addresses, with a gap in each.
    void at_bottom() {
        MPI_Comm comm = fresh(alltoall);
        int rank = 0;
        MPI_Comm_rank(comm, &rank);
        const auto blocks = static_cast<size_t>(harness_.size());
        std::vector<int> sent(3 * blocks, rank);
        std::vector<int> received(sent.size(), -1);
        MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
        for (int i = 0; i < 2; ++i) {
            const int lengths[2] = {1, 1};
            MPI_Aint places[2] = {0, 0};
            MPI_Get_address(i == 0 ? sent.data() : received.data(), &places[0]);
            places[1] = places[0] + static_cast<MPI_Aint>(2 * sizeof(int));
            MPI_Datatype pair = MPI_DATATYPE_NULL;
            MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &pair);
            MPI_Type_create_resized(pair, 0, 3 * sizeof(int), &types[i]);
            MPI_Type_commit(&types[i]);
            MPI_Type_free(&pair);
        }
        harness_.expect(MPI_Alltoall(MPI_BOTTOM, 1, types[0], MPI_BOTTOM, 1, types[1], comm) ==
                            MPI_SUCCESS,
                        "MPI_BOTTOM");
        for (size_t i = 0; i < received.size(); ++i) {
            const int expected = i % 3 == 1 ? -1 : static_cast<int>(i / 3);
            harness_.expect(received[i] == expected, "MPI_BOTTOM: wrong data");
        }
        for (MPI_Datatype& type : types) { MPI_Type_free(&type); }
        MPI_Comm_free(&comm);
    }

    ~Refused() { MPI_Errhandler_free(&handler_); }
    Refused(const Refused&) = delete;
    Refused& operator=(const Refused&) = delete;

  private:
    /// A communicator that has ranks in an order of its own: nothing is known of it.
    MPI_Comm fresh(Operation operation) {
        MPI_Comm ordered = MPI_COMM_NULL;
        MPI_Comm comm = MPI_COMM_NULL;
        Random random(static_cast<uint64_t>(++made_));
        std::vector<int> keys(static_cast<size_t>(harness_.size()));
        for (int& key : keys) { key = draw(random, 0, 1000); }
        MPI_Comm_split(MPI_COMM_WORLD, 0, keys[static_cast<size_t>(harness_.rank())], &ordered);
        comm = ordered;
        if (is_with_neighbors(operation)) {
            int rank = 0;
            MPI_Comm_rank(ordered, &rank);
            const int size = harness_.size();
            const int others[] = {(rank + 1) % size, (rank + 2) % size};
            const int from[] = {(rank + size - 1) % size, (rank + size - 2) % size};
            MPI_Dist_graph_create_adjacent(ordered, 2, from, MPI_UNWEIGHTED, 2, others,
                                           MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
            MPI_Comm_free(&ordered);
        }
        MPI_Comm_set_errhandler(comm, handler_);
        return comm;
    }

    void err(Operation operation, const Fault& fault, MPI_Comm comm, int rank) {
        int own = 0;
        MPI_Comm_rank(comm, &own);
        if (own != rank) { return; }
        Arguments arguments(buffers_);
        fault.make(arguments, buffers_, own);
        const Call call(operation, buffers_, arguments);
        MPI_Request request = MPI_REQUEST_NULL;
        compare(names[operation], fault, [&](bool natively) { return call.run(comm, natively); });
        compare(names[operation] + nonblocking, fault,
                [&](bool natively) { return call.begin(comm, natively, &request); });
    }

    template <class Run> void compare(const std::string& name, const Fault& fault, Run run) {
        const std::string what = name + ", " + fault.what + ": ";
        handler_calls = 0;
        int by_mpi = MPI_SUCCESS;
        MPI_Error_class(run(true), &by_mpi);
        const int calls_by_mpi = handler_calls;
        handler_calls = 0;
        int code = MPI_SUCCESS;
        MPI_Error_class(run(false), &code);
        // MPICH returns success from 4.3 on, once it has called a handler of the program.
        harness_.expect(by_mpi != MPI_SUCCESS || calls_by_mpi > 0, what + "MPI accepts it");
        harness_.expect(code == by_mpi, what + "class " + std::to_string(code) + " instead of " +
                                            std::to_string(by_mpi));
        harness_.expect(handler_calls == calls_by_mpi,
                        what + std::to_string(handler_calls) + " calls of handlers");
    }

    /// A correct exchange, which is checked.
    void exchange(Operation operation, MPI_Comm comm, const char* after, bool begins = false) {
        int rank = 0;
        MPI_Comm_rank(comm, &rank);
        const int size = harness_.size();
        const int blocks = is_with_neighbors(operation) ? 2 : size;
        ++salt_;
        for (int i = 0; i < blocks; ++i) {
            const int to = !is_with_neighbors(operation) ? i : (rank + 1 + i) % size;
            const int tag = gathers(operation) ? 0 : to;
            buffers_.sent[static_cast<size_t>(2 * i)] = salt_ + 100 * rank;
            buffers_.sent[static_cast<size_t>(2 * i + 1)] = tag;
        }
        buffers_.received.assign(buffers_.received.size(), -1);
        Arguments arguments(buffers_);
        const Call call(operation, buffers_, arguments);
        MPI_Request request = MPI_REQUEST_NULL;
        int code = begins ? call.begin(comm, false, &request) : call.run(comm, false);
        if (begins && code == MPI_SUCCESS) { code = MPI_Wait(&request, MPI_STATUS_IGNORE); }
        bool right = code == MPI_SUCCESS;
        for (int i = 0; i < blocks; ++i) {
            const int from = !is_with_neighbors(operation) ? i : (rank + size - 1 - i) % size;
            const auto at = static_cast<size_t>(2 * i);
            right = right && buffers_.received[at] == salt_ + 100 * from &&
                    buffers_.received[at + 1] == (gathers(operation) ? 0 : rank);
        }
        harness_.expect(right, std::string(names[operation]) + " is wrong after " + after);
    }

    Harness& harness_;
    Buffers buffers_;
    MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
    int made_ = 0;
    int salt_ = 0;
};

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    {
        Refused refused(harness);
        for (int operation = 0; operation < operations; ++operation) {
            refused.run(static_cast<Operation>(operation));
        }
        refused.empty_alone();
        refused.unusual();
    }
    return harness.finish();
}
