// Requests, communicators and datatypes that are freed while messages are under way.

#include "tests/mpi/conformance/context.hpp"

namespace nodeaware::conformance {

namespace {

/// A message with a send and a receive whose requests are asked for.
struct UnderWay {
    UnderWay(Context& context, int shift, MPI_Datatype type = MPI_INT, int count = learned_count)
        : sent(Memory::of_ints(2 * learned_count, 100 * context.rank)), received(sent.size()) {
        MPI_Irecv(received.data(), count, type, context.left(shift), learned_tag, context.comm,
                  &requests[0]);
        MPI_Isend(sent.data(), count, type, context.right(shift), learned_tag, context.comm,
                  &requests[1]);
    }
    void complete(Recorder& out) {
        MPI_Status statuses[2] = {fresh_status(), fresh_status()};
        out.call("Waitall", MPI_Waitall(2, requests, statuses));
        out.status("status", statuses[0]);
        out.data("received", received);
    }

    Memory sent;
    Memory received;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

void free_send(Context& context) {
    for (const int shift : {3, 1}) {
        UnderWay message(context, shift);
        context.out.call("Request_free", MPI_Request_free(&message.requests[1]));
        context.out.value("is null", message.requests[1] == MPI_REQUEST_NULL ? 1 : 0);
        message.complete(context.out);
        context.sync(); // the memory has to stay until everybody has got it
    }
}

/// That it has come is known from a second message, which is sent later with the same tag.
void free_receive(Context& context) {
    for (const int shift : {3, 1}) {
        UnderWay message(context, shift);
        context.out.call("Request_free", MPI_Request_free(&message.requests[0]));
        MPI_Wait(&message.requests[1], MPI_STATUS_IGNORE);
        correct_message(context, shift, "second");
        context.out.data("received", message.received);
        context.sync();
    }
}

void free_receive_before_it_comes(Context& context) {
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(learned_count, context.rank);
        Memory received(sent.size());
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(received.data(), learned_count, MPI_INT, context.left(shift), learned_tag,
                  context.comm, &request);
        context.out.call("Request_free", MPI_Request_free(&request));
        context.sync();
        MPI_Send(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                 context.comm);
        correct_message(context, shift, "second");
        context.out.data("received", received);
        context.sync();
    }
}

void free_active_persistent(Context& context) {
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(learned_count, context.rank);
        Memory received(sent.size());
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Recv_init(received.data(), learned_count, MPI_INT, context.left(shift), learned_tag,
                      context.comm, &requests[0]);
        MPI_Send_init(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                      context.comm, &requests[1]);
        context.out.call("Startall", MPI_Startall(2, requests));
        context.out.call("Request_free", MPI_Request_free(&requests[0]));
        context.out.call("Request_free", MPI_Request_free(&requests[1]));
        correct_message(context, shift, "second");
        context.out.data("received", received);
        context.sync();
    }
}

/// The communicator is freed, by all, before anything of it has been completed.
template <int shift, bool disconnects> void free_communicator(Context& context) {
    UnderWay message(context, shift);
    context.out.forget(context.comm);
    if (disconnects) {
        MPI_Waitall(2, message.requests, MPI_STATUSES_IGNORE);
        context.out.call("Comm_disconnect", MPI_Comm_disconnect(&context.comm));
    } else {
        context.out.call("Comm_free", MPI_Comm_free(&context.comm));
        message.complete(context.out);
    }
    context.out.value("is null", context.comm == MPI_COMM_NULL ? 1 : 0);
    context.out.data("received", message.received);
}

/// Persistent requests live on, too, and may be started.
void free_under_persistent(Context& context) {
    Memory sent = Memory::of_ints(learned_count, context.rank);
    Memory received(sent.size());
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Recv_init(received.data(), learned_count, MPI_INT, context.left(3), learned_tag,
                  context.comm, &requests[0]);
    MPI_Send_init(sent.data(), learned_count, MPI_INT, context.right(3), learned_tag, context.comm,
                  &requests[1]);
    context.out.forget(context.comm);
    context.out.call("Startall", MPI_Startall(2, requests));
    context.out.call("Comm_free", MPI_Comm_free(&context.comm));
    context.out.call("Waitall", MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    context.out.data("received", received);
    for (MPI_Request& request : requests) { MPI_Request_free(&request); }
}

MPI_Datatype with_holes() {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(4, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

void free_type(Context& context) {
    for (const int shift : {3, 1}) {
        MPI_Datatype type = with_holes();
        UnderWay message(context, shift, type, 2);
        context.out.call("Type_free", MPI_Type_free(&type));
        message.complete(context.out);
    }
}

/// The receive is there, and its type is gone, long before the message.
void free_type_early(Context& context) {
    for (const int shift : {3, 1}) {
        MPI_Datatype type = with_holes();
        Memory sent = Memory::of_ints(2 * learned_count, context.rank);
        Memory received(sent.size());
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(received.data(), 2, type, context.left(shift), learned_tag, context.comm,
                  &request);
        MPI_Type_free(&type);
        // Another one may get its handle.
        MPI_Datatype other = MPI_DATATYPE_NULL;
        MPI_Type_vector(2, 2, 4, MPI_INT, &other);
        MPI_Type_commit(&other);
        context.sync();
        MPI_Send(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                 context.comm);
        MPI_Status status = fresh_status();
        context.out.call("Wait", MPI_Wait(&request, &status));
        context.out.status("status", status);
        context.out.data("received", received);
        MPI_Type_free(&other);
    }
}

void free_type_of_persistent(Context& context) {
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(2 * learned_count, context.rank);
        Memory received(sent.size());
        MPI_Datatype type = with_holes();
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Recv_init(received.data(), 2, type, context.left(shift), learned_tag, context.comm,
                      &requests[0]);
        MPI_Send_init(sent.data(), 2, type, context.right(shift), learned_tag, context.comm,
                      &requests[1]);
        context.out.call("Type_free", MPI_Type_free(&type));
        for (int i = 0; i < 3; ++i) {
            context.out.call("Startall", MPI_Startall(2, requests));
            context.out.call("Waitall", MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
            context.out.data("received", received);
        }
        for (MPI_Request& request : requests) { MPI_Request_free(&request); }
    }
}

/// A group of processes, an error handler and an info object need not live long either.
void free_others(Context& context) {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm_group(context.comm, &group);
    MPI_Comm made = MPI_COMM_NULL;
    context.out.call("Comm_create", MPI_Comm_create(context.comm, group, &made));
    MPI_Group_free(&group);
    MPI_Comm outer = context.comm;
    context.comm = made;
    context.out.watch(made, "made");
    correct_message(context, 3, "on the made one");
    context.out.forget(made);
    MPI_Comm_free(&made);
    context.comm = outer;
    correct_message(context, 3, "after it");
}

/// What is sent may be overwritten as soon as its send is complete.
void overwrite(Context& context) {
    for (const int shift : {3, 1}) {
        Memory sent(learned_count * sizeof(int));
        for (int i = 0; i < 5; ++i) {
            for (int k = 0; k < learned_count; ++k) { sent.ints()[k] = 100 * context.rank + i; }
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Isend(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                      context.comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < 5; ++i) {
            Memory received(sent.size());
            MPI_Recv(received.data(), learned_count, MPI_INT, context.left(shift), learned_tag,
                     context.comm, MPI_STATUS_IGNORE);
            context.out.data("received", received);
        }
    }
}

} // namespace

void add_lifetimes(Cases& cases) {
    cases.group("lifetimes");
    cases.add("free_send", Needs::shared, free_send);
    cases.add("free_receive", Needs::shared, free_receive);
    cases.add("free_receive_before_it_comes", Needs::shared, free_receive_before_it_comes);
    cases.add("free_active_persistent", Needs::shared, free_active_persistent);
    cases.add("free_communicator", Needs::warm, free_communicator<3, false>);
    cases.add("free_communicator_near", Needs::warm, free_communicator<1, false>);
    cases.add("disconnect", Needs::warm, free_communicator<3, true>);
    cases.add("free_under_persistent", Needs::warm, free_under_persistent);
    cases.add("free_type", Needs::shared, free_type);
    cases.add("free_type_early", Needs::shared, free_type_early);
    cases.add("free_type_of_persistent", Needs::shared, free_type_of_persistent);
    cases.add("free_others", Needs::warm, free_others);
    cases.add("overwrite", Needs::shared, overwrite);
}

} // namespace nodeaware::conformance
