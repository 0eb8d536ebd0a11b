// The functions that complete requests: null, inactive, unfinished and finished requests in all of
// them, empty lists, statuses that are ignored.

#include "tests/mpi/conformance/context.hpp"

namespace nodeaware::conformance {

namespace {

/// All completion functions on one list; `waits` where nothing is active, so that waiting ends.
void complete_everything(Recorder& out, std::vector<MPI_Request>& requests, bool waits,
                         bool ignores) {
    const int count = static_cast<int>(requests.size());
    std::vector<MPI_Status> statuses(requests.size() + 1, fresh_status());
    std::vector<int> indices(requests.size() + 1, -1);
    MPI_Status* const one = ignores ? MPI_STATUS_IGNORE : statuses.data();
    MPI_Status* const list = ignores ? MPI_STATUSES_IGNORE : statuses.data();
    const auto show = [&](int shown) {
        for (int i = 0; i < shown && !ignores; ++i) {
            out.status("status", statuses[static_cast<size_t>(i)]);
        }
        statuses.assign(statuses.size(), fresh_status());
    };
    int index = -7;
    int done = -7;
    int flag = -7;
    if (waits) {
        out.call("Waitall", MPI_Waitall(count, requests.data(), list));
        show(count);
        out.call("Waitany", MPI_Waitany(count, requests.data(), &index, one));
        out.value("index", index);
        show(1);
        out.call("Waitsome", MPI_Waitsome(count, requests.data(), &done, indices.data(), list));
        out.value("done", done);
    }
    out.call("Testall", MPI_Testall(count, requests.data(), &flag, list));
    out.value("flag", flag);
    show(flag == 1 ? count : 0);
    out.call("Testany", MPI_Testany(count, requests.data(), &index, &flag, one));
    out.value("index", index);
    out.value("flag", flag);
    show(flag == 1 ? 1 : 0);
    out.call("Testsome", MPI_Testsome(count, requests.data(), &done, indices.data(), list));
    out.value("done", done);
    for (MPI_Request& request : requests) {
        if (waits) {
            out.call("Wait", MPI_Wait(&request, one));
            show(1);
        }
        out.call("Test", MPI_Test(&request, &flag, one));
        out.value("flag", flag);
        show(flag == 1 ? 1 : 0);
        out.call("Request_get_status", MPI_Request_get_status(request, &flag, one));
        out.value("flag", flag);
        show(flag == 1 ? 1 : 0);
    }
}

template <int count, bool ignores> void complete_nulls(Context& context) {
    std::vector<MPI_Request> requests(count, MPI_REQUEST_NULL);
    complete_everything(context.out, requests, true, ignores);
}

/// Inactive ones: a receive from elsewhere, a send there, one of nobody.
template <bool with_null, bool used> void complete_inactive(Context& context) {
    Memory sent = Memory::of_ints(learned_count, context.rank);
    Memory received(sent.size());
    std::vector<MPI_Request> requests(3, MPI_REQUEST_NULL);
    MPI_Recv_init(received.data(), learned_count, MPI_INT, context.left(3), learned_tag,
                  context.comm, &requests[0]);
    MPI_Send_init(sent.data(), learned_count, MPI_INT, context.right(3), learned_tag, context.comm,
                  &requests[1]);
    MPI_Recv_init(received.data(), learned_count, MPI_INT, MPI_PROC_NULL, learned_tag, context.comm,
                  &requests[2]);
    if (used) {
        context.out.call("Startall", MPI_Startall(3, requests.data()));
        context.out.call("Waitall", MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE));
    }
    if (with_null) { requests.push_back(MPI_REQUEST_NULL); }
    complete_everything(context.out, requests, true, false);
    complete_everything(context.out, requests, true, true);
    for (size_t i = 0; i < 3; ++i) {
        context.out.call("Request_free", MPI_Request_free(&requests[i]));
    }
    context.out.data("received", received);
}

/// Receives that nothing has been sent for yet.
template <int shift> void ask_too_early(Context& context) {
    Memory sent = Memory::of_ints(learned_count, context.rank);
    Memory received(sent.size());
    std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
    MPI_Irecv(received.data(), learned_count, MPI_INT, context.left(shift), learned_tag,
              context.comm, &requests[0]);
    context.sync();
    complete_everything(context.out, requests, false, false);
    context.sync();
    MPI_Send(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag, context.comm);
    MPI_Status statuses[2] = {fresh_status(), fresh_status()};
    context.out.call("Waitall", MPI_Waitall(2, requests.data(), statuses));
    context.out.status("status", statuses[0]);
    context.out.status("of null", statuses[1]);
    context.out.data("received", received);
}

/// Messages with several tags; the receives of some have ended, of others not.
class Several {
  public:
    Several(Context& context, int shift, bool persistent) : context_(context), shift_(shift) {
        for (int i = 0; i < count; ++i) {
            received_.emplace_back(learned_count * sizeof(int));
            const auto receive = persistent ? MPI_Recv_init : MPI_Irecv;
            receive(received_.back().data(), learned_count, MPI_INT, context.left(shift),
                    learned_tag + i, context.comm, &requests.emplace_back());
            if (persistent) { MPI_Start(&requests.back()); }
        }
        context.sync();
    }
    Several(const Several&) = delete;
    Several& operator=(const Several&) = delete;

