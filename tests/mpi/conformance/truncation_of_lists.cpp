// Messages that are longer than their receives, in lists of requests: MPI_ERR_IN_STATUS with a code
// for each, or the error itself where one request is completed at a time.

#include "tests/mpi/conformance/messages.hpp"

#include <algorithm>

namespace nodeaware::conformance {

namespace {

constexpr int half = learned_count / 2;
constexpr int messages = 4;

/// Messages with the tags learned_tag, learned_tag + 1, ... from each rank to the one `shift`
/// further on; those receives are too small that are given so.
class List {
  public:
    List(Context& context, int shift, const std::vector<bool>& too_small, bool persistent)
        : context_(context), persistent_(persistent) {
        const int count = static_cast<int>(too_small.size());
        for (int i = 0; i < count; ++i) {
            const int room = too_small[static_cast<size_t>(i)] ? half : learned_count;
            received_.emplace_back(static_cast<size_t>(room) * sizeof(int));
            const auto receive = persistent ? MPI_Recv_init : MPI_Irecv;
            receive(received_.back().data(), room, MPI_INT, context.left(shift), learned_tag + i,
                    context.comm, &requests.emplace_back());
            too_small_.push_back(too_small[static_cast<size_t>(i)]);
        }
        if (persistent) { context_.out.call("Startall", MPI_Startall(count, requests.data())); }
        for (int i = 0; i < count; ++i) {
            sent_.push_back(Memory::of_ints(learned_count, 100 * context.rank + 10 * i));
            MPI_Isend(sent_.back().data(), learned_count, MPI_INT, context.right(shift),
                      learned_tag + i, context.comm, &sends_.emplace_back());
        }
        statuses.assign(too_small.size(), fresh_status());
    }
    List(const List&) = delete;
    List& operator=(const List&) = delete;

    /// Everything that is wrong is complete then, whatever is asked next.
    void complete_all() { wait_until_ready(requests); }

    int count() const { return static_cast<int>(requests.size()); }

    /// Completes what is left and tells what has come.
    void end() {
        Recorder& out = context_.out;
        std::string left;
        for (MPI_Request& request : requests) {
            left += request == MPI_REQUEST_NULL ? " null" : persistent_ ? " kept" : " left";
        }
        if (is_sure) { out.line("  requests:" + left); }
        for (MPI_Request& request : requests) {
            if (request == MPI_REQUEST_NULL) { continue; }
            const int waited =
                is_sure && persistent_ ? MPI_SUCCESS : MPI_Wait(&request, MPI_STATUS_IGNORE);
            const int freed = persistent_ ? MPI_Request_free(&request) : MPI_SUCCESS;
            if (is_sure) { out.call("complete", waited == MPI_SUCCESS ? freed : waited); }
        }
        out.call("the sends",
                 MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE));
        for (size_t i = 0; i < received_.size(); ++i) {
            if (too_small_[i]) {
                out.guards("receive", received_[i]);
            } else {
                out.data("receive", received_[i]);
            }
        }
    }

    std::vector<MPI_Request> requests;
    std::vector<MPI_Status> statuses;
    bool is_sure = true; ///< what is complete does not depend on time

