// Blocking collective calls that one rank alone makes with arguments that MPI refuses; then all
// exchange messages and meet, again and again, with checked data. The refused call must not count
// for anything.

#include "tests/mpi/conformance/context.hpp"

namespace nodeaware::conformance {

namespace {

struct Refused {
    const char* name;
    int (*invoke)(MPI_Comm comm);
};

int numbers[64];
int more_numbers[64];
int ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
int minus[16] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
int places[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
MPI_Comm made = MPI_COMM_NULL;

const std::vector<Refused>& refused() {
    static const std::vector<Refused> list = {
        {"Barrier.no_communicator", [](MPI_Comm) { return MPI_Barrier(MPI_COMM_NULL); }},
        {"Bcast.count", [](MPI_Comm c) { return MPI_Bcast(numbers, -1, MPI_INT, 0, c); }},
        {"Bcast.type", [](MPI_Comm c) { return MPI_Bcast(numbers, 1, MPI_DATATYPE_NULL, 0, c); }},
        {"Bcast.root", [](MPI_Comm c) { return MPI_Bcast(numbers, 1, MPI_INT, 100, c); }},
        {"Bcast.no_communicator",
         [](MPI_Comm) { return MPI_Bcast(numbers, 1, MPI_INT, 0, MPI_COMM_NULL); }},
        {"Reduce.count",
         [](MPI_Comm c) { return MPI_Reduce(numbers, more_numbers, -1, MPI_INT, MPI_SUM, 0, c); }},
        {"Reduce.operation",
         [](MPI_Comm c) {
             return MPI_Reduce(numbers, more_numbers, 1, MPI_INT, MPI_OP_NULL, 0, c);
         }},
        {"Reduce.root",
         [](MPI_Comm c) { return MPI_Reduce(numbers, more_numbers, 1, MPI_INT, MPI_SUM, -5, c); }},
        {"Allreduce.count",
         [](MPI_Comm c) { return MPI_Allreduce(numbers, more_numbers, -1, MPI_INT, MPI_SUM, c); }},
        {"Allreduce.type",
         [](MPI_Comm c) {
             return MPI_Allreduce(numbers, more_numbers, 1, MPI_DATATYPE_NULL, MPI_SUM, c);
         }},
        {"Allreduce.operation",
         [](MPI_Comm c) {
             return MPI_Allreduce(numbers, more_numbers, 1, MPI_INT, MPI_OP_NULL, c);
         }},
        {"Allgather.count",
         [](MPI_Comm c) {
             return MPI_Allgather(numbers, -1, MPI_INT, more_numbers, 1, MPI_INT, c);
         }},
        {"Allgather.type",
         [](MPI_Comm c) {
             return MPI_Allgather(numbers, 1, MPI_INT, more_numbers, 1, MPI_DATATYPE_NULL, c);
         }},
        {"Allgatherv.count",
         [](MPI_Comm c) {
             return MPI_Allgatherv(numbers, -1, MPI_INT, more_numbers, ones, places, MPI_INT, c);
         }},
        {"Allgatherv.counts",
         [](MPI_Comm c) {
             return MPI_Allgatherv(numbers, 1, MPI_INT, more_numbers, minus, places, MPI_INT, c);
         }},
        {"Gather.count",
         [](MPI_Comm c) {
             return MPI_Gather(numbers, -1, MPI_INT, more_numbers, 1, MPI_INT, 0, c);
         }},
        {"Gather.root",
         [](MPI_Comm c) {
             return MPI_Gather(numbers, 1, MPI_INT, more_numbers, 1, MPI_INT, 99, c);
         }},
        {"Gatherv.type",
         [](MPI_Comm c) {
             return MPI_Gatherv(numbers, 1, MPI_DATATYPE_NULL, more_numbers, ones, places, MPI_INT,
                                0, c);
         }},
        {"Scatter.root",
         [](MPI_Comm c) {
             return MPI_Scatter(numbers, 1, MPI_INT, more_numbers, 1, MPI_INT, 99, c);
         }},
        {"Scatterv.root",
         [](MPI_Comm c) {
             return MPI_Scatterv(numbers, ones, places, MPI_INT, more_numbers, 1, MPI_INT, 99, c);
         }},
        {"Scan.count",
         [](MPI_Comm c) { return MPI_Scan(numbers, more_numbers, -1, MPI_INT, MPI_SUM, c); }},
        {"Exscan.operation",
         [](MPI_Comm c) { return MPI_Exscan(numbers, more_numbers, 1, MPI_INT, MPI_OP_NULL, c); }},
        {"Reduce_scatter.counts",
         [](MPI_Comm c) {
             return MPI_Reduce_scatter(numbers, more_numbers, minus, MPI_INT, MPI_SUM, c);
         }},
        {"Reduce_scatter_block.count",
         [](MPI_Comm c) {
             return MPI_Reduce_scatter_block(numbers, more_numbers, -1, MPI_INT, MPI_SUM, c);
         }},
        {"Comm_dup.null", [](MPI_Comm) { return MPI_Comm_dup(MPI_COMM_NULL, &made); }},
        {"Comm_split.color", [](MPI_Comm c) { return MPI_Comm_split(c, -77, 0, &made); }},
        {"Comm_create.group", [](MPI_Comm c) { return MPI_Comm_create(c, MPI_GROUP_NULL, &made); }},
        {"Cart_create.dimensions",
         [](MPI_Comm c) { return MPI_Cart_create(c, -1, ones, ones, 0, &made); }},
        {"Cart_create.too_large",
         [](MPI_Comm c) {
             const int size[1] = {1000};
             return MPI_Cart_create(c, 1, size, ones, 0, &made);
         }},
        {"Graph_create.nodes",
         [](MPI_Comm c) { return MPI_Graph_create(c, -1, ones, ones, 0, &made); }},
        {"Dist_graph_create_adjacent.degree",
         [](MPI_Comm c) {
             return MPI_Dist_graph_create_adjacent(c, -1, ones, MPI_UNWEIGHTED, 1, ones,
                                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
         }},
        {"Dist_graph_create.count",
         [](MPI_Comm c) {
             return MPI_Dist_graph_create(c, -1, ones, ones, ones, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                          &made);
         }},
        {"Comm_free.null", [](MPI_Comm) { return MPI_Comm_free(&made); }},
    };
    return list;
}

/// What all send to all is received, and their sum is right.
void meet(Context& context, MPI_Comm comm, int iteration) {
    const auto size = static_cast<size_t>(context.size);
    Memory sent = Memory::of_ints(learned_count, 1000 * context.rank + iteration);
    Memory received(size * learned_count * sizeof(int));
    std::vector<MPI_Request> requests(2 * size, MPI_REQUEST_NULL);
    for (int peer = 0; peer < context.size; ++peer) {
        MPI_Irecv(received.ints() + peer * learned_count, learned_count, MPI_INT, peer, learned_tag,
                  comm, &requests[static_cast<size_t>(peer)]);
    }
    for (int peer = 0; peer < context.size; ++peer) {
        MPI_Isend(sent.data(), learned_count, MPI_INT, peer, learned_tag, comm,
                  &requests[size + static_cast<size_t>(peer)]);
    }
    const int code =
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    const int mine = context.rank + iteration;
    int sum = 0;
    const int reduced = MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    context.out.call("Waitall", code);
    context.out.data("received", received);
    context.out.call("Allreduce", reduced);
    context.out.value("sum", sum);
}

void refuse_one(Context& context, const Refused& call, int meetings_before, int wrong_rank) {
    for (int i = 0; i < meetings_before; ++i) { meet(context, context.comm, i); }
    if (context.rank == wrong_rank) {
        context.out.call(call.name, call.invoke(context.comm));
        Recorder::only_return(context.comm);
        context.out.call(call.name, call.invoke(context.comm));
        context.out.watch(context.comm, context.name);
    }
    for (int i = 0; i < 10; ++i) { meet(context, context.comm, 50 + i); }
}

} // namespace

void add_meetings(Cases& cases) {
    cases.group("meetings");
    for (const Refused& call : refused()) {
        cases.add(std::string(call.name) + ".first", Needs::warm,
                  [&](Context& context) { refuse_one(context, call, 0, 0); });
    }
    for (const char* const name : {"Bcast.count", "Allreduce.operation", "Allgatherv.count"}) {
        for (const Refused& call : refused()) {
            if (std::string(call.name) != name) { continue; }
            cases.add(std::string(name) + ".later", Needs::fresh,
                      [&](Context& context) { refuse_one(context, call, 3, 4); });
        }
    }
    cases.add("world.Bcast.count", Needs::world,
              [](Context& context) { refuse_one(context, refused()[1], 2, 0); });
}

} // namespace nodeaware::conformance
