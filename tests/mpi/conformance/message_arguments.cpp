// Arguments that MPI refuses, one wrong thing at a time and two at once, all ranks alike. After
// each the communicator has to work.

#include "tests/mpi/conformance/messages.hpp"

#include <climits>

namespace nodeaware::conformance {

namespace {

struct Fault {
    const char* name;
    void (*spoil)(Message&);
};

const std::vector<Fault>& common_faults() {
    static const std::vector<Fault> list = {
        {"negative_count", [](Message& m) { m.count = -1; }},
        {"very_negative_count", [](Message& m) { m.count = INT_MIN; }},
        {"no_type", [](Message& m) { m.type = MPI_DATATYPE_NULL; }},
        {"uncommitted_type", [](Message& m) { m.type = uncommitted_type(); }},
        {"no_type_and_zero", [](Message& m) { m.type = MPI_DATATYPE_NULL, m.count = 0; }},
        {"uncommitted_type_and_zero", [](Message& m) { m.type = uncommitted_type(), m.count = 0; }},
        {"tag_minus_2", [](Message& m) { m.tag = -2; }},
        {"least_tag", [](Message& m) { m.tag = INT_MIN; }},
        {"peer_minus_77", [](Message& m) { m.peer = -77; }},
        {"peer_size", [](Message& m) { MPI_Comm_size(m.comm, &m.peer); }},
        {"peer_root", [](Message& m) { m.peer = MPI_ROOT; }},
        {"no_communicator", [](Message& m) { m.comm = MPI_COMM_NULL; }},
        {"null_buffer", [](Message& m) { m.buffer = nullptr; }},
        {"count_and_type", [](Message& m) { m.count = -1, m.type = MPI_DATATYPE_NULL; }},
        {"count_and_tag", [](Message& m) { m.count = -1, m.tag = -2; }},
        {"peer_and_tag", [](Message& m) { m.peer = -77, m.tag = -2; }},
        {"type_and_peer", [](Message& m) { m.type = MPI_DATATYPE_NULL, m.peer = -77; }},
        {"nobody_and_count", [](Message& m) { m.peer = MPI_PROC_NULL, m.count = -1; }},
        {"nobody_and_type", [](Message& m) { m.peer = MPI_PROC_NULL, m.type = MPI_DATATYPE_NULL; }},
        {"nobody_and_tag", [](Message& m) { m.peer = MPI_PROC_NULL, m.tag = -2; }},
    };
    return list;
}

const std::vector<Fault>& faults_of_sends() {
    static const std::vector<Fault> list = {
        {"any_tag", [](Message& m) { m.tag = MPI_ANY_TAG; }},
        {"any_source", [](Message& m) { m.peer = MPI_ANY_SOURCE; }},
        {"tag_above", [](Message& m) { m.tag = tag_above(); }},
    };
    return list;
}

const std::vector<Fault>& faults_of_receives() {
    static const std::vector<Fault> list = {
        {"tag_above", [](Message& m) { m.tag = tag_above(); }},
        {"anybody_and_count", [](Message& m) { m.peer = MPI_ANY_SOURCE, m.count = -1; }},
        {"any_tag_and_type", [](Message& m) { m.tag = MPI_ANY_TAG, m.type = MPI_DATATYPE_NULL; }},
    };
    return list;
}

bool is_possible(const Fault& fault) {
    return std::string(fault.name) != "tag_above" || tag_above() > 0;
}

/// What MPI accepts nevertheless is completed, by all ranks alike.
void complete(Context& context, const Transfer& function, const Message& message, bool is_send,
              MPI_Request* request) {
    if (function.way == Way::persistent) {
        context.out.call("Request_free", MPI_Request_free(request));
        return;
    }
    if (message.peer >= 0 && is_send) {
        Memory received(learned_count * sizeof(int));
        context.out.call("Recv", MPI_Recv(received.data(), learned_count, MPI_INT, context.left(3),
                                          message.tag, context.comm, MPI_STATUS_IGNORE));
    } else if (message.peer >= 0 && function.way != Way::blocking) {
        context.out.call(
            "Send", MPI_Send(nullptr, 0, MPI_INT, context.right(3), message.tag, context.comm));
    }
    if (function.way == Way::nonblocking) {
        context.out.call("Wait", MPI_Wait(request, MPI_STATUS_IGNORE));
    }
}

/// In the case of a persistent one only making it.
void add_faults(Cases& cases, const Transfer& function, bool sends,
                const std::vector<Fault>& faults) {
    for (const Fault& fault : faults) {
        if (!is_possible(fault)) { continue; }
        const auto run = [&function, &fault, sends](Context& context) {
            Memory memory = Memory::of_ints(learned_count, 1);
            with_both_handlers(context, [&] {
                Message message;
                message.buffer = memory.data();
                message.comm = context.comm;
                message.peer = sends ? context.right(3) : context.left(3);
                fault.spoil(message);
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Status status = fresh_status();
                const int code = function.invoke(message, &request, &status);
                context.out.call(function.name, code);
                if (code == MPI_SUCCESS) { complete(context, function, message, sends, &request); }
            });
            context.out.data("memory", memory);
            correct_message(context, 3, "after it");
        };
        cases.add(std::string(function.name) + "." + fault.name, Needs::shared, run);
    }
}

void add_null_request(Cases& cases, const Transfer& function) {
    cases.add(std::string(function.name) + ".null_request", Needs::shared,
              [&function](Context& context) {
                  Memory memory = Memory::of_ints(learned_count, 1);
                  with_both_handlers(context, [&] {
                      Message message;
                      message.buffer = memory.data();
                      message.comm = context.comm;
                      message.peer = context.right(3);
                      context.out.call(function.name, function.invoke(message, nullptr, nullptr));
                  });
                  correct_message(context, 3, "after it");
              });
}

/// What is allowed with nobody as the other one.
void add_nobody(Cases& cases, const Transfer& function) {
    cases.add(std::string(function.name) + ".nobody", Needs::shared, [&function](Context& context) {
        Memory memory = Memory::of_ints(learned_count, 1);
        Message message;
        message.buffer = memory.data();
        message.comm = context.comm;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Status status = fresh_status();
        context.out.call(function.name, function.invoke(message, &request, &status));
        if (function.way == Way::persistent) { context.out.call("Start", MPI_Start(&request)); }
        if (function.way != Way::blocking) {
            context.out.call("Wait", MPI_Wait(&request, &status));
        }
        const std::string name = function.name;
        if (name.find("ecv") != std::string::npos) { context.out.status("status", status); }
        if (function.way == Way::persistent) {
            context.out.call("Request_free", MPI_Request_free(&request));
        }
        context.out.data("memory", memory);
    });
}

struct Probe {
    const char* name;
    int (*invoke)(int source, int tag, MPI_Comm comm);
};

const std::vector<Probe>& probes() {
    static const std::vector<Probe> list = {
        {"Probe", [](int source, int tag,
                     MPI_Comm comm) { return MPI_Probe(source, tag, comm, MPI_STATUS_IGNORE); }},
        {"Iprobe",
         [](int source, int tag, MPI_Comm comm) {
             int flag = 0;
             return MPI_Iprobe(source, tag, comm, &flag, MPI_STATUS_IGNORE);
         }},
        {"Mprobe",
         [](int source, int tag, MPI_Comm comm) {
             MPI_Message message = MPI_MESSAGE_NULL;
             return MPI_Mprobe(source, tag, comm, &message, MPI_STATUS_IGNORE);
         }},
        {"Improbe",
         [](int source, int tag, MPI_Comm comm) {
             int flag = 0;
             MPI_Message message = MPI_MESSAGE_NULL;
             return MPI_Improbe(source, tag, comm, &flag, &message, MPI_STATUS_IGNORE);
         }},
    };
    return list;
}

void add_probes(Cases& cases) {
    for (const Probe& probe : probes()) {
        for (const auto* faults : {&common_faults(), &faults_of_receives()}) {
            for (const Fault& fault : *faults) {
                const std::string name = fault.name;
                const bool fits = name == "tag_minus_2" || name == "least_tag" ||
                                  name == "peer_minus_77" || name == "peer_size" ||
                                  name == "peer_root" || name == "no_communicator" ||
                                  name == "peer_and_tag" || name == "nobody_and_tag" ||
                                  (name == "tag_above" && is_possible(fault));
                if (!fits) { continue; }
                cases.add(std::string(probe.name) + "." + name, Needs::shared,
                          [&probe, &fault](Context& context) {
                              with_both_handlers(context, [&] {
                                  Message message;
                                  message.comm = context.comm;
                                  message.peer = context.left(3);
                                  fault.spoil(message);
                                  context.out.call(
                                      probe.name,
                                      probe.invoke(message.peer, message.tag, message.comm));
                              });
                              correct_message(context, 3, "after it");
                          });
            }
        }
    }
}

} // namespace

void add_message_arguments(Cases& cases) {
    cases.group("arguments");
    for (const Transfer& function : sends()) {
        add_faults(cases, function, true, common_faults());
        add_faults(cases, function, true, faults_of_sends());
        add_nobody(cases, function);
        if (function.way != Way::blocking) { add_null_request(cases, function); }
    }
    for (const Transfer& function : receives()) {
        add_faults(cases, function, false, common_faults());
        add_faults(cases, function, false, faults_of_receives());
        add_nobody(cases, function);
        if (function.way != Way::blocking) { add_null_request(cases, function); }
    }
    add_probes(cases);
}

} // namespace nodeaware::conformance
