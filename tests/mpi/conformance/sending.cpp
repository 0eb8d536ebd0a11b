// Every function that sends and every one that receives, where nothing is wrong: data and statuses,
// with no, little and more data, to others and to itself; and buffers for MPI_Bsend.

#include "tests/mpi/conformance/messages.hpp"

namespace nodeaware::conformance {

namespace {

bool is_ready(const Transfer& function) {
    const std::string name = function.name;
    return name.find("Rsend") == 0 || name.find("Irsend") == 0;
}

/// What one function sends is received by another; `count` ints, with a tag.
void send_and_receive(Context& context, const Transfer& send, const Transfer& receive, int shift,
                      int count, int tag) {
    Recorder& out = context.out;
    Memory sent = Memory::of_ints(count, 100 * context.rank);
    Memory received(sent.size() + sizeof(int));
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status = fresh_status();
    const Message to{sent.data(), count, MPI_INT, context.right(shift), tag, context.comm};
    const Message from{received.data(), count + 1, MPI_INT, context.left(shift), tag, context.comm};
    const auto begin = [&](const Transfer& function, const Message& message, MPI_Request* request) {
        out.call(function.name, function.invoke(message, request, &status));
        if (function.way == Way::persistent) { out.call("Start", MPI_Start(request)); }
    };
    // A blocking receive goes together with a send that does not wait, and the other way round.
    if (receive.way != Way::blocking) { begin(receive, from, &requests[0]); }
    if (is_ready(send)) { context.sync(); }
    begin(send, to, &requests[1]);
    if (receive.way == Way::blocking) { begin(receive, from, &requests[0]); }
    if (receive.way != Way::blocking) { out.call("Wait", MPI_Wait(&requests[0], &status)); }
    if (send.way != Way::blocking) { out.call("Wait", MPI_Wait(&requests[1], MPI_STATUS_IGNORE)); }
    for (MPI_Request& request : requests) {
        if (request != MPI_REQUEST_NULL) { MPI_Request_free(&request); }
    }
    out.status("status", status);
    out.data("received", received);
}

/// Blocking receives only with sends that end without them.
bool fit(const Transfer& send, const Transfer& receive) {
    const std::string name = send.name;
    if (receive.way != Way::blocking) { return true; }
    return name.find("ssend") == std::string::npos && name.find("Ssend") == std::string::npos &&
           !is_ready(send);
}

void add_functions(Cases& cases) {
    for (const Transfer& send : sends()) {
        for (const Transfer& receive : receives()) {
            if (!fit(send, receive) || send.is_large != receive.is_large) { continue; }
            cases.add(std::string(send.name) + "." + receive.name, Needs::shared,
                      [&send, &receive](Context& context) {
                          for (const int shift : {3, 1, 0}) {
                              send_and_receive(context, send, receive, shift, learned_count,
                                               learned_tag);
                              send_and_receive(context, send, receive, shift, 0, learned_tag);
                              send_and_receive(context, send, receive, shift, 3, 44);
                          }
                      });
        }
    }
}

void with_tag(Context& context, int tag) {
    for (const int shift : {3, 1}) {
        send_and_receive(context, sends()[0], receives()[1], shift, learned_count, tag);
    }
}

void send_null(Context& context) {
    for (const int shift : {3, 1, 0}) {
        MPI_Status status = fresh_status();
        MPI_Request request = MPI_REQUEST_NULL;
        context.out.call("Irecv", MPI_Irecv(nullptr, 0, MPI_INT, context.left(shift), learned_tag,
                                            context.comm, &request));
        context.out.call(
            "Send", MPI_Send(nullptr, 0, MPI_INT, context.right(shift), learned_tag, context.comm));
        context.out.call("Wait", MPI_Wait(&request, &status));
        context.out.status("status", status);
    }
}

void send_large(Context& context) {
    for (const int shift : {3, 1}) {
        send_and_receive(context, sends()[4], receives()[1], shift, 200000, learned_tag);
        send_and_receive(context, sends()[4], receives()[1], shift, 200000, 44);
    }
}

void send_to_itself(Context& context) {
    MPI_Comm outer = context.comm;
    context.comm = MPI_COMM_SELF;
    Memory sent = Memory::of_ints(learned_count, context.rank);
    Memory received(sent.size());
    MPI_Status status = fresh_status();
    MPI_Request request = MPI_REQUEST_NULL;
    context.out.call("Isend", MPI_Isend(sent.data(), 5, MPI_INT, 0, 3, MPI_COMM_SELF, &request));
    context.out.call("Recv", MPI_Recv(received.data(), learned_count, MPI_INT, MPI_ANY_SOURCE,
                                      MPI_ANY_TAG, MPI_COMM_SELF, &status));
    context.out.call("Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    context.out.status("status", status);
    context.out.data("received", received);
    context.comm = outer;
}

/// A buffer that is too small for what is to be sent, or none at all. What is sent nevertheless, as
/// some MPIs do, is received; all ranks are alike.
void send_buffered(Context& context, const std::string& what, int shift) {
    Memory sent = Memory::of_ints(100, context.rank);
    const int to = context.right(shift);
    MPI_Request request = MPI_REQUEST_NULL;
    int came = 0;
    for (const bool nonblocking : {false, true}) {
        const int code =
            nonblocking
                ? MPI_Ibsend(sent.data(), 100, MPI_INT, to, learned_tag, context.comm, &request)
                : MPI_Bsend(sent.data(), 100, MPI_INT, to, learned_tag, context.comm);
        context.out.call(what, code);
        if (code == MPI_SUCCESS) { ++came; }
        if (code == MPI_SUCCESS && nonblocking) {
            context.out.call("Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
    }
    for (; came > 0; --came) {
        Memory received(sent.size());
        context.out.call("Recv", MPI_Recv(received.data(), 100, MPI_INT, context.left(shift),
                                          learned_tag, context.comm, MPI_STATUS_IGNORE));
        context.out.data("received", received);
    }
}

void buffer_too_small(Context& context) {
    with_both_handlers(context, [&] {
        void* attached = nullptr;
        void* detached = nullptr;
        int size = 0;
        context.out.call("Buffer_detach", MPI_Buffer_detach(static_cast<void*>(&attached), &size));
        context.out.value("size", size);
        for (const int shift : {3, 1}) { send_buffered(context, "without buffer", shift); }
        std::vector<char> small(MPI_BSEND_OVERHEAD + 40);
        const auto attach = [&] {
            return MPI_Buffer_attach(small.data(), static_cast<int>(small.size()));
        };
        context.out.call("Buffer_attach", attach());
        context.out.call("Buffer_attach again", attach());
        for (const int shift : {3, 1}) { send_buffered(context, "with too little", shift); }
        context.out.call("Buffer_detach", MPI_Buffer_detach(static_cast<void*>(&detached), &size));
        context.out.value("the same", detached == small.data() ? 1 : 0);
        context.out.value("size", size - MPI_BSEND_OVERHEAD);
        MPI_Buffer_attach(attached, 1 << 20);
    });
    correct_message(context, 3, "after it");
}

/// What is in the buffer has left when it is detached.
void buffer_is_emptied(Context& context) {
    for (const int shift : {3, 1}) {
        void* attached = nullptr;
        int size = 0;
        MPI_Buffer_detach(static_cast<void*>(&attached), &size);
        std::vector<char> buffer(5 * (MPI_BSEND_OVERHEAD + learned_count * sizeof(int)));
        MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
        Memory sent(learned_count * sizeof(int));
        for (int i = 0; i < 4; ++i) {
            for (int k = 0; k < learned_count; ++k) { sent.ints()[k] = 100 * context.rank + i; }
            context.out.call("Bsend", MPI_Bsend(sent.data(), learned_count, MPI_INT,
                                                context.right(shift), learned_tag, context.comm));
        }
        std::vector<MPI_Request> requests;
        std::vector<Memory> received(4, Memory(sent.size()));
        for (Memory& memory : received) {
            MPI_Irecv(memory.data(), learned_count, MPI_INT, context.left(shift), learned_tag,
                      context.comm, &requests.emplace_back());
        }
        void* detached = nullptr;
        context.out.call("Buffer_detach", MPI_Buffer_detach(static_cast<void*>(&detached), &size));
        context.out.value("the same", detached == buffer.data() ? 1 : 0);
        buffer.assign(buffer.size(), 'x');
        MPI_Buffer_attach(attached, 1 << 20);
        context.out.call("Waitall", MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE));
        for (const Memory& memory : received) { context.out.data("received", memory); }
    }
}

/// It is complete only when the receive is there.
void synchronous(Context& context) {
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(learned_count, context.rank);
        Memory received(sent.size());
        MPI_Request request = MPI_REQUEST_NULL;
        int flag = -7;
        MPI_Issend(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                   context.comm, &request);
        context.sync();
        context.out.call("Test", MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        context.out.value("flag", flag);
        context.sync();
        context.out.call("Recv",
                         MPI_Recv(received.data(), learned_count, MPI_INT, context.left(shift),
                                  learned_tag, context.comm, MPI_STATUS_IGNORE));
        context.out.call("Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
        context.out.data("received", received);
    }
}

} // namespace

void add_sending(Cases& cases) {
    cases.group("sending");
    add_functions(cases);
    cases.add("tag_0", Needs::shared, [](Context& context) { with_tag(context, 0); });
    cases.add("largest_tag", Needs::shared,
              [](Context& context) { with_tag(context, largest_tag()); });
    cases.add("null", Needs::shared, send_null);
    cases.add("large", Needs::shared, send_large);
    cases.add("self", Needs::shared, send_to_itself);
    cases.add("buffer_too_small", Needs::shared, buffer_too_small);
    cases.add("buffer_is_emptied", Needs::shared, buffer_is_emptied);
    cases.add("synchronous", Needs::shared, synchronous);
}

} // namespace nodeaware::conformance
