// Cancelled receives, matched and unmatched, and what comes after them on the same channel.

#include "tests/mpi/conformance/context.hpp"

namespace nodeaware::conformance {

namespace {

void show(Context& context, const std::string& what, const MPI_Status& status) {
    int cancelled = -7;
    MPI_Test_cancelled(&status, &cancelled);
    context.out.value(what + " cancelled", cancelled);
    if (cancelled == 0) { context.out.status(what, status); }
}

/// Source or tag as wanted, or any.
struct Pattern {
    const char* name;
    bool any_source;
    bool any_tag;
};
const std::vector<Pattern> patterns = {{"named", false, false},
                                       {"any_source", true, false},
                                       {"any_tag", false, true},
                                       {"anything", true, true}};

int source(const Context& context, const Pattern& pattern, int shift) {
    return pattern.any_source ? MPI_ANY_SOURCE : context.left(shift);
}
int tag(const Pattern& pattern) { return pattern.any_tag ? MPI_ANY_TAG : learned_tag; }

/// Nothing was sent: it is cancelled, and the next message goes to the next receive.
void unmatched(Context& context, const Pattern& pattern, bool persistent) {
    for (const int shift : {3, 1}) {
        Memory first(learned_count * sizeof(int));
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Status status = fresh_status();
        const auto receive = persistent ? MPI_Recv_init : MPI_Irecv;
        context.out.call("receive", receive(first.data(), learned_count, MPI_INT,
                                            source(context, pattern, shift), tag(pattern),
                                            context.comm, &request));
        if (persistent) { context.out.call("Start", MPI_Start(&request)); }
        context.out.call("Cancel", MPI_Cancel(&request));
        context.out.call("Wait", MPI_Wait(&request, &status));
        show(context, "status", status);
        context.out.data("nothing", first);
        context.sync();
        correct_message(context, shift, "next");
        if (persistent) {
            // Again, and this time it is not cancelled.
            context.out.call("Start", MPI_Start(&request));
            Memory sent = Memory::of_ints(learned_count, context.rank);
            MPI_Send(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                     context.comm);
            status = fresh_status();
            context.out.call("Wait", MPI_Wait(&request, &status));
            show(context, "status", status);
            context.out.data("something", first);
            context.out.call("Request_free", MPI_Request_free(&request));
        }
        context.sync();
    }
}

/// The message is there already.
void matched(Context& context, const Pattern& pattern, bool persistent) {
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(learned_count, context.rank);
        Memory received(sent.size());
        std::vector<MPI_Request> requests(1, MPI_REQUEST_NULL);
        MPI_Status status = fresh_status();
        const auto receive = persistent ? MPI_Recv_init : MPI_Irecv;
        receive(received.data(), learned_count, MPI_INT, source(context, pattern, shift),
                tag(pattern), context.comm, requests.data());
        if (persistent) { MPI_Start(requests.data()); }
        MPI_Send(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                 context.comm);
        wait_until_ready(requests);
        context.out.call("Cancel", MPI_Cancel(requests.data()));
        context.out.call("Wait", MPI_Wait(requests.data(), &status));
        show(context, "status", status);
        context.out.data("received", received);
        if (persistent) { MPI_Request_free(requests.data()); }
        context.sync();
    }
}

/// The first of two receives is cancelled: the message goes to the second.
void first_of_two(Context& context) {
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(learned_count, context.rank);
        Memory received[2] = {Memory(sent.size()), Memory(sent.size())};
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status statuses[2] = {fresh_status(), fresh_status()};
        for (int i = 0; i < 2; ++i) {
            MPI_Irecv(received[i].data(), learned_count, MPI_INT, context.left(shift), learned_tag,
                      context.comm, &requests[i]);
        }
        context.out.call("Cancel", MPI_Cancel(&requests[0]));
        context.sync();
        MPI_Send(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                 context.comm);
        context.out.call("Waitall", MPI_Waitall(2, requests, statuses));
        show(context, "first", statuses[0]);
        show(context, "second", statuses[1]);
        context.out.data("first", received[0]);
        context.out.data("second", received[1]);
        context.sync();
    }
}