  private:
    Context& context_;
    bool persistent_;
    std::vector<bool> too_small_;
    std::vector<Memory> received_;
    std::vector<Memory> sent_;
    std::vector<MPI_Request> sends_;
};

/// Those that are right may be pending when a call fails, unless all are ready.
void waitall(Recorder& out, List& list) {
    list.is_sure = false;
    const int code = MPI_Waitall(list.count(), list.requests.data(), list.statuses.data());
    out.call("Waitall", code);
    for (const MPI_Status& status : list.statuses) {
        if (code == MPI_SUCCESS || status.MPI_ERROR == MPI_ERR_PENDING) { continue; }
        if (status.MPI_ERROR != MPI_SUCCESS) { out.line("  " + class_name(status.MPI_ERROR)); }
    }
}

void waitall_ready(Recorder& out, List& list) {
    list.complete_all();
    const int code = MPI_Waitall(list.count(), list.requests.data(), list.statuses.data());
    out.call("Waitall", code);
    if (code != MPI_SUCCESS) { out.statuses_of_error(list.statuses); }
}

void waitall_ignoring(Recorder& out, List& list) {
    list.complete_all();
    out.call("Waitall", MPI_Waitall(list.count(), list.requests.data(), MPI_STATUSES_IGNORE));
}

void testall(Recorder& out, List& list) {
    list.complete_all();
    int code = MPI_SUCCESS;
    for (int flag = 0; flag == 0 && code == MPI_SUCCESS;) {
        code = MPI_Testall(list.count(), list.requests.data(), &flag, list.statuses.data());
    }
    out.call("Testall", code);
    if (code != MPI_SUCCESS) { out.statuses_of_error(list.statuses); }
}

void testall_ignoring(Recorder& out, List& list) {
    list.complete_all();
    int code = MPI_SUCCESS;
    for (int flag = 0; flag == 0 && code == MPI_SUCCESS;) {
        code = MPI_Testall(list.count(), list.requests.data(), &flag, MPI_STATUSES_IGNORE);
    }
    out.call("Testall", code);
}

/// One after the other, as all are ready: which comes first is up to MPI, so they are sorted.
void one_by_one(Recorder& out, List& list, bool tests) {
    list.complete_all();
    std::vector<std::string> lines(list.requests.size());
    for (int i = 0; i < list.count(); ++i) {
        int index = MPI_UNDEFINED;
        int flag = 1;
        MPI_Status status = fresh_status();
        const int code =
            tests ? MPI_Testany(list.count(), list.requests.data(), &index, &flag, &status)
                  : MPI_Waitany(list.count(), list.requests.data(), &index, &status);
        if (index < 0 || index >= list.count()) {
            out.call("no index", code);
            continue;
        }
        lines[static_cast<size_t>(index)] = class_name(code) + " flag " + std::to_string(flag) +
                                            " source " + std::to_string(status.MPI_SOURCE) +
                                            " tag " + std::to_string(status.MPI_TAG);
    }
    for (const std::string& line : lines) { out.line("  one: " + line); }
}

void waitany(Recorder& out, List& list) { one_by_one(out, list, false); }
void testany(Recorder& out, List& list) { one_by_one(out, list, true); }

void some(Recorder& out, List& list, bool tests, bool ignores) {
    list.complete_all();
    int done = -1;
    std::vector<int> indices(list.requests.size(), -1);
    MPI_Status* const statuses = ignores ? MPI_STATUSES_IGNORE : list.statuses.data();
    const auto call = tests ? MPI_Testsome : MPI_Waitsome;
    const int code = call(list.count(), list.requests.data(), &done, indices.data(), statuses);
    out.call(tests ? "Testsome" : "Waitsome", code);
    out.value("done", done);
    std::vector<MPI_Status> sorted(list.requests.size(), fresh_status());
    for (int i = 0; i < done; ++i) {
        out.value("index is right", indices[static_cast<size_t>(i)] >= 0 &&
                                        indices[static_cast<size_t>(i)] < list.count());
        sorted.at(static_cast<size_t>(indices[static_cast<size_t>(i)])) =
            list.statuses[static_cast<size_t>(i)];
    }
    if (code != MPI_SUCCESS && !ignores) { out.statuses_of_error(sorted); }
}

void waitsome(Recorder& out, List& list) { some(out, list, false, false); }
void testsome(Recorder& out, List& list) { some(out, list, true, false); }
void waitsome_ignoring(Recorder& out, List& list) { some(out, list, false, true); }
void testsome_ignoring(Recorder& out, List& list) { some(out, list, true, true); }

using Completing = void (*)(Recorder&, List&);

void add(Cases& cases, const std::string& name, Completing complete) {
    struct Which {
        const char* name;
        std::vector<bool> too_small;
    };
    static const std::vector<Which> selections = {{"one", {true}},
                                                  {"first", {true, false, false}},
                                                  {"last", {false, false, true}},
                                                  {"several", {true, false, true, false}},
                                                  {"all", std::vector<bool>(messages, true)}};
    for (const Which& which : selections) {
        const bool has_one = std::count(which.too_small.begin(), which.too_small.end(), true) == 1;
        if (complete == waitall && !has_one) { continue; }
        for (const bool persistent : {false, true}) {
            const auto run = [complete, persistent, too_small = which.too_small](Context& context) {
                for (const int shift : {3, 1}) {
                    with_both_handlers(context, [&] {
                        List list(context, shift, too_small, persistent);
                        complete(context.out, list);
                        list.end();
                    });
                }
                correct_message(context, 3, "after it");
            };
            cases.add(name + "." + which.name + (persistent ? ".persistent" : ""), Needs::shared,
                      run);
        }
    }
}

/// A list with requests of two communicators, of which each has its handler.
void two_communicators(Context& context) {
    MPI_Comm second = MPI_COMM_NULL;
    MPI_Comm_split(context.comm, 0, context.size - context.rank, &second);
    context.out.watch(second, "second");
    Memory sent = Memory::of_ints(learned_count, context.rank);
    for (const bool first_is_wrong : {true, false}) {
        Memory received[2] = {Memory(sent.size()), Memory(sent.size())};
        const MPI_Comm comms[2] = {context.comm, second};
        std::vector<MPI_Request> requests;
        for (int i = 0; i < 2; ++i) {
            int rank = 0;
            MPI_Comm_rank(comms[i], &rank);
            const int room = (i == 0) == first_is_wrong ? half : learned_count;
            MPI_Irecv(received[i].data(), room, MPI_INT, (rank + context.size - 3) % context.size,
                      learned_tag, comms[i], &requests.emplace_back());
            MPI_Isend(sent.data(), learned_count, MPI_INT, (rank + 3) % context.size, learned_tag,
                      comms[i], &requests.emplace_back());
        }
        wait_until_ready(requests);
        std::vector<MPI_Status> statuses(requests.size(), fresh_status());
        context.out.call("Waitall", MPI_Waitall(4, requests.data(), statuses.data()));
        for (const MPI_Status& status : statuses) {
            context.out.line("  error " + class_name(status.MPI_ERROR));
        }
        context.out.guards("first", received[0]);
        context.out.guards("second", received[1]);
    }
    context.out.forget(second);
    MPI_Comm_free(&second);
}

} // namespace

void add_truncation_of_lists(Cases& cases) {
    cases.group("truncated_lists");
    add(cases, "waitall", waitall);
    add(cases, "waitall_ready", waitall_ready);
    add(cases, "waitall_ignoring", waitall_ignoring);
    add(cases, "testall", testall);
    add(cases, "testall_ignoring", testall_ignoring);
    add(cases, "waitany", waitany);
    add(cases, "testany", testany);
    add(cases, "waitsome", waitsome);
    add(cases, "testsome", testsome);
    add(cases, "waitsome_ignoring", waitsome_ignoring);
    add(cases, "testsome_ignoring", testsome_ignoring);
    cases.add("two_communicators", Needs::warm, two_communicators);
}

} // namespace nodeaware::conformance
