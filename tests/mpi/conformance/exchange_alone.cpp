// One rank alone makes a collective call that MPI refuses, as the first on a communicator or later;
// then all make right ones. The refused call must not count for anything.

#include "tests/mpi/conformance/exchanges.hpp"

namespace nodeaware::conformance {

namespace {

constexpr int wrong_rank = 2;

struct Fault {
    const char* name;
    void (*spoil)(Exchange&);
};

const std::vector<Fault>& faults() {
    static const std::vector<Fault> list = {
        {"count", [](Exchange& e) { e.arguments.received.counts[0] = -1; }},
        {"type", [](Exchange& e) { e.arguments.received.types[0] = MPI_DATATYPE_NULL; }},
    };
    return list;
}

struct When {
    const char* name;
    int calls_before;
    bool meets; ///< in a blocking collective call before the wrong one
};
const std::vector<When> moments = {{"first", 0, false}, {"later", 3, false}, {"met", 1, true}};

void refuse_one(Context& context, const Function& function, const Fault& fault, const When& when,
                int calls) {
    const Place place(context, function);
    exchange_rightly(context, function, place.comm(), when.calls_before, "before it");
    if (when.meets) { MPI_Barrier(place.comm()); }
    if (context.rank == wrong_rank) {
        Exchange exchange(function, place.comm(), 1);
        fault.spoil(exchange);
        exchange.run(context.out, function.name());
    }
    for (int i = 0; i < calls; ++i) {
        exchange_rightly(context, function, place.comm(), 1, "after it");
        if (i == calls / 2) { MPI_Barrier(place.comm()); }
    }
    int sum = 0;
    MPI_Allreduce(&context.rank, &sum, 1, MPI_INT, MPI_SUM, place.comm());
    context.out.value("sum", sum);
}

/// Refused on one rank while others wait for that rank in a nonblocking one.
void refuse_between(Context& context, const Function& function) {
    const Place place(context, function);
    MPI_Barrier(place.comm());
    for (int i = 0; i < 5; ++i) {
        Exchange first(function, place.comm(), i);
        Exchange second(function, place.comm(), i + 1);
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        context.out.call("first", first.arguments.invoke(function, &requests[0]));
        if (context.rank == wrong_rank) {
            Exchange wrong(function, place.comm(), 1);
            wrong.arguments.sent.counts[0] = -1;
            MPI_Request request = MPI_REQUEST_NULL;
            context.out.call("wrong", wrong.arguments.invoke(function, &request));
        }
        context.out.call("second", second.arguments.invoke(function, &requests[1]));
        context.out.call("Waitall", MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        context.out.data("first", first.received);
        context.out.data("second", second.received);
    }
}

} // namespace

void add_exchange_alone(Cases& cases) {
    cases.group("exchange_alone");
    for (const Function& function : functions()) {
        for (const Fault& fault : faults()) {
            for (const When& when : moments) {
                const bool is_usual = std::string(fault.name) == "count";
                if (!is_usual && std::string(when.name) != "first") { continue; }
                if (function.is_large && std::string(when.name) == "later") { continue; }
                const int calls = is_usual && !function.is_large ? 20 : 5;
                cases.add(function.name() + "." + fault.name + "." + when.name, Needs::fresh,
                          [&, calls](Context& context) {
                              refuse_one(context, function, fault, when, calls);
                          });
            }
        }
        if (function.form == Form::nonblocking) {
            cases.add(function.name() + ".between", Needs::fresh,
                      [&](Context& context) { refuse_between(context, function); });
        }
    }
}

} // namespace nodeaware::conformance
