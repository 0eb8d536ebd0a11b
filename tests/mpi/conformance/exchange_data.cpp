// Collective exchanges where nothing is wrong, but something is unusual: in place, without data,
// with odd datatypes, on odd communicators, several at a time, freed while they are under way.

#include "tests/mpi/conformance/exchanges.hpp"
#include "tests/mpi/conformance/types.hpp"

#include <memory>

namespace nodeaware::conformance {

namespace {

void run_and_show(Context& context, Exchange& exchange) {
    exchange.run(context.out, exchange.function().name());
    context.out.data("sent", exchange.sent);
    context.out.data("received", exchange.received);
}

MPI_Comm communicator(const Context& context, const Function& function) {
    return function.is_neighborhood() ? context.graph : context.comm;
}

/// Every pair has as much to send as to receive, and the data is where it is to be received.
void in_place(Context& context, const Function& function) {
    for (int round = 0; round < 3; ++round) {
        Exchange exchange(function, context.comm, round);
        Blocks& blocks = exchange.arguments.received;
        for (size_t i = 0; i < blocks.counts.size(); ++i) {
            blocks.counts[i] =
                function.receives_uniform() ? 4 : 1 + (context.rank * static_cast<int>(i)) % 3;
            blocks.places[i] = static_cast<int>(i) * 4 *
                               (function.has_types() ? static_cast<int>(sizeof(int)) : 1);
        }
        exchange.received = Memory::of_ints(4 * context.size, 1000 * context.rank);
        blocks.buffer = exchange.received.data();
        exchange.arguments.sent.buffer = MPI_IN_PLACE;
        run_and_show(context, exchange);
    }
}

/// What is sent is not looked at then.
void in_place_with_nonsense(Context& context, const Function& function) {
    Exchange exchange(function, context.comm, 0);
    exchange.arguments.sent.buffer = MPI_IN_PLACE;
    exchange.arguments.sent.types.assign(exchange.arguments.sent.types.size(), MPI_DATATYPE_NULL);
    exchange.arguments.sent.counts.assign(exchange.arguments.sent.counts.size(), -5);
    Blocks& blocks = exchange.arguments.received;
    blocks.counts.assign(blocks.counts.size(), 3);
    run_and_show(context, exchange);
}

void no_data(Context& context, const Function& function, bool null_buffers) {
    for (int round = 0; round < 2; ++round) {
        Exchange exchange(function, communicator(context, function), round, 0);
        for (Blocks* blocks : {&exchange.arguments.sent, &exchange.arguments.received}) {
            blocks->counts.assign(blocks->counts.size(), 0);
            if (null_buffers) { blocks->buffer = nullptr; }
        }
        run_and_show(context, exchange);
    }
}

/// One rank has nothing to do with the others.
void one_without_data(Context& context, const Function& function) {
    for (int round = 0; round < 2; ++round) {
        const MPI_Comm comm = communicator(context, function);
        Exchange exchange(function, comm, round);
        const Peers peers = function.is_neighborhood() ? neighbors(comm) : everybody(comm);
        constexpr int idle = 4;
        // What an allgather sends goes to all, so there the idle rank only sends nothing.
        const bool only_sends = function.is_allgather();
        Arguments& arguments = exchange.arguments;
        for (size_t i = 0; i < arguments.sent.counts.size(); ++i) {
            const bool to_idle = !only_sends && peers.destinations[i] == idle;
            if (context.rank == idle || to_idle) { arguments.sent.counts[i] = 0; }
        }
        for (size_t i = 0; i < arguments.received.counts.size(); ++i) {
            const bool at_idle = !only_sends && context.rank == idle;
            if (at_idle || peers.sources[i] == idle) { arguments.received.counts[i] = 0; }
        }
        if (context.rank == idle) { arguments.sent.buffer = nullptr; }
        if (context.rank == idle && !only_sends) { arguments.received.buffer = nullptr; }
        run_and_show(context, exchange);
    }
}

/// Blocks of an odd type on one side and of ints on the other.
void of_type(Context& context, const Function& function, const OddType& type, bool sends_it) {
    Exchange exchange(function, communicator(context, function), 0, type.integers);
    Blocks& odd = sends_it ? exchange.arguments.sent : exchange.arguments.received;
    Blocks& plain = sends_it ? exchange.arguments.received : exchange.arguments.sent;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(type.handle, &lower, &extent);
    const int step = static_cast<int>(extent / static_cast<MPI_Aint>(sizeof(int)));
    // Two extents for each block, where there is a choice; ints in between stay as they are.
    const bool uniform = sends_it ? function.sends_uniform() : function.receives_uniform();
    const int stride = uniform ? 1 : 2;
    const int blocks = static_cast<int>(odd.places.size());
    for (size_t i = 0; i < odd.counts.size(); ++i) { odd.counts[i] = 1; }
    for (int i = 0; i < blocks; ++i) {
        odd.places[static_cast<size_t>(i)] =
            function.has_types() ? i * stride * static_cast<int>(extent) : i * stride;
    }
    odd.types.assign(odd.types.size(), type.handle);
    plain.counts.assign(plain.counts.size(), type.integers);
    for (size_t i = 0; i < plain.places.size(); ++i) {
        const int unit = function.has_types() ? static_cast<int>(sizeof(int)) : 1;
        plain.places[i] = static_cast<int>(i) * type.integers * unit;
    }
    const int span = std::abs(step) * stride * blocks;
    Memory& memory = sends_it ? exchange.sent : exchange.received;
    Memory& other = sends_it ? exchange.received : exchange.sent;
    other =
        Memory::of_ints(static_cast<int>(plain.places.size()) * type.integers, 1000 * context.rank);
    plain.buffer = other.data();
    memory = Memory::of_ints(2 * span + 2 * type.room, 1000 * context.rank);
    odd.buffer = memory.ints() + span + type.room;
    run_and_show(context, exchange);
}

/// Blocks would come to lie over one another: that is only allowed where they are sent.
bool can_be_received(const OddType& type) {
    const std::string name = type.name;
    return name != "zero_extent" && name != "interleaved" && name != "overlapping";
}

void add_types(Cases& cases) {
    for (const Function& function : functions()) {
        for (const OddType& type : odd_types()) {
            const std::string name = type.name;
            const bool is_chosen = name == "negative_places" || name == "with_hole" ||
                                   name == "nothing" || name == "zero_extent";
            if (function.form != Form::blocking && !is_chosen) { continue; }
            if (function.is_large && name != "with_hole") { continue; }
            if (function.form != Form::blocking && name == "huge_extent") { continue; }
            cases.add(function.name() + ".sends." + name, Needs::graph,
                      [&](Context& context) { of_type(context, function, type, true); });
            if (!can_be_received(type)) { continue; }
            cases.add(function.name() + ".receives." + name, Needs::graph,
                      [&](Context& context) { of_type(context, function, type, false); });
        }
    }
}

void large_blocks(Context& context, const Function& function) {
    for (int round = 0; round < 2; ++round) {
        Exchange exchange(function, communicator(context, function), round, 5000);
        run_and_show(context, exchange);
    }
}

/// As many at a time, completed in another order than they were begun.
void several(Context& context, const Function& function) {
    constexpr size_t count = 6;
    MPI_Barrier(communicator(context, function));
    for (int round = 0; round < 2; ++round) {
        std::vector<std::unique_ptr<Exchange>> exchanges;
        std::vector<MPI_Request> requests(count, MPI_REQUEST_NULL);
        for (size_t i = 0; i < count; ++i) {
            exchanges.push_back(std::make_unique<Exchange>(
                function, communicator(context, function), static_cast<int>(i)));
            context.out.call("begin", exchanges.back()->arguments.invoke(function, &requests[i]));
        }
        if (function.form == Form::persistent) {
            context.out.call("Startall", MPI_Startall(count, requests.data()));
        }
        const size_t first = static_cast<size_t>(context.rank) % count;
        for (size_t i = 0; i < count; ++i) {
            const size_t which = (first + 5 * i) % count;
            context.out.call("Wait", MPI_Wait(&requests[which], MPI_STATUS_IGNORE));
        }
        for (const auto& exchange : exchanges) { context.out.data("received", exchange->received); }
        for (MPI_Request& request : requests) {
            if (request != MPI_REQUEST_NULL) { MPI_Request_free(&request); }
        }
    }
}

/// Started again and again, with other data each time.
void again(Context& context, const Function& function) {
    Exchange exchange(function, communicator(context, function), 0);
    MPI_Request request = MPI_REQUEST_NULL;
    context.out.call("init", exchange.arguments.invoke(function, &request));
    const size_t ints = exchange.sent.size() / sizeof(int);
    for (int round = 0; round < 4; ++round) {
        for (size_t i = 0; i < ints; ++i) { exchange.sent.ints()[i] += round; }
        context.out.call("Start", MPI_Start(&request));
        int flag = 0;
        int code = MPI_SUCCESS;
        if (round % 2 == 0) {
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            while (flag == 0 && code == MPI_SUCCESS) {
                code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            }
        }
        context.out.call("complete", code);
        context.out.value("is null", request == MPI_REQUEST_NULL ? 1 : 0);
        context.out.data("received", exchange.received);
    }
    context.out.call("Wait for an inactive one", MPI_Wait(&request, MPI_STATUS_IGNORE));
    context.out.call("Request_free", MPI_Request_free(&request));
    context.out.value("is null", request == MPI_REQUEST_NULL ? 1 : 0);
}

using Run = void (*)(Context&, const Function&);

} // namespace

void add_exchange_data(Cases& cases) {
    cases.group("exchange_data");
    for (const Function& function : functions()) {
        const auto add = [&](const char* what, const Run run) {
            cases.add(function.name() + "." + what, Needs::graph,
                      [&function, run](Context& context) { run(context, function); });
        };
        if (!function.is_neighborhood()) {
            add("in_place", in_place);
            add("in_place_with_nonsense", in_place_with_nonsense);
        }
        add("no_data", [](Context& c, const Function& f) { no_data(c, f, false); });
        add("no_data_and_null", [](Context& c, const Function& f) { no_data(c, f, true); });
        if (!function.sends_uniform() || function.operation == test::neighbor_allgatherv) {
            add("one_without_data", one_without_data);
        }
        add("large_blocks", large_blocks);
        if (function.form != Form::blocking) { add("several", several); }
        if (function.form == Form::persistent) { add("again", again); }
    }
    add_types(cases);
}

} // namespace nodeaware::conformance
