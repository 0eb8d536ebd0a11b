// Messages that are longer than their receives: the class of the error, the handler that is called,
// nothing written beyond the receive, and a communicator that works afterwards. One receive at a
// time here.

#include "tests/mpi/conformance/messages.hpp"

namespace nodeaware::conformance {

namespace {

constexpr int half = learned_count / 2;

/// Each rank sends a message that is too long to the rank `shift` further on.
class TooLong {
  public:
    TooLong(Context& context, int shift, int count)
        : context_(context), sent_(Memory::of_ints(count, 100 * context.rank)),
          small_(static_cast<size_t>(count) / 2 * sizeof(int)), from_(context.left(shift)) {
        MPI_Isend(sent_.data(), count, MPI_INT, context.right(shift), learned_tag, context.comm,
                  &send_);
    }
    ~TooLong() {
        context_.out.call("the send", MPI_Wait(&send_, MPI_STATUS_IGNORE));
        context_.out.guards("receive", small_);
    }
    TooLong(const TooLong&) = delete;
    TooLong& operator=(const TooLong&) = delete;

    Message receive() {
        Message message;
        message.buffer = small_.data();
        message.count = static_cast<int>(small_.size() / sizeof(int));
        message.peer = from_;
        message.comm = context_.comm;
        return message;
    }
    Context& context() { return context_; }
    /// Source and tag are known, too, of what was too long.
    void status(const MPI_Status& status) {
        context_.out.value("source", status.MPI_SOURCE);
        context_.out.value("tag", status.MPI_TAG);
    }

  private:
    Context& context_;
    Memory sent_;
    Memory small_;
    int from_;
    MPI_Request send_ = MPI_REQUEST_NULL;
};

using Receiving = void (*)(TooLong&);

void add(Cases& cases, const std::string& name, Receiving receive, int count = learned_count) {
    cases.add(name, Needs::shared, [receive, count](Context& context) {
        for (const int shift : {3, 1}) {
            with_both_handlers(context, [&] {
                TooLong too_long(context, shift, count);
                receive(too_long);
                context.sync(); // what comes next must not be received here from anybody
            });
        }
        correct_message(context, 3, "after it");
        correct_message(context, 1, "after it, near");
    });
}

void receive_with(TooLong& t, const Transfer& function, const Message& message) {
    Recorder& out = t.context().out;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = fresh_status();
    out.call(function.name, function.invoke(message, &request, &status));
    if (function.way == Way::persistent) { out.call("Start", MPI_Start(&request)); }
    if (function.way != Way::blocking) {
        out.call("Wait", MPI_Wait(&request, &status));
        out.value("is null", request == MPI_REQUEST_NULL ? 1 : 0);
    }
    t.status(status);
    if (request != MPI_REQUEST_NULL) { out.call("Request_free", MPI_Request_free(&request)); }
}

template <int index> void receive_by(TooLong& t) {
    receive_with(t, receives()[index], t.receive());
}

void receive_ignoring_status(TooLong& t) {
    const Message m = t.receive();
    t.context().out.call(
        "Recv", MPI_Recv(m.buffer, half, MPI_INT, m.peer, m.tag, m.comm, MPI_STATUS_IGNORE));
}

void receive_from_any(TooLong& t) {
    Message message = t.receive();
    message.peer = MPI_ANY_SOURCE;
    receive_with(t, receives()[0], message);
}

void receive_any_tag(TooLong& t) {
    Message message = t.receive();
    message.tag = MPI_ANY_TAG;
    receive_with(t, receives()[1], message);
}

void receive_anything(TooLong& t) {
    Message message = t.receive();
    message.peer = MPI_ANY_SOURCE;
    message.tag = MPI_ANY_TAG;
    receive_with(t, receives()[1], message);
}

void receive_nothing(TooLong& t) {
    Message message = t.receive();
    message.count = 0;
    receive_with(t, receives()[0], message);
}

void receive_null(TooLong& t) {
    Message message = t.receive();
    message.count = 0;
    message.buffer = nullptr;
    receive_with(t, receives()[1], message);
}

/// A hole between two ints of the type, and less room than the message has.
void receive_with_holes(TooLong& t) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    Message message = t.receive();
    message.type = type;
    message.count = 1;
    receive_with(t, receives()[1], message);
    MPI_Type_free(&type);
}

/// MPI may free a persistent receive that has failed, and use its handle again: then that is no
/// persistent one any more.
void start_what_has_its_handle(Context& context) {
    with_both_handlers(context, [&] {
        MPI_Comm copy = MPI_COMM_NULL;
        MPI_Comm_dup(context.comm, &copy);
        Memory sent = Memory::of_ints(learned_count, context.rank);
        Memory received(learned_count * sizeof(int));
        MPI_Request failed = MPI_REQUEST_NULL;
        MPI_Recv_init(received.data(), half, MPI_INT, context.left(3), learned_tag, copy, &failed);
        MPI_Start(&failed);
        MPI_Send(sent.data(), learned_count, MPI_INT, context.right(3), learned_tag, copy);
        context.out.call("Wait", MPI_Wait(&failed, MPI_STATUS_IGNORE));
        if (failed != MPI_REQUEST_NULL) { MPI_Request_free(&failed); }
        MPI_Comm_free(&copy);
        constexpr int others = 8;
        constexpr int unused_tag = 4711;
        for (int i = 0; i < others; ++i) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(received.data(), learned_count, MPI_INT, context.left(3), unused_tag,
                      context.comm, &request);
            context.out.call("Start", MPI_Start(&request));
            MPI_Cancel(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        context.sync();
    });
    correct_message(context, 3, "after it");
}

Message test_begin(TooLong& t, MPI_Request* request) {
    const Message m = t.receive();
    MPI_Irecv(m.buffer, static_cast<int>(m.count), m.type, m.peer, m.tag, m.comm, request);
    return m;
}

void test_it(TooLong& t) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = fresh_status();
    test_begin(t, &request);
    int code = MPI_SUCCESS;
    for (int flag = 0; flag == 0 && code == MPI_SUCCESS;) {
        code = MPI_Test(&request, &flag, &status);
    }
    t.context().out.call("Test", code);
    t.context().out.value("is null", request == MPI_REQUEST_NULL ? 1 : 0);
    t.status(status);
}

void ask_first(TooLong& t) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = fresh_status();
    test_begin(t, &request);
    int code = MPI_SUCCESS;
    int flag = 0;
    while (flag == 0 && code == MPI_SUCCESS) {
        code = MPI_Request_get_status(request, &flag, &status);
    }
    t.context().out.call("Request_get_status", code);
    t.context().out.value("flag", flag);
    t.status(status);
    t.context().out.call("Wait", MPI_Wait(&request, &status));
    t.status(status);
}

