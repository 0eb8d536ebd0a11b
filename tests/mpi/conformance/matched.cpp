// Matched probes and the receives that belong to them.

#include "tests/mpi/conformance/context.hpp"

namespace nodeaware::conformance {

namespace {

struct Way {
    const char* name;
    bool waits; ///< MPI_Mprobe, else MPI_Improbe
    bool nonblocking;
    bool is_large;
    bool any;
};

void probe(Context& context, const Way& way, int shift, MPI_Message* message, MPI_Status* status) {
    const int source = way.any ? MPI_ANY_SOURCE : context.left(shift);
    const int tag = way.any ? MPI_ANY_TAG : learned_tag;
    if (way.waits) {
        context.out.call("Mprobe", MPI_Mprobe(source, tag, context.comm, message, status));
        return;
    }
    int code = MPI_SUCCESS;
    for (int flag = 0; flag == 0 && code == MPI_SUCCESS;) {
        code = MPI_Improbe(source, tag, context.comm, &flag, message, status);
    }
    context.out.call("Improbe", code);
}

void receive(Context& context, const Way& way, Memory& memory, int count, MPI_Message* message) {
    MPI_Status status = fresh_status();
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    if (!way.is_large) {
        code = way.nonblocking ? MPI_Imrecv(memory.data(), count, MPI_INT, message, &request)
                               : MPI_Mrecv(memory.data(), count, MPI_INT, message, &status);
    }
#ifdef NODEAWARE_MPI_LARGE_COUNTS
    if (way.is_large) {
        code = way.nonblocking ? MPI_Imrecv_c(memory.data(), count, MPI_INT, message, &request)
                               : MPI_Mrecv_c(memory.data(), count, MPI_INT, message, &status);
    }
#endif
    context.out.call("receive", code);
    if (way.nonblocking) { context.out.call("Wait", MPI_Wait(&request, &status)); }
    context.out.status("status", status);
    context.out.value("is null", *message == MPI_MESSAGE_NULL ? 1 : 0);
    context.out.data("received", memory);
}

void match(Context& context, const Way& way) {
    for (const int shift : {3, 1, 0}) {
        context.sync();
        for (const int count : {learned_count, 5, 0}) {
            Memory sent = Memory::of_ints(learned_count, 100 * context.rank);
            Memory received(sent.size());
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Message message = MPI_MESSAGE_NULL;
            MPI_Status status = fresh_status();
            MPI_Isend(sent.data(), count, MPI_INT, context.right(shift), learned_tag, context.comm,
                      &request);
            probe(context, way, shift, &message, &status);
            context.out.status("probed", status);
            receive(context, way, received, learned_count, &message);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        context.sync();
    }
}

/// A message that was matched is nobody else's, and the next one is received before it.
void next_goes_first(Context& context) {
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(2 * learned_count, 100 * context.rank);
        Memory received[2] = {Memory(learned_count * sizeof(int)),
                              Memory(learned_count * sizeof(int))};
        MPI_Request requests[2];
        for (int i = 0; i < 2; ++i) {
            MPI_Isend(sent.ints() + i, learned_count, MPI_INT, context.right(shift), learned_tag,
                      context.comm, &requests[i]);
        }
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status = fresh_status();
        context.out.call("Mprobe", MPI_Mprobe(context.left(shift), learned_tag, context.comm,
                                              &message, &status));
        context.out.call("Recv", MPI_Recv(received[1].data(), learned_count, MPI_INT,
                                          context.left(shift), learned_tag, context.comm, &status));
        context.out.status("second", status);
        context.out.call("Mrecv",
                         MPI_Mrecv(received[0].data(), learned_count, MPI_INT, &message, &status));
        context.out.status("first", status);
        context.out.data("first", received[0]);
        context.out.data("second", received[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

void not_there(Context& context) {
    context.sync();
    for (const bool any : {false, true}) {
        MPI_Message message = MPI_MESSAGE_NULL;
        int flag = -7;
        context.out.call("Improbe", MPI_Improbe(any ? MPI_ANY_SOURCE : context.left(3),
                                                any ? MPI_ANY_TAG : learned_tag, context.comm,
                                                &flag, &message, MPI_STATUS_IGNORE));
        context.out.value("flag", flag);
        context.out.value("is null", message == MPI_MESSAGE_NULL ? 1 : 0);
    }
    context.sync();
}

/// Arguments of the receive that MPI refuses; then it is received rightly where it still can be.
void wrong_receive(Context& context, bool nonblocking, int count, MPI_Datatype type) {
    for (const int shift : {3, 1}) {
        with_both_handlers(context, [&] {
            Memory sent = Memory::of_ints(learned_count, 100 * context.rank);
            Memory received(sent.size());
            MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
            MPI_Message message = MPI_MESSAGE_NULL;
            MPI_Status status = fresh_status();
            MPI_Isend(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                      context.comm, requests);
            MPI_Mprobe(context.left(shift), learned_tag, context.comm, &message, &status);
            context.out.call("wrong",
                             nonblocking
                                 ? MPI_Imrecv(received.data(), count, type, &message, &requests[1])
                                 : MPI_Mrecv(received.data(), count, type, &message, &status));
            context.out.value("is null", message == MPI_MESSAGE_NULL ? 1 : 0);
            if (message != MPI_MESSAGE_NULL) {
                context.out.call(
                    "right", MPI_Mrecv(received.data(), learned_count, MPI_INT, &message, &status));
                context.out.data("received", received);
            }
            MPI_Wait(requests, MPI_STATUS_IGNORE);
        });
    }
}

/// Several are matched before the first is received.
void many(Context& context) {
    constexpr int count = 5;
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(2 * learned_count, 100 * context.rank);
        std::vector<Memory> received(count, Memory(learned_count * sizeof(int)));
        std::vector<MPI_Request> sends(count, MPI_REQUEST_NULL);
        std::vector<MPI_Request> requests(count, MPI_REQUEST_NULL);
        std::vector<MPI_Message> messages(count, MPI_MESSAGE_NULL);
        std::vector<MPI_Status> statuses(count, fresh_status());
        for (size_t i = 0; i < count; ++i) {
            MPI_Isend(sent.ints() + i, learned_count, MPI_INT, context.right(shift), learned_tag,
                      context.comm, &sends[i]);
        }
        for (MPI_Message& message : messages) {
            MPI_Mprobe(context.left(shift), learned_tag, context.comm, &message, MPI_STATUS_IGNORE);
        }
        for (size_t i = 0; i < count; ++i) {
            MPI_Imrecv(received[i].data(), learned_count, MPI_INT, &messages[count - 1 - i],
                       &requests[i]);
        }
        context.out.call("Waitall", MPI_Waitall(count, requests.data(), statuses.data()));
        for (size_t i = 0; i < count; ++i) {
            context.out.status("status", statuses[i]);
            context.out.data("received", received[i]);
        }
        MPI_Waitall(count, sends.data(), MPI_STATUSES_IGNORE);
    }
}

/// Nowhere to put the answer: refused, and the message is there as before.
void no_place(Context& context, const std::string& what) {
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(learned_count, 100 * context.rank);
        Memory received(sent.size());
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status = fresh_status();
        const int source = context.left(shift);
        int flag = 0;
        MPI_Isend(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                  context.comm, &request);
        MPI_Probe(source, learned_tag, context.comm, &status);
        int code = MPI_SUCCESS;
        if (what == "iprobe.no_flag") {
            code = MPI_Iprobe(source, learned_tag, context.comm, nullptr, &status);
        } else if (what == "improbe.no_flag") {
            code = MPI_Improbe(source, learned_tag, context.comm, nullptr, &message, &status);
        } else if (what == "improbe.no_message") {
            code = MPI_Improbe(source, learned_tag, context.comm, &flag, nullptr, &status);
        } else if (what == "mprobe.no_message") {
            code = MPI_Mprobe(source, learned_tag, context.comm, nullptr, &status);
        }
        context.out.call(what.c_str(), code);
        MPI_Mprobe(source, learned_tag, context.comm, &message, &status);
        if (what == "imrecv.no_request") {
            code = MPI_Imrecv(received.data(), learned_count, MPI_INT, &message, nullptr);
            context.out.call(what.c_str(), code);
        }
        context.out.call("Mrecv",
                         MPI_Mrecv(received.data(), learned_count, MPI_INT, &message, &status));
        context.out.data("received", received);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    correct_message(context, 3, "after it");
}

} // namespace

void add_matched(Cases& cases) {
    static const std::vector<Way> ways = {
        {"mprobe.mrecv", true, false, false, false},
        {"mprobe.imrecv", true, true, false, false},
        {"improbe.mrecv", false, false, false, false},
        {"improbe.imrecv", false, true, false, false},
        {"mprobe.any.mrecv", true, false, false, true},
        {"improbe.any.imrecv", false, true, false, true},
#ifdef NODEAWARE_MPI_LARGE_COUNTS
        {"mprobe.mrecv_c", true, false, true, false},
        {"mprobe.imrecv_c", true, true, true, false},
#endif
    };
    cases.group("matched");
    for (const Way& way : ways) {
        cases.add(way.name, Needs::shared, [&way](Context& context) { match(context, way); });
    }
    cases.add("next_goes_first", Needs::shared, next_goes_first);
    cases.add("not_there", Needs::shared, not_there);
    for (const bool nonblocking : {false, true}) {
        const std::string name = nonblocking ? "imrecv" : "mrecv";
        cases.add(name + ".negative_count", Needs::shared, [nonblocking](Context& context) {
            wrong_receive(context, nonblocking, -1, MPI_INT);
        });
        cases.add(name + ".no_type", Needs::shared, [nonblocking](Context& context) {
            wrong_receive(context, nonblocking, learned_count, MPI_DATATYPE_NULL);
        });
    }
    for (const char* const what : {"iprobe.no_flag", "improbe.no_flag", "improbe.no_message",
                                   "mprobe.no_message", "imrecv.no_request"}) {
        cases.add(what, Needs::shared, [what](Context& context) { no_place(context, what); });
    }
    cases.add("many", Needs::shared, many);
}

} // namespace nodeaware::conformance
