// Collective exchanges on unusual communicators, and on those that are freed under them.

#include "tests/mpi/conformance/exchanges.hpp"

namespace nodeaware::conformance {

namespace {

void exchange_and_show(Context& context, const Function& function, MPI_Comm comm, int ints = 4) {
    for (int round = 0; round < 2; ++round) {
        Exchange exchange(function, comm, round, ints);
        exchange.run(context.out, function.name());
        context.out.data("received", exchange.received);
    }
}

/// Ranks 0 to 2 on one side, the others on the other.
void on_intercommunicator(Context& context, const Function& function) {
    const bool is_low = context.rank < 3;
    MPI_Comm local = MPI_COMM_NULL;
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Comm_split(context.comm, is_low ? 0 : 1, context.rank, &local);
    context.out.call("Intercomm_create",
                     MPI_Intercomm_create(local, 0, context.comm, is_low ? 3 : 0, 7, &inter));
    context.out.watch(inter, "inter");
    exchange_and_show(context, function, inter);
    context.out.forget(inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

void on_self(Context& context, const Function& function) {
    exchange_and_show(context, function, MPI_COMM_SELF);
}

void on_world(Context& context, const Function& function) {
    exchange_and_show(context, function, MPI_COMM_WORLD);
    context.sync();
    exchange_and_show(context, function, MPI_COMM_WORLD, 0);
}

/// Parts of the ranks, near ones or those that are far apart.
void on_parts(Context& context, const Function& function) {
    for (const int color : {context.rank / 3, context.rank % 3, context.rank % 2}) {
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_split(context.comm, color, -context.rank, &part);
        exchange_and_show(context, function, part);
        MPI_Comm_free(&part);
    }
}

/// `make` makes a communicator with a topology.
void on_topology(Context& context, const Function& function, MPI_Comm made) {
    context.out.watch(made, "topology");
    exchange_and_show(context, function, made);
    MPI_Comm dup = MPI_COMM_NULL;
    MPI_Comm_dup(made, &dup);
    exchange_and_show(context, function, dup);
    MPI_Comm_free(&dup);
    context.out.forget(made);
    MPI_Comm_free(&made);
}

void on_ring(Context& context, const Function& function) {
    on_topology(context, function, make_ring(context, true));
}
void on_line(Context& context, const Function& function) {
    on_topology(context, function, make_ring(context, false));
}
void on_unbalanced(Context& context, const Function& function) {
    on_topology(context, function, make_graph(context, false));
}

/// A star: the first rank has all others as neighbours.
void on_star(Context& context, const Function& function) {
    std::vector<int> index;
    std::vector<int> edges;
    for (int rank = 1; rank < context.size; ++rank) { edges.push_back(rank); }
    index.push_back(context.size - 1);
    for (int rank = 1; rank < context.size; ++rank) {
        edges.push_back(0);
        index.push_back(index.back() + 1);
    }
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Graph_create(context.comm, context.size, index.data(), edges.data(), 0, &made);
    context.out.watch(made, "star");
    const int degree = context.rank == 0 ? context.size - 1 : 1;
    for (int round = 0; round < 2; ++round) {
        Memory sent = Memory::of_ints(degree, 100 * context.rank + round);
        Memory received(sent.size());
        std::vector<int> ones(static_cast<size_t>(degree), 1);
        std::vector<int> places;
        for (int i = 0; i < degree; ++i) {
            places.push_back(i * (function.has_types() ? static_cast<int>(sizeof(int)) : 1));
        }
        Arguments arguments;
        const std::vector<MPI_Datatype> types(static_cast<size_t>(degree), MPI_INT);
        arguments.sent = {sent.data(), ones, places, types};
        arguments.received = {received.data(), ones, places, types};
        arguments.comm = made;
        MPI_Request request = MPI_REQUEST_NULL;
        context.out.call(function.name(), arguments.invoke(function, &request));
        if (function.form == Form::persistent) { MPI_Start(&request); }
        context.out.call("Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (request != MPI_REQUEST_NULL) { MPI_Request_free(&request); }
        context.out.data("received", received);
    }
    context.out.forget(made);
    MPI_Comm_free(&made);
}

/// The communicator is freed while it is under way.
void freed(Context& context, const Function& function) {
    MPI_Comm comm = function.is_neighborhood() ? make_graph(context) : MPI_COMM_NULL;
    if (comm == MPI_COMM_NULL) { MPI_Comm_dup(context.comm, &comm); }
    exchange_and_show(context, function, comm);
    MPI_Barrier(comm);
    exchange_and_show(context, function, comm);
    Exchange exchange(function, comm, 7);
    MPI_Request request = MPI_REQUEST_NULL;
    context.out.call(function.name(), exchange.arguments.invoke(function, &request));
    context.out.call("Comm_free", MPI_Comm_free(&comm));
    context.out.call("Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    context.out.data("received", exchange.received);
}

/// Types are freed while it is under way, and another may get the handle.
void freed_type(Context& context, const Function& function) {
    const MPI_Comm comm = function.is_neighborhood() ? context.graph : context.comm;
    MPI_Barrier(comm);
    for (int round = 0; round < 2; ++round) {
        Exchange exchange(function, comm, round);
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &type);
        MPI_Type_commit(&type);
        Blocks& blocks = exchange.arguments.received;
        Memory received(2 * exchange.received.size());
        blocks.buffer = received.data();
        blocks.types.assign(blocks.types.size(), type);
        if (function.has_types()) {
            for (int& place : blocks.places) { place *= 2; }
        }
        MPI_Request request = MPI_REQUEST_NULL;
        context.out.call(function.name(), exchange.arguments.invoke(function, &request));
        MPI_Type_free(&type);
        MPI_Datatype other = MPI_DATATYPE_NULL;
        MPI_Type_vector(2, 1, 3, MPI_INT, &other);
        MPI_Type_commit(&other);
        context.out.call("Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
        context.out.data("received", received);
        MPI_Type_free(&other);
    }
}

/// In lists with messages, null requests and other operations.
void in_list(Context& context, const Function& function) {
    const MPI_Comm comm = function.is_neighborhood() ? context.graph : context.comm;
    MPI_Barrier(comm);
    for (int which = 0; which < 4; ++which) {
        Exchange exchange(function, comm, which);
        Memory sent = Memory::of_ints(learned_count, context.rank);
        Memory received(sent.size());
        std::vector<MPI_Request> requests(5, MPI_REQUEST_NULL);
        context.out.call(function.name(), exchange.arguments.invoke(function, requests.data()));
        MPI_Irecv(received.data(), learned_count, MPI_INT, context.left(3), learned_tag,
                  context.comm, &requests[1]);
        MPI_Isend(sent.data(), learned_count, MPI_INT, context.right(3), learned_tag, context.comm,
                  &requests[2]);
        MPI_Ibarrier(comm, &requests[4]);
        std::vector<MPI_Status> statuses(5, fresh_status());
        std::vector<int> indices(5, -1);
        int code = MPI_SUCCESS;
        int number = 0;
        if (which == 0) {
            code = MPI_Waitall(5, requests.data(), statuses.data());
        } else if (which == 1) {
            for (int flag = 0; flag == 0 && code == MPI_SUCCESS;) {
                code = MPI_Testall(5, requests.data(), &flag, statuses.data());
            }
        } else {
            for (int left = 4; left > 0 && code == MPI_SUCCESS; left -= number) {
                number = 1;
                if (which == 2) {
                    code = MPI_Waitany(5, requests.data(), indices.data(), statuses.data());
                } else {
                    code =
                        MPI_Waitsome(5, requests.data(), &number, indices.data(), statuses.data());
                }
            }
        }
        context.out.call("all", code);
        for (const MPI_Request request : requests) {
            context.out.value("is null", request == MPI_REQUEST_NULL ? 1 : 0);
        }
        context.out.data("exchanged", exchange.received);
        context.out.data("received", received);
    }
}

using Run = void (*)(Context&, const Function&);

} // namespace

void add_exchange_places(Cases& cases) {
    cases.group("exchange_places");
    for (const Function& function : functions()) {
        const auto add = [&](const char* what, Needs needs, const Run run) {
            cases.add(function.name() + "." + what, needs,
                      [&function, run](Context& context) { run(context, function); });
        };
        if (function.is_neighborhood()) {
            add("ring", Needs::fresh, on_ring);
            add("line", Needs::fresh, on_line);
            add("unbalanced", Needs::fresh, on_unbalanced);
            if (!function.is_allgather()) { add("star", Needs::fresh, on_star); }
        } else {
            add("self", Needs::fresh, on_self);
            add("world", Needs::world, on_world);
            add("parts", Needs::fresh, on_parts);
        }
        add("intercommunicator", Needs::fresh, on_intercommunicator);
        if (function.form == Form::nonblocking) {
            add("freed", Needs::fresh, freed);
            add("freed_type", Needs::graph, freed_type);
            add("in_list", Needs::graph, in_list);
        }
    }
}

} // namespace nodeaware::conformance