void receive_probed(TooLong& t) {
    const Message m = t.receive();
    MPI_Status status = fresh_status();
    t.context().out.call("Probe", MPI_Probe(m.peer, m.tag, m.comm, &status));
    t.context().out.status("probed", status);
    receive_with(t, receives()[0], m);
}

template <bool nonblocking> void receive_matched(TooLong& t) {
    const Message m = t.receive();
    Recorder& out = t.context().out;
    MPI_Status status = fresh_status();
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    out.call("Mprobe", MPI_Mprobe(m.peer, m.tag, m.comm, &handle, &status));
    out.status("probed", status);
    status = fresh_status();
    if (nonblocking) {
        out.call("Imrecv", MPI_Imrecv(m.buffer, half, MPI_INT, &handle, &request));
        if (request != MPI_REQUEST_NULL) { out.call("Wait", MPI_Wait(&request, &status)); }
    } else {
        out.call("Mrecv", MPI_Mrecv(m.buffer, half, MPI_INT, &handle, &status));
    }
    out.value("message is null", handle == MPI_MESSAGE_NULL ? 1 : 0);
    t.status(status);
}

/// Both halves of it: even ranks send much, odd ones little, so some receives are too short. The
/// others' are longer than the message.
void add_combined(Cases& cases, const Combined& function) {
    cases.add(function.name, Needs::shared, [&function](Context& context) {
        for (const int shift : {3, 1}) {
            with_both_handlers(context, [&] {
                const int mine = context.rank % 2 == 0 ? learned_count : half;
                Memory source = Memory::of_ints(mine, 100 * context.rank);
                Memory target(half * sizeof(int));
                Message sent{source.data(),        mine,        MPI_INT,
                             context.right(shift), learned_tag, context.comm};
                Message received{target.data(),       half,        MPI_INT,
                                 context.left(shift), learned_tag, context.comm};
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Status status = fresh_status();
                int code = function.invoke(sent, received, &request, &status);
                context.out.call(function.name, code);
                if (function.is_nonblocking) {
                    code = context.out.call("Wait", MPI_Wait(&request, &status));
                }
                context.out.guards("source", source);
                if (!function.is_nonblocking) { // MPICH 4.0 does not write the status
                    context.out.value("source", status.MPI_SOURCE);
                    context.out.value("tag", status.MPI_TAG);
                }
                if (code == MPI_SUCCESS) {
                    context.out.data("target", target);
                } else {
                    context.out.guards("target", target);
                }
            });
            context.sync();
        }
        correct_message(context, 3, "after it");
    });
}

} // namespace

void add_truncation(Cases& cases) {
    cases.group("truncation");
    add(cases, "recv", receive_by<0>);
    add(cases, "irecv", receive_by<1>);
    add(cases, "recv_init", receive_by<2>);
#ifdef NODEAWARE_MPI_LARGE_COUNTS
    add(cases, "recv_c", receive_by<3>);
    add(cases, "irecv_c", receive_by<4>);
    add(cases, "recv_init_c", receive_by<5>);
#endif
    add(cases, "ignoring_status", receive_ignoring_status);
    add(cases, "any_source", receive_from_any);
    add(cases, "any_tag", receive_any_tag);
    add(cases, "anything", receive_anything);
    add(cases, "nothing", receive_nothing);
    add(cases, "null", receive_null);
    cases.add("start_what_has_its_handle", Needs::shared, start_what_has_its_handle);
    add(cases, "holes", receive_with_holes);
    add(cases, "test", test_it);
    add(cases, "get_status", ask_first);
    add(cases, "probe", receive_probed);
    add(cases, "mrecv", receive_matched<false>);
    add(cases, "imrecv", receive_matched<true>);
    add(cases, "large.recv", receive_by<0>, 100000);
    add(cases, "large.irecv", receive_by<1>, 100000);
    add(cases, "large.test", test_it, 100000);
    add(cases, "other_size.recv", receive_by<0>, 20);
    add(cases, "other_size.irecv", receive_by<1>, 20);
    add(cases, "other_size.recv_init", receive_by<2>, 20);
    for (const Combined& function : combined_functions()) { add_combined(cases, function); }
}

} // namespace nodeaware::conformance
