// Collective exchanges in which one rank sends more than another one expects, or less: the error
// where it is one, nothing written beside the block, and other communicators that work afterwards.
// The communicator is not used any more.

#include "tests/mpi/conformance/exchanges.hpp"

namespace nodeaware::conformance {

namespace {

struct Mismatch {
    const char* name;
    int source;
    int destination;
    int sent;     ///< ints
    int expected; ///< ints
};

const std::vector<Mismatch> mismatches = {
    {"far", 0, 3, 8, 4},       {"to_last", 1, 6, 8, 7},          {"near", 4, 5, 8, 2},
    {"nothing", 0, 3, 4, 0},   {"large_far", 0, 3, 100000, 500}, {"short_far", 0, 3, 2, 4},
    {"short_near", 4, 5, 2, 4}};

/// A block of 4 ints from everybody to everybody but for the mismatch, with gaps between them.
void exchange_wrongly(Context& context, const Function& function, const Mismatch& mismatch) {
    const Place place(context, function);
    const MPI_Comm comm = place.comm();
    const Peers peers = function.is_neighborhood() ? neighbors(comm) : everybody(comm);
    constexpr int usual = 4;
    constexpr int gap = 8;
    const int unit = function.has_types() ? static_cast<int>(sizeof(int)) : 1;
    Arguments arguments;
    arguments.comm = comm;
    int next = 0;
    for (const int peer : peers.destinations) {
        const bool is_wrong = context.rank == mismatch.source && peer == mismatch.destination;
        arguments.sent.counts.push_back(is_wrong ? mismatch.sent : usual);
        arguments.sent.places.push_back(next * unit);
        next += arguments.sent.counts.back();
    }
    Memory sent = Memory::of_ints(next, 1000 * context.rank);
    next = 0;
    std::vector<size_t> wrong_blocks;
    for (const int peer : peers.sources) {
        const bool is_wrong = context.rank == mismatch.destination && peer == mismatch.source;
        arguments.received.counts.push_back(is_wrong ? mismatch.expected : usual);
        arguments.received.places.push_back(next * unit);
        if (is_wrong) { wrong_blocks.push_back(static_cast<size_t>(next)); }
        next += arguments.received.counts.back() + gap;
    }
    Memory received(static_cast<size_t>(next) * sizeof(int));
    for (Blocks* blocks : {&arguments.sent, &arguments.received}) {
        blocks->types.assign(blocks->counts.size(), MPI_INT);
    }
    arguments.sent.buffer = sent.data();
    arguments.received.buffer = received.data();
    MPI_Request request = MPI_REQUEST_NULL;
    int code = context.out.roughly(function.name(), arguments.invoke(function, &request));
    if (code == MPI_SUCCESS && function.form == Form::nonblocking) {
        code = context.out.roughly("Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    // What has become of that block is not known, and where it fails of none.
    for (const size_t at : wrong_blocks) {
        for (int i = 0; i < mismatch.expected; ++i) {
            received.ints()[at + static_cast<size_t>(i)] = 0;
        }
    }
    if (code == MPI_SUCCESS) {
        context.out.data("received", received);
    } else {
        context.out.guards("received", received);
    }
    context.sync();
}

void add(Cases& cases, const Function& function) {
    for (const Mismatch& mismatch : mismatches) {
        cases.add(function.name() + "." + mismatch.name, Needs::fresh, [&](Context& context) {
            exchange_wrongly(context, function, mismatch);
            MPI_Comm_free(&context.comm);
            MPI_Comm_split(context.side, 0, context.rank, &context.comm);
            context.out.watch(context.comm, "comm");
            const Place place(context, function);
            exchange_rightly(context, function, place.comm(), 2, "after it");
        });
    }
}

} // namespace

void add_exchange_truncation(Cases& cases) {
    cases.group("exchange_truncation");
    for (const Function& function : functions()) {
        const bool is_list = !function.receives_uniform() && !function.is_allgather();
        if (is_list && function.form != Form::persistent && !function.is_large) {
            add(cases, function);
        }
    }
}

} // namespace nodeaware::conformance
