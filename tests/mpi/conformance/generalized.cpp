// Generalized requests of the application, by themselves and in lists with messages.

#include "tests/mpi/conformance/context.hpp"

namespace nodeaware::conformance {

namespace {

/// What the callbacks of a request note.
struct Operation {
    Recorder* out;
    int queried = 0;
    int freed = 0;
    int cancelled = -1;
    int error = MPI_SUCCESS;
};

int query(void* state, MPI_Status* status) {
    auto& operation = *static_cast<Operation*>(state);
    ++operation.queried;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 1;
    status->MPI_TAG = 17;
    return operation.error;
}

int release(void* state) {
    ++static_cast<Operation*>(state)->freed;
    return MPI_SUCCESS;
}

int withdraw(void* state, int complete) {
    static_cast<Operation*>(state)->cancelled = complete;
    return MPI_SUCCESS;
}

MPI_Request begin(Operation& operation) {
    MPI_Request request = MPI_REQUEST_NULL;
    operation.out->call("Grequest_start",
                        MPI_Grequest_start(query, release, withdraw, &operation, &request));
    return request;
}

void show(const Operation& operation) {
    operation.out->value("queried", operation.queried > 0 ? 1 : 0);
    operation.out->value("freed", operation.freed);
    operation.out->value("cancelled", operation.cancelled);
}

void waited_for(Context& context) {
    Operation operation{&context.out};
    MPI_Request request = begin(operation);
    MPI_Status status = fresh_status();
    int flag = -7;
    context.out.call("Test", MPI_Test(&request, &flag, &status));
    context.out.value("flag", flag);
    context.out.call("Cancel", MPI_Cancel(&request));
    context.out.call("Grequest_complete", MPI_Grequest_complete(request));
    context.out.call("Cancel", MPI_Cancel(&request));
    context.out.call("Request_get_status", MPI_Request_get_status(request, &flag, &status));
    context.out.status("status", status);
    status = fresh_status();
    context.out.call("Wait", MPI_Wait(&request, &status));
    context.out.status("status", status);
    context.out.value("is null", request == MPI_REQUEST_NULL ? 1 : 0);
    show(operation);
}

void freed(Context& context) {
    Operation operation{&context.out};
    MPI_Request request = begin(operation);
    context.out.call("Request_free", MPI_Request_free(&request));
    context.out.value("freed", operation.freed);
    operation = {&context.out};
    request = begin(operation);
    context.out.call("Grequest_complete", MPI_Grequest_complete(request));
    context.out.call("Request_free", MPI_Request_free(&request));
    show(operation);
}

/// Its query function fails.
void fails(Context& context) {
    with_both_handlers(context, [&] {
        Operation operation{&context.out};
        operation.error = MPI_ERR_OTHER;
        MPI_Request request = begin(operation);
        context.out.call("Grequest_complete", MPI_Grequest_complete(request));
        context.out.call("Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
        show(operation);
    });
}

/// In a list with messages from elsewhere and from near.
void in_list(Context& context, int which) {
    for (const int shift : {3, 1}) {
        Operation operation{&context.out};
        Memory sent = Memory::of_ints(learned_count, context.rank);
        Memory received(sent.size());
        std::vector<MPI_Request> requests(3, MPI_REQUEST_NULL);
        MPI_Irecv(received.data(), learned_count, MPI_INT, context.left(shift), learned_tag,
                  context.comm, requests.data());
        requests[1] = begin(operation);
        MPI_Isend(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                  context.comm, &requests[2]);
        context.out.call("Grequest_complete", MPI_Grequest_complete(requests[1]));
        if (which > 0) { wait_until_ready(requests); }
        std::vector<MPI_Status> statuses(3, fresh_status());
        int number = -7;
        int flag = -7;
        int indices[3] = {};
        switch (which) {
        case 0:
            context.out.call("Waitall", MPI_Waitall(3, requests.data(), statuses.data()));
            break;
        case 1:
            context.out.call("Testall", MPI_Testall(3, requests.data(), &flag, statuses.data()));
            context.out.value("flag", flag);
            break;
        case 2:
            context.out.call("Waitsome",
                             MPI_Waitsome(3, requests.data(), &number, indices, statuses.data()));
            context.out.value("number", number);
            break;
        default:
            for (int i = 0; i < 3; ++i) {
                MPI_Status status = fresh_status();
                context.out.call("Waitany", MPI_Waitany(3, requests.data(), &number, &status));
                if (number >= 0 && number < 3) { statuses[static_cast<size_t>(number)] = status; }
            }
        }
        context.out.status("message", statuses[0]);
        context.out.status("generalized", statuses[1]);
        for (const MPI_Request request : requests) {
            context.out.value("is null", request == MPI_REQUEST_NULL ? 1 : 0);
        }
        show(operation);
        context.out.data("received", received);
    }
}

/// A message that is too long and a request that fails, in one list.
void fails_in_list(Context& context) {
    for (const int shift : {3, 1}) {
        with_both_handlers(context, [&] {
            Operation operation{&context.out};
            operation.error = MPI_ERR_OTHER;
            Memory sent = Memory::of_ints(learned_count, context.rank);
            Memory received(sent.size() / 2);
            std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
            MPI_Irecv(received.data(), learned_count / 2, MPI_INT, context.left(shift), learned_tag,
                      context.comm, requests.data());
            requests[1] = begin(operation);
            MPI_Send(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                     context.comm);
            MPI_Grequest_complete(requests[1]);
            wait_until_ready(requests);
            std::vector<MPI_Status> statuses(2, fresh_status());
            context.out.call("Waitall", MPI_Waitall(2, requests.data(), statuses.data()));
            for (const MPI_Status& status : statuses) {
                context.out.line("  error " + class_name(status.MPI_ERROR));
            }
            show(operation);
            context.out.guards("received", received);
        });
    }
}

} // namespace

void add_generalized(Cases& cases) {
    cases.group("generalized");
    cases.add("waited_for", Needs::shared, waited_for);
    cases.add("freed", Needs::shared, freed);
    cases.add("fails", Needs::shared, fails);
    const char* const names[] = {"waitall", "testall", "waitsome", "waitany"};
    for (int which = 0; which < 4; ++which) {
        cases.add(std::string("in_list.") + names[which], Needs::shared,
                  [which](Context& context) { in_list(context, which); });
    }
    cases.add("fails_in_list", Needs::shared, fails_in_list);
}

} // namespace nodeaware::conformance
