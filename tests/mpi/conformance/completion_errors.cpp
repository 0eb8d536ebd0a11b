// The functions that start and complete requests with arguments that MPI refuses, alone and while a
// message is under way, which has to arrive afterwards.

#include "tests/mpi/conformance/context.hpp"

namespace nodeaware::conformance {

namespace {

struct Wrong {
    const char* name;
    int (*invoke)(MPI_Request* active);
};

MPI_Status statuses[4];
int number = 0;
int flag = 0;
int indices[4];

MPI_Request* null_request() {
    static MPI_Request request;
    request = MPI_REQUEST_NULL;
    return &request;
}

const std::vector<Wrong>& wrong_calls() {
    static const std::vector<Wrong> list = {
        {"Wait.null_pointer", [](MPI_Request*) { return MPI_Wait(nullptr, statuses); }},
        {"Test.null_pointer", [](MPI_Request*) { return MPI_Test(nullptr, &flag, statuses); }},
        {"Test.no_flag", [](MPI_Request* r) { return MPI_Test(r, nullptr, statuses); }},
        {"Waitall.no_requests", [](MPI_Request*) { return MPI_Waitall(2, nullptr, statuses); }},
        {"Waitall.no_requests_ignoring",
         [](MPI_Request*) { return MPI_Waitall(2, nullptr, MPI_STATUSES_IGNORE); }},
        {"Waitall.negative", [](MPI_Request* r) { return MPI_Waitall(-1, r, statuses); }},
        {"Testall.no_requests",
         [](MPI_Request*) { return MPI_Testall(2, nullptr, &flag, statuses); }},
        {"Testall.negative", [](MPI_Request* r) { return MPI_Testall(-1, r, &flag, statuses); }},
        {"Testall.no_flag", [](MPI_Request* r) { return MPI_Testall(1, r, nullptr, statuses); }},
        {"Waitany.no_requests",
         [](MPI_Request*) { return MPI_Waitany(2, nullptr, &number, statuses); }},
        {"Waitany.negative", [](MPI_Request* r) { return MPI_Waitany(-1, r, &number, statuses); }},
        {"Waitany.no_index", [](MPI_Request* r) { return MPI_Waitany(1, r, nullptr, statuses); }},
        {"Testany.no_requests",
         [](MPI_Request*) { return MPI_Testany(2, nullptr, &number, &flag, statuses); }},
        {"Testany.negative",
         [](MPI_Request* r) { return MPI_Testany(-1, r, &number, &flag, statuses); }},
        {"Testany.no_index",
         [](MPI_Request* r) { return MPI_Testany(1, r, nullptr, &flag, statuses); }},
        {"Testany.no_flag",
         [](MPI_Request* r) { return MPI_Testany(1, r, &number, nullptr, statuses); }},
        {"Waitsome.no_requests",
         [](MPI_Request*) { return MPI_Waitsome(2, nullptr, &number, indices, statuses); }},
        {"Waitsome.negative",
         [](MPI_Request* r) { return MPI_Waitsome(-1, r, &number, indices, statuses); }},
        {"Waitsome.no_count",
         [](MPI_Request* r) { return MPI_Waitsome(1, r, nullptr, indices, statuses); }},
        {"Waitsome.no_indices",
         [](MPI_Request* r) { return MPI_Waitsome(1, r, &number, nullptr, statuses); }},
        {"Testsome.no_requests",
         [](MPI_Request*) { return MPI_Testsome(2, nullptr, &number, indices, statuses); }},
        {"Testsome.negative",
         [](MPI_Request* r) { return MPI_Testsome(-1, r, &number, indices, statuses); }},
        {"Testsome.no_count",
         [](MPI_Request* r) { return MPI_Testsome(1, r, nullptr, indices, statuses); }},
        {"Testsome.no_indices",
         [](MPI_Request* r) { return MPI_Testsome(1, r, &number, nullptr, statuses); }},
        {"Request_get_status.no_flag",
         [](MPI_Request* r) { return MPI_Request_get_status(*r, nullptr, statuses); }},
        {"Start.null_request", [](MPI_Request*) { return MPI_Start(null_request()); }},
        {"Start.null_pointer", [](MPI_Request*) { return MPI_Start(nullptr); }},
        {"Start.not_persistent", [](MPI_Request* r) { return MPI_Start(r); }},
        {"Startall.no_requests", [](MPI_Request*) { return MPI_Startall(2, nullptr); }},
        {"Startall.negative", [](MPI_Request* r) { return MPI_Startall(-1, r); }},
        {"Startall.nothing", [](MPI_Request*) { return MPI_Startall(0, nullptr); }},
        {"Startall.null_request", [](MPI_Request*) { return MPI_Startall(1, null_request()); }},
        {"Startall.not_persistent", [](MPI_Request* r) { return MPI_Startall(1, r); }},
        {"Cancel.null_request", [](MPI_Request*) { return MPI_Cancel(null_request()); }},
        {"Cancel.null_pointer", [](MPI_Request*) { return MPI_Cancel(nullptr); }},
        {"Request_free.null_request",
         [](MPI_Request*) { return MPI_Request_free(null_request()); }},
        {"Request_free.null_pointer", [](MPI_Request*) { return MPI_Request_free(nullptr); }},
        {"Mrecv.no_message",
         [](MPI_Request*) {
             MPI_Message message = MPI_MESSAGE_NULL;
             return MPI_Mrecv(indices, 1, MPI_INT, &message, statuses);
         }},
        {"Imrecv.no_message",
         [](MPI_Request*) {
             MPI_Message message = MPI_MESSAGE_NULL;
             return MPI_Imrecv(indices, 1, MPI_INT, &message, null_request());
         }},
        {"Mrecv.null_pointer",
         [](MPI_Request*) { return MPI_Mrecv(indices, 1, MPI_INT, nullptr, statuses); }},
    };
    return list;
}

void refuse(Context& context, const Wrong& wrong) {
    for (const int shift : {3, 1}) {
        with_both_handlers(context, [&] {
            Memory sent = Memory::of_ints(learned_count, context.rank);
            Memory received(sent.size());
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Status status = fresh_status();
            MPI_Irecv(received.data(), learned_count, MPI_INT, context.left(shift), learned_tag,
                      context.comm, &request);
            context.out.call(wrong.name, wrong.invoke(&request));
            MPI_Barrier(context.comm); // MPI starts a request once more whose message has come
            MPI_Send(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                     context.comm);
            context.out.call("Wait", MPI_Wait(&request, &status));
            context.out.status("status", status);
            context.out.data("received", received);
        });
    }
}

/// Persistent requests of which one was started already: what happens to the others is up to MPI,
/// but each has to end.
void start_twice(Context& context) {
    with_both_handlers(context, [&] {
        Memory sent = Memory::of_ints(learned_count, context.rank);
        Memory received(sent.size());
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Recv_init(received.data(), learned_count, MPI_INT, context.left(3), learned_tag,
                      context.comm, &request);
        context.out.call("Start", MPI_Start(&request));
        context.out.call("Start again", MPI_Start(&request));
        MPI_Send(sent.data(), learned_count, MPI_INT, context.right(3), learned_tag, context.comm);
        context.out.call("Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
        context.out.data("received", received);
        context.out.call("Request_free", MPI_Request_free(&request));
        context.sync();
    });
}

/// A null request in the middle of those that are to be started.
void start_with_null(Context& context) {
    with_both_handlers(context, [&] {
        Memory sent = Memory::of_ints(learned_count, context.rank);
        Memory received(sent.size());
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Recv_init(received.data(), learned_count, MPI_INT, context.left(3), learned_tag,
                      context.comm, &requests[1]);
        context.out.call("Startall", MPI_Startall(2, requests));
        MPI_Request_free(&requests[1]);
    });
    correct_message(context, 3, "after it");
}

/// Functions that tell about a status.
void ask_statuses(Context& context) {
    Memory sent = Memory::of_ints(6, context.rank);
    Memory received(learned_count * sizeof(int));
    MPI_Status status = fresh_status();
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(4, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (const int shift : {3, 1}) {
        MPI_Sendrecv(sent.data(), 6, MPI_INT, context.right(shift), 0, received.data(),
                     learned_count, MPI_INT, context.left(shift), 0, context.comm, &status);
        const std::pair<const char*, MPI_Datatype> types[] = {
            {"int", MPI_INT}, {"char", MPI_CHAR}, {"double", MPI_DOUBLE}, {"four ints", pair}};
        for (const auto& [name, type] : types) { context.out.status(name, status, type); }
        MPI_Count elements = -7;
        MPI_Get_elements_x(&status, MPI_INT, &elements);
        context.out.value("elements", elements);
        context.out.data("received", received);
    }
    MPI_Type_free(&pair);
}

} // namespace

void add_completion_errors(Cases& cases) {
    cases.group("completion_errors");
    for (const Wrong& wrong : wrong_calls()) {
        cases.add(wrong.name, Needs::shared,
                  [&wrong](Context& context) { refuse(context, wrong); });
    }
    cases.add("start_twice", Needs::warm, start_twice);
    cases.add("start_with_null", Needs::shared, start_with_null);
    cases.add("statuses", Needs::shared, ask_statuses);
}

} // namespace nodeaware::conformance
