// Communicators that are made and freed between messages, attributes of them, their error handlers.

#include "tests/mpi/conformance/context.hpp"

namespace nodeaware::conformance {

namespace {

void message_on(Context& context, MPI_Comm comm, const std::string& what) {
    Context inner{context.out, comm, context.side, MPI_COMM_NULL, context.after};
    MPI_Comm_rank(comm, &inner.rank);
    MPI_Comm_size(comm, &inner.size);
    const int shift = inner.size > 3 ? 3 : 1;
    correct_message(inner, shift, what);
}

/// A message is under way on the first while the second is made.
void make_between(Context& context, int (*make)(MPI_Comm, MPI_Comm*)) {
    Memory sent = Memory::of_ints(learned_count, context.rank);
    Memory received(sent.size());
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Irecv(received.data(), learned_count, MPI_INT, context.left(3), learned_tag, context.comm,
              &requests[0]);
    MPI_Isend(sent.data(), learned_count, MPI_INT, context.right(3), learned_tag, context.comm,
              &requests[1]);
    MPI_Comm made = MPI_COMM_NULL;
    context.out.call("make", make(context.comm, &made));
    if (made != MPI_COMM_NULL) {
        context.out.watch(made, "made");
        message_on(context, made, "on the made one");
        context.out.forget(made);
        context.out.call("Comm_free", MPI_Comm_free(&made));
    }
    context.out.call("Waitall", MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    context.out.data("received", received);
    correct_message(context, 3, "after it");
}

int create_of_some(MPI_Comm comm, MPI_Comm* made) {
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm_group(comm, &all);
    const int ranks[] = {5, 0, 3, 1};
    MPI_Group_incl(all, 4, ranks, &some);
    const int code = MPI_Comm_create(comm, some, made);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return code;
}

int create_group_of_some(MPI_Comm comm, MPI_Comm* made) {
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    int rank = 0;
    int code = MPI_SUCCESS;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_group(comm, &all);
    const int ranks[] = {0, 2, 4, 6};
    MPI_Group_incl(all, 4, ranks, &some);
    if (rank % 2 == 0) { code = MPI_Comm_create_group(comm, some, 9, made); }
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return code;
}

int cart_sub(MPI_Comm comm, MPI_Comm* made) {
    const int sizes[2] = {2, 3};
    const int periods[2] = {1, 0};
    const int remain[2] = {0, 1};
    MPI_Comm grid = MPI_COMM_NULL;
    int code = MPI_Cart_create(comm, 2, sizes, periods, 0, &grid);
    if (grid != MPI_COMM_NULL) {
        code = MPI_Cart_sub(grid, remain, made);
        MPI_Comm_free(&grid);
    }
    return code;
}

void add_made(Cases& cases) {
    const auto add = [&](const char* name, int (*make)(MPI_Comm, MPI_Comm*)) {
        cases.add(std::string("make_between.") + name, Needs::warm,
                  [make](Context& context) { make_between(context, make); });
    };
    add("Comm_dup", MPI_Comm_dup);
    add("Comm_dup_with_info",
        [](MPI_Comm c, MPI_Comm* made) { return MPI_Comm_dup_with_info(c, MPI_INFO_NULL, made); });
    add("Comm_idup", [](MPI_Comm c, MPI_Comm* made) {
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = MPI_Comm_idup(c, made, &request);
        return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
    });
    add("Comm_split", [](MPI_Comm c, MPI_Comm* made) { return MPI_Comm_split(c, 0, 0, made); });
    add("Comm_split.parts", [](MPI_Comm c, MPI_Comm* made) {
        int rank = 0;
        MPI_Comm_rank(c, &rank);
        return MPI_Comm_split(c, rank % 2 == 0 ? 1 : MPI_UNDEFINED, -rank, made);
    });
    add("Comm_create", create_of_some);
    add("Comm_create_group", create_group_of_some);
    add("Cart_sub", cart_sub);
}

struct Noted {
    Recorder* out;
    MPI_Comm comm; ///< a message is completed on it from the callback, if it is one
    MPI_Request request;
    int code;
};

int note_delete(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* extra) {
    auto& noted = *static_cast<Noted*>(extra);
    noted.out->value("attribute deleted", *static_cast<int*>(value));
    if (noted.request != MPI_REQUEST_NULL) {
        noted.out->call("Wait within", MPI_Wait(&noted.request, MPI_STATUS_IGNORE));
    }
    return noted.code;
}

int note_copy(MPI_Comm /*comm*/, int /*keyval*/, void* extra, void* value, void* copied,
              int* flag) {
    static_cast<Noted*>(extra)->out->value("attribute copied", *static_cast<int*>(value));
    *static_cast<void**>(copied) = value;
    *flag = 1;
    return MPI_SUCCESS;
}

void attributes(Context& context) {
    Noted noted{&context.out, context.comm, MPI_REQUEST_NULL, MPI_SUCCESS};
    int keyval = MPI_KEYVAL_INVALID;
    int value = 5;
    int other = 6;
    int flag = 0;
    int* found = nullptr;
    MPI_Comm_create_keyval(note_copy, note_delete, &keyval, &noted);
    context.out.call("Comm_set_attr", MPI_Comm_set_attr(context.comm, keyval, &value));
    correct_message(context, 3, "with it");
    MPI_Comm dup = MPI_COMM_NULL;
    context.out.call("Comm_dup", MPI_Comm_dup(context.comm, &dup));
    context.out.call("Comm_set_attr", MPI_Comm_set_attr(dup, keyval, &other));
    context.out.call("Comm_free", MPI_Comm_free(&dup));
    context.out.call("Comm_get_attr",
                     MPI_Comm_get_attr(context.comm, keyval, static_cast<void*>(&found), &flag));
    context.out.value("found", flag != 0 ? *found : -1);
    context.out.call("Comm_delete_attr", MPI_Comm_delete_attr(context.comm, keyval));
    context.out.call("Comm_set_attr", MPI_Comm_set_attr(context.comm, keyval, &other));
    context.out.forget(context.comm);
    context.out.call("Comm_free", MPI_Comm_free(&context.comm));
    MPI_Comm_free_keyval(&keyval);
}

/// The callback waits for a message on the communicator that is freed.
void wait_in_callback(Context& context) {
    Noted noted{&context.out, context.comm, MPI_REQUEST_NULL, MPI_SUCCESS};
    int keyval = MPI_KEYVAL_INVALID;
    int value = 7;
    Memory sent = Memory::of_ints(learned_count, context.rank);
    Memory received(sent.size());
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_delete, &keyval, &noted);
    MPI_Comm_set_attr(context.comm, keyval, &value);
    MPI_Irecv(received.data(), learned_count, MPI_INT, context.left(3), learned_tag, context.comm,
              &noted.request);
    MPI_Send(sent.data(), learned_count, MPI_INT, context.right(3), learned_tag, context.comm);
    context.out.forget(context.comm);
    context.out.call("Comm_free", MPI_Comm_free(&context.comm));
    context.out.data("received", received);
    MPI_Comm_free_keyval(&keyval);
}

/// A callback that refuses.
void refuse_in_callback(Context& context) {
    Noted noted{&context.out, context.comm, MPI_REQUEST_NULL, MPI_ERR_OTHER};
    int keyval = MPI_KEYVAL_INVALID;
    int value = 8;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_delete, &keyval, &noted);
    MPI_Comm_set_attr(context.comm, keyval, &value);
    context.out.call("Comm_delete_attr", MPI_Comm_delete_attr(context.comm, keyval));
    correct_message(context, 3, "after it");
    noted.code = MPI_SUCCESS;
    context.out.call("Comm_delete_attr", MPI_Comm_delete_attr(context.comm, keyval));
    MPI_Comm_free_keyval(&keyval);
}

/// The handler that a communicator has is the one that its error calls, whoever's it was before.
void handlers(Context& context) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_split(context.comm, 0, context.rank, &made);
    Memory memory = Memory::of_ints(learned_count, 0);
    const auto err = [&](const char* what) {
        context.out.call(what,
                         MPI_Send(memory.data(), -1, MPI_INT, context.right(3), learned_tag, made));
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(memory.data(), 2, MPI_INT, context.left(3), learned_tag, made, &request);
        MPI_Send(memory.data(), 3, MPI_INT, context.right(3), learned_tag, made);
        context.out.call(what, MPI_Wait(&request, MPI_STATUS_IGNORE));
    };
    err("inherited");
    context.out.watch(made, "made");
    err("its own");
    Recorder::only_return(made);
    err("returned");
    context.out.watch(made, "made again");
    err("its own again");
    context.out.forget(made);
    MPI_Comm_free(&made);
}

/// Made and freed many times, each with messages.
void many(Context& context) {
    for (int i = 0; i < 30; ++i) {
        MPI_Comm made = MPI_COMM_NULL;
        if (i % 2 == 0) {
            MPI_Comm_dup(context.comm, &made);
        } else {
            MPI_Comm_split(context.comm, 0, i % 3 == 0 ? context.rank : -context.rank, &made);
        }
        int sum = 0;
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, made);
        context.out.value("sum", sum);
        message_on(context, made, "message");
        MPI_Comm_free(&made);
    }
}

} // namespace

void add_communicators(Cases& cases) {
    cases.group("communicators");
    add_made(cases);
    cases.add("attributes", Needs::warm, attributes);
    cases.add("wait_in_callback", Needs::warm, wait_in_callback);
    cases.add("refuse_in_callback", Needs::warm, refuse_in_callback);
    cases.add("handlers", Needs::warm, handlers);
    cases.add("handlers.world", Needs::world, handlers);
    cases.add("many", Needs::warm, many);
}

} // namespace nodeaware::conformance
