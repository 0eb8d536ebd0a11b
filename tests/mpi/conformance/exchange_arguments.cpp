// Collective exchanges with arguments that MPI refuses, or that look as if it should, all ranks
// alike; afterwards a right call on the same communicator.

#include "tests/mpi/conformance/exchanges.hpp"
#include "tests/mpi/conformance/messages.hpp"

namespace nodeaware::conformance {

namespace {

struct Fault {
    const char* name;
    bool of_lists; ///< only where there are counts for each block
    void (*spoil)(Exchange&);
};

const std::vector<Fault>& faults() {
    static const std::vector<Fault> list = {
        {"send_count", false, [](Exchange& e) { e.arguments.sent.counts[0] = -1; }},
        {"receive_count", false, [](Exchange& e) { e.arguments.received.counts[0] = -1; }},
        {"last_send_count", true, [](Exchange& e) { e.arguments.sent.counts.back() = -1; }},
        {"last_receive_count", true, [](Exchange& e) { e.arguments.received.counts.back() = -1; }},
        {"send_type", false, [](Exchange& e) { e.arguments.sent.types[0] = MPI_DATATYPE_NULL; }},
        {"receive_type", false,
         [](Exchange& e) { e.arguments.received.types[0] = MPI_DATATYPE_NULL; }},
        {"last_types", true,
         [](Exchange& e) {
             e.arguments.sent.types.back() = e.arguments.received.types.back() = MPI_DATATYPE_NULL;
         }},
        {"send_uncommitted", false,
         [](Exchange& e) { e.arguments.sent.types[0] = uncommitted_type(); }},
        {"receive_uncommitted", false,
         [](Exchange& e) { e.arguments.received.types[0] = uncommitted_type(); }},
        {"zero_and_no_type", false,
         [](Exchange& e) {
             for (Blocks* blocks : {&e.arguments.sent, &e.arguments.received}) {
                 blocks->counts.assign(blocks->counts.size(), 0);
                 blocks->types.assign(blocks->types.size(), MPI_DATATYPE_NULL);
             }
         }},
        {"no_communicator", false, [](Exchange& e) { e.arguments.comm = MPI_COMM_NULL; }},
        {"send_in_place", false, [](Exchange& e) { e.arguments.sent.buffer = MPI_IN_PLACE; }},
        {"receive_in_place", false,
         [](Exchange& e) { e.arguments.received.buffer = MPI_IN_PLACE; }},
        {"both_in_place", false,
         [](Exchange& e) { e.arguments.sent.buffer = e.arguments.received.buffer = MPI_IN_PLACE; }},
        {"aliased", false,
         [](Exchange& e) { e.arguments.sent.buffer = e.arguments.received.buffer; }},
        {"null_send", false, [](Exchange& e) { e.arguments.sent.buffer = nullptr; }},
        {"null_receive", false, [](Exchange& e) { e.arguments.received.buffer = nullptr; }},
        {"no_send_counts", true, [](Exchange& e) { e.arguments.sent.no_counts = true; }},
        {"no_receive_counts", true, [](Exchange& e) { e.arguments.received.no_counts = true; }},
        {"count_and_type", false,
         [](Exchange& e) {
             e.arguments.sent.counts[0] = -1;
             e.arguments.received.types[0] = MPI_DATATYPE_NULL;
         }},
        {"in_place_and_count", false,
         [](Exchange& e) {
             e.arguments.received.buffer = MPI_IN_PLACE;
             e.arguments.received.counts[0] = -1;
         }},
    };
    return list;
}

/// In place is right for those that are no neighbourhood collectives: see exchange_data.
bool fits(const Fault& fault, const Function& function) {
    const std::string name = fault.name;
    if (name == "send_in_place" && !function.is_neighborhood()) { return false; }
    const bool is_of_sends = name.find("send_count") != std::string::npos;
    if (fault.of_lists && function.receives_uniform()) { return false; }
    return !(fault.of_lists && is_of_sends && function.is_allgather());
}

MPI_Comm communicator(const Context& context, const Function& function) {
    return function.is_neighborhood() ? context.graph : context.comm;
}

void refuse(Context& context, const Function& function, const Fault& fault) {
    with_both_handlers(context, [&] {
        Exchange exchange(function, communicator(context, function), 1);
        fault.spoil(exchange);
        exchange.run(context.out, function.name());
        context.out.guards("sent", exchange.sent);
        context.out.guards("received", exchange.received);
    });
    exchange_rightly(context, function, communicator(context, function), 1, "after it");
}

void null_request(Context& context, const Function& function) {
    with_both_handlers(context, [&] {
        Exchange exchange(function, communicator(context, function), 1);
        context.out.call(function.name(), exchange.arguments.invoke(function, nullptr));
    });
    exchange_rightly(context, function, communicator(context, function), 1, "after it");
}

/// A neighbourhood collective on a communicator without a topology.
void no_topology(Context& context, const Function& function) {
    with_both_handlers(context, [&] {
        Exchange exchange(function, context.graph, 1);
        exchange.arguments.comm = context.comm;
        exchange.run(context.out, function.name());
        context.out.data("received", exchange.received);
    });
    exchange_rightly(context, function, context.graph, 1, "after it");
}

} // namespace

void add_exchange_arguments(Cases& cases) {
    cases.group("exchange_arguments");
    for (const Function& function : functions()) {
        for (const Fault& fault : faults()) {
            if (!fits(fault, function)) { continue; }
            cases.add(function.name() + "." + fault.name, Needs::graph,
                      [&](Context& context) { refuse(context, function, fault); });
        }
        if (function.form != Form::blocking) {
            cases.add(function.name() + ".null_request", Needs::graph,
                      [&](Context& context) { null_request(context, function); });
        }
        if (function.is_neighborhood()) {
            cases.add(function.name() + ".no_topology", Needs::graph,
                      [&](Context& context) { no_topology(context, function); });
        }
    }
}

} // namespace nodeaware::conformance
