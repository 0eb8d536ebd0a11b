// MPI_Sendrecv and its kin: arguments that MPI refuses in one half, while the other half is right,
// must leave nothing behind; and what they do where all is right.

#include "tests/mpi/conformance/messages.hpp"

namespace nodeaware::conformance {

namespace {

struct Fault {
    const char* name;
    bool shared_by_halves; ///< of buffer, count and type, which the _replace ones have but once
    void (*spoil)(Message& sent, Message& received);
};

const std::vector<Fault>& faults() {
    static const std::vector<Fault> list = {
        {"send_count", true, [](Message& s, Message&) { s.count = -1; }},
        {"send_type", true, [](Message& s, Message&) { s.type = MPI_DATATYPE_NULL; }},
        {"send_uncommitted", true, [](Message& s, Message&) { s.type = uncommitted_type(); }},
        {"send_null", true, [](Message& s, Message&) { s.buffer = nullptr; }},
        {"send_tag", false, [](Message& s, Message&) { s.tag = -2; }},
        {"send_any_tag", false, [](Message& s, Message&) { s.tag = MPI_ANY_TAG; }},
        {"send_tag_above", false, [](Message& s, Message&) { s.tag = tag_above(); }},
        {"send_peer", false, [](Message& s, Message&) { s.peer = -77; }},
        {"send_peer_size", false, [](Message& s, Message&) { MPI_Comm_size(s.comm, &s.peer); }},
        {"send_any_source", false, [](Message& s, Message&) { s.peer = MPI_ANY_SOURCE; }},
        {"receive_count", true, [](Message&, Message& r) { r.count = -1; }},
        {"receive_type", true, [](Message&, Message& r) { r.type = MPI_DATATYPE_NULL; }},
        {"receive_uncommitted", true, [](Message&, Message& r) { r.type = uncommitted_type(); }},
        {"receive_null", true, [](Message&, Message& r) { r.buffer = nullptr; }},
        {"receive_tag", false, [](Message&, Message& r) { r.tag = -2; }},
        {"receive_tag_above", false, [](Message&, Message& r) { r.tag = tag_above(); }},
        {"receive_peer", false, [](Message&, Message& r) { r.peer = -77; }},
        {"receive_peer_size", false, [](Message&, Message& r) { MPI_Comm_size(r.comm, &r.peer); }},
        {"both_counts", true, [](Message& s, Message& r) { s.count = r.count = -1; }},
        {"send_tag_receive_peer", false, [](Message& s, Message& r) { s.tag = -2, r.peer = -77; }},
        {"no_communicator", false, [](Message& s, Message& r) { s.comm = r.comm = MPI_COMM_NULL; }},
        {"send_to_nobody_with_count", true,
         [](Message& s, Message&) { s.peer = MPI_PROC_NULL, s.count = -1; }},
        {"send_to_nobody_with_tag", false,
         [](Message& s, Message&) { s.peer = MPI_PROC_NULL, s.tag = -2; }},
    };
    return list;
}

bool fits(const Fault& fault, const Combined& function) {
    const std::string name = fault.name;
    if (name.find("tag_above") != std::string::npos && tag_above() == 0) { return false; }
    const bool of_the_receive = name.find("receive_") == 0 || name == "both_counts";
    return !(function.replaces && fault.shared_by_halves && of_the_receive);
}

struct Halves {
    explicit Halves(Context& context, int shift)
        : source(Memory::of_ints(learned_count, 100 * context.rank)), target(source.size()) {
        sent.buffer = source.data();
        received.buffer = target.data();
        sent.comm = received.comm = context.comm;
        sent.peer = context.right(shift);
        received.peer = context.left(shift);
    }
    Memory source;
    Memory target;
    Message sent;
    Message received;
};

void invoke(Context& context, const Combined& function, Halves& halves, int shift) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = fresh_status();
    const std::string what = std::string(function.name) + " " + std::to_string(shift);
    const int code = function.invoke(halves.sent, halves.received, &request, &status);
    context.out.call(what, code);
    if (code != MPI_SUCCESS) { return; }
    if (function.is_nonblocking) {
        // MPICH 4.0 does not write the status.
        context.out.call("Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        context.out.status(what, status);
    }
}

void add_faults(Cases& cases, const Combined& function) {
    for (const Fault& fault : faults()) {
        if (!fits(fault, function)) { continue; }
        cases.add(std::string(function.name) + "." + fault.name, Needs::shared,
                  [&function, &fault](Context& context) {
                      with_both_handlers(context, [&] {
                          Halves halves(context, 3);
                          fault.spoil(halves.sent, halves.received);
                          invoke(context, function, halves, 3);
                          context.out.data("source", halves.source);
                          context.out.data("target", halves.target);
                      });
                      Halves right(context, 3);
                      invoke(context, function, right, 3);
                      context.out.data("source", right.source);
                      context.out.data("target", right.target);
                      correct_message(context, 3, "after it");
                  });
    }
}

/// Rank by rank other counts and tags, to all distances, to itself and to nobody.
void exchange_rightly(Context& context, const Combined& function) {
    for (const int shift : {0, 1, 2, 3, 4}) {
        Halves halves(context, shift);
        halves.sent.tag = 10 + context.rank;
        halves.received.tag = shift % 2 == 0 ? 10 + context.left(shift) : MPI_ANY_TAG;
        if (!function.replaces) { halves.sent.count = context.rank; }
        invoke(context, function, halves, shift);
        context.out.data("source", halves.source);
        context.out.data("target", halves.target);
    }
}

void exchange_with_nobody(Context& context, const Combined& function) {
    Halves halves(context, 3);
    halves.sent.peer = halves.received.peer = MPI_PROC_NULL;
    invoke(context, function, halves, 3);
    context.out.data("source", halves.source);
    context.out.data("target", halves.target);
}

/// Along a line: the first rank receives from nobody, the last one sends to nobody.
void exchange_along_line(Context& context, const Combined& function) {
    Halves halves(context, 1);
    if (context.rank == 0) { halves.received.peer = MPI_PROC_NULL; }
    if (context.rank == context.size - 1) { halves.sent.peer = MPI_PROC_NULL; }
    invoke(context, function, halves, 1);
    context.out.data("source", halves.source);
    context.out.data("target", halves.target);
}

void exchange_ignoring_status(Context& context, const Combined& function) {
    Halves halves(context, 3);
    MPI_Request request = MPI_REQUEST_NULL;
    context.out.call(function.name,
                     function.invoke(halves.sent, halves.received, &request, MPI_STATUS_IGNORE));
    if (function.is_nonblocking) {
        context.out.call("Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    context.out.data("source", halves.source);
    context.out.data("target", halves.target);
}

} // namespace

void add_combined_arguments(Cases& cases) {
    cases.group("combined");
    for (const Combined& function : combined_functions()) {
        add_faults(cases, function);
        const std::string name = function.name;
        const auto add = [&](const char* what, void (*run)(Context&, const Combined&)) {
            cases.add(name + "." + what, Needs::shared,
                      [&function, run](Context& context) { run(context, function); });
        };
        add("rightly", exchange_rightly);
        add("nobody", exchange_with_nobody);
        add("along_line", exchange_along_line);
        add("ignoring_status", exchange_ignoring_status);
    }
}

} // namespace nodeaware::conformance