    void send(int which) {
        Memory memory = Memory::of_ints(learned_count, 100 * context_.rank + which);
        MPI_Send(memory.data(), learned_count, MPI_INT, context_.right(shift_), learned_tag + which,
                 context_.comm);
    }
    void show() {
        for (const Memory& memory : received_) { context_.out.data("received", memory); }
    }
    void free_persistent() {
        for (MPI_Request& request : requests) {
            if (request != MPI_REQUEST_NULL) { MPI_Request_free(&request); }
        }
    }

    static constexpr int count = 4;
    std::vector<MPI_Request> requests;

  private:
    Context& context_;
    int shift_;
    std::vector<Memory> received_;
};

/// One message after the other in an order that is not that of the requests, completed by `one`.
void in_turn(Context& context, void (*one)(Recorder&, std::vector<MPI_Request>&)) {
    for (const int shift : {3, 1}) {
        for (const bool persistent : {false, true}) {
            Several several(context, shift, persistent);
            for (const int which : {2, 0, 3, 1}) {
                several.send(which);
                one(context.out, several.requests);
                context.sync();
            }
            several.show();
            several.free_persistent();
        }
    }
}

void complete_any(Recorder& out, std::vector<MPI_Request>& requests) {
    int index = -7;
    MPI_Status status = fresh_status();
    out.call("Waitany", MPI_Waitany(Several::count, requests.data(), &index, &status));
    out.value("index", index);
    out.status("status", status);
}

void test_any(Recorder& out, std::vector<MPI_Request>& requests) {
    int index = -7;
    int flag = 0;
    int code = MPI_SUCCESS;
    MPI_Status status = fresh_status();
    while (flag == 0 && code == MPI_SUCCESS) {
        code = MPI_Testany(Several::count, requests.data(), &index, &flag, &status);
    }
    out.call("Testany", code);
    out.value("index", index);
    out.status("status", status);
}

void complete_some(Recorder& out, std::vector<MPI_Request>& requests) {
    int done = -7;
    int indices[Several::count] = {};
    MPI_Status statuses[Several::count];
    out.call("Waitsome", MPI_Waitsome(Several::count, requests.data(), &done, indices, statuses));
    out.value("done", done);
    out.value("index", indices[0]);
    out.status("status", statuses[0]);
}

void test_some(Recorder& out, std::vector<MPI_Request>& requests) {
    int done = 0;
    int code = MPI_SUCCESS;
    int indices[Several::count] = {};
    MPI_Status statuses[Several::count];
    while (done == 0 && code == MPI_SUCCESS) {
        code = MPI_Testsome(Several::count, requests.data(), &done, indices, statuses);
    }
    out.call("Testsome", code);
    out.value("done", done);
    out.value("index", indices[0]);
    out.status("status", statuses[0]);
}

void test_each(Recorder& out, std::vector<MPI_Request>& requests) {
    static int last = 0;
    constexpr int order[] = {2, 0, 3, 1};
    const int which = order[last++ % 4];
    MPI_Request& request = requests[static_cast<size_t>(which)];
    int flag = 0;
    int code = MPI_SUCCESS;
    MPI_Status status = fresh_status();
    while (flag == 0 && code == MPI_SUCCESS) { code = MPI_Test(&request, &flag, &status); }
    out.call("Test", code);
    out.status("status", status);
}

/// All at once, with sends, null and inactive requests between.
template <bool tests, bool ignores> void mixed_list(Context& context) {
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(learned_count, context.rank);
        Memory received[2] = {Memory(sent.size()), Memory(sent.size())};
        std::vector<MPI_Request> requests(6, MPI_REQUEST_NULL);
        const auto peer_of = [&](bool is_send) {
            return is_send ? context.right(shift) : context.left(shift);
        };
        MPI_Irecv(received[0].data(), learned_count, MPI_INT, peer_of(false), learned_tag,
                  context.comm, &requests[0]);
        MPI_Isend(sent.data(), learned_count, MPI_INT, peer_of(true), learned_tag, context.comm,
                  &requests[2]);
        MPI_Recv_init(received[1].data(), learned_count, MPI_INT, peer_of(false), 99, context.comm,
                      &requests[3]);
        MPI_Irecv(received[1].data(), learned_count, MPI_INT, peer_of(false), 98, context.comm,
                  &requests[4]);
        MPI_Isend(sent.data(), 3, MPI_INT, peer_of(true), 98, context.comm, &requests[5]);
        std::vector<MPI_Status> statuses(6, fresh_status());
        MPI_Status* const list = ignores ? MPI_STATUSES_IGNORE : statuses.data();
        int code = MPI_SUCCESS;
        if (tests) {
            for (int flag = 0; flag == 0 && code == MPI_SUCCESS;) {
                code = MPI_Testall(6, requests.data(), &flag, list);
            }
        } else {
            code = MPI_Waitall(6, requests.data(), list);
        }
        context.out.call("all", code);
        for (const size_t i : {0, 1, 3, 4}) {
            if (!ignores) { context.out.status("status", statuses[i]); }
        }
        for (const MPI_Request request : requests) {
            context.out.value("is null", request == MPI_REQUEST_NULL ? 1 : 0);
        }
        MPI_Request_free(&requests[3]);
        context.out.data("first", received[0]);
        context.out.data("second", received[1]);
    }
}