/// In all completion functions.
void completed_by(Context& context, int which) {
    Memory received(learned_count * sizeof(int));
    std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
    MPI_Status statuses[2] = {fresh_status(), fresh_status()};
    MPI_Irecv(received.data(), learned_count, MPI_INT, context.left(3), learned_tag, context.comm,
              requests.data());
    MPI_Cancel(requests.data());
    wait_until_ready(requests);
    int number = -7;
    int indices[2] = {-7, -7};
    int flag = -7;
    switch (which) {
    case 0: context.out.call("Waitall", MPI_Waitall(2, requests.data(), statuses)); break;
    case 1: context.out.call("Waitany", MPI_Waitany(2, requests.data(), &number, statuses)); break;
    case 2:
        context.out.call("Waitsome", MPI_Waitsome(2, requests.data(), &number, indices, statuses));
        break;
    case 3: context.out.call("Testall", MPI_Testall(2, requests.data(), &flag, statuses)); break;
    case 4:
        context.out.call("Testany", MPI_Testany(2, requests.data(), &number, &flag, statuses));
        break;
    case 5:
        context.out.call("Testsome", MPI_Testsome(2, requests.data(), &number, indices, statuses));
        break;
    default:
        context.out.call("Request_get_status",
                         MPI_Request_get_status(requests[0], &flag, &statuses[1]));
        show(context, "asked", statuses[1]);
        context.out.call("Test", MPI_Test(requests.data(), &flag, statuses));
    }
    context.out.value("number", number);
    context.out.value("index", indices[0]);
    context.out.value("flag", flag);
    show(context, "status", statuses[0]);
    context.sync();
    correct_message(context, 3, "after it");
}

/// A request that is cancelled, and then freed.
void freed(Context& context) {
    for (const int shift : {3, 1}) {
        Memory received(learned_count * sizeof(int));
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(received.data(), learned_count, MPI_INT, context.left(shift), learned_tag,
                  context.comm, &request);
        context.out.call("Cancel", MPI_Cancel(&request));
        context.out.call("Request_free", MPI_Request_free(&request));
        context.sync();
        correct_message(context, shift, "next");
        context.out.data("nothing", received);
    }
}

/// What has been received already cannot be cancelled any more.
void a_send(Context& context) {
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(learned_count, context.rank);
        Memory received(sent.size());
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Status status = fresh_status();
        MPI_Isend(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                  context.comm, &request);
        MPI_Recv(received.data(), learned_count, MPI_INT, context.left(shift), learned_tag,
                 context.comm, MPI_STATUS_IGNORE);
        context.sync();
        context.out.call("Cancel", MPI_Cancel(&request));
        context.out.call("Wait", MPI_Wait(&request, &status));
        int cancelled = -7;
        MPI_Test_cancelled(&status, &cancelled);
        context.out.value("cancelled", cancelled);
        context.out.data("received", received);
    }
}

void inactive(Context& context) {
    with_both_handlers(context, [&] {
        Memory received(learned_count * sizeof(int));
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Recv_init(received.data(), learned_count, MPI_INT, context.left(3), learned_tag,
                      context.comm, &request);
        context.out.call("Cancel", MPI_Cancel(&request));
        context.out.call("Request_free", MPI_Request_free(&request));
    });
    correct_message(context, 3, "after it");
}

} // namespace

void add_cancelling(Cases& cases) {
    cases.group("cancelling");
    for (const Pattern& pattern : patterns) {
        for (const bool persistent : {false, true}) {
            const std::string suffix =
                std::string(pattern.name) + (persistent ? ".persistent" : "");
            cases.add("unmatched." + suffix, Needs::shared,
                      [&pattern, persistent](Context& c) { unmatched(c, pattern, persistent); });
            cases.add("matched." + suffix, Needs::shared,
                      [&pattern, persistent](Context& c) { matched(c, pattern, persistent); });
        }
    }
    cases.add("first_of_two", Needs::shared, first_of_two);
    const char* const names[] = {"waitall", "waitany",  "waitsome", "testall",
                                 "testany", "testsome", "test"};
    for (int which = 0; which < 7; ++which) {
        cases.add(std::string("completed_by.") + names[which], Needs::shared,
                  [which](Context& context) { completed_by(context, which); });
    }
    cases.add("freed", Needs::shared, freed);
    cases.add("send", Needs::shared, a_send);
    cases.add("inactive", Needs::shared, inactive);
}

} // namespace nodeaware::conformance