void ask_again(Context& context) {
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(learned_count, context.rank);
        Memory received(sent.size());
        std::vector<MPI_Request> requests(1, MPI_REQUEST_NULL);
        MPI_Irecv(received.data(), learned_count, MPI_INT, context.left(shift), learned_tag,
                  context.comm, requests.data());
        MPI_Send(sent.data(), 5, MPI_INT, context.right(shift), learned_tag, context.comm);
        wait_until_ready(requests);
        for (int i = 0; i < 3; ++i) {
            int flag = -7;
            MPI_Status status = fresh_status();
            context.out.call("Request_get_status",
                             MPI_Request_get_status(requests[0], &flag, &status));
            context.out.value("flag", flag);
            context.out.status("status", status);
        }
        context.out.data("received", received);
        MPI_Status status = fresh_status();
        context.out.call("Wait", MPI_Wait(requests.data(), &status));
        context.out.status("status", status);
        context.out.value("is null", requests[0] == MPI_REQUEST_NULL ? 1 : 0);
    }
}

} // namespace

void add_completion(Cases& cases) {
    cases.group("completion");
    cases.add("empty", Needs::shared, complete_nulls<0, false>);
    cases.add("empty_ignoring", Needs::shared, complete_nulls<0, true>);
    cases.add("one_null", Needs::shared, complete_nulls<1, false>);
    cases.add("nulls", Needs::shared, complete_nulls<3, false>);
    cases.add("nulls_ignoring", Needs::shared, complete_nulls<3, true>);
    cases.add("inactive", Needs::shared, complete_inactive<false, false>);
    cases.add("inactive_and_null", Needs::shared, complete_inactive<true, false>);
    cases.add("inactive_again", Needs::shared, complete_inactive<false, true>);
    cases.add("too_early", Needs::shared, ask_too_early<3>);
    cases.add("too_early_near", Needs::shared, ask_too_early<1>);
    const auto add_in_turn = [&](const char* name,
                                 void (*one)(Recorder&, std::vector<MPI_Request>&)) {
        cases.add(std::string("in_turn.") + name, Needs::shared,
                  [one](Context& context) { in_turn(context, one); });
    };
    add_in_turn("waitany", complete_any);
    add_in_turn("testany", test_any);
    add_in_turn("waitsome", complete_some);
    add_in_turn("testsome", test_some);
    add_in_turn("test", test_each);
    cases.add("mixed.waitall", Needs::shared, mixed_list<false, false>);
    cases.add("mixed.waitall_ignoring", Needs::shared, mixed_list<false, true>);
    cases.add("mixed.testall", Needs::shared, mixed_list<true, false>);
    cases.add("mixed.testall_ignoring", Needs::shared, mixed_list<true, true>);
    cases.add("ask_again", Needs::shared, ask_again);
}

} // namespace nodeaware::conformance
