#include "tests/mpi/conformance/runner.hpp"

#include "tests/mpi/conformance/exchanges.hpp"
#include "tests/mpi/harness.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <execinfo.h>
#include <fnmatch.h>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace nodeaware::conformance {

namespace {

int transcript = -1; ///< for the signal handler

/// Where this rank is, on stderr.
void print_stack() {
    std::array<void*, 40> frames{};
    const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
    backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
}

/// A case may take so many times `tick` seconds. In parts, for a machine may stand still for
/// minutes while its clock goes on: that is one part only.
constexpr int ticks = 20;
volatile std::sig_atomic_t ticks_left = 0;
unsigned tick = 0;

void begin_patience(unsigned seconds) {
    ticks_left = ticks;
    tick = (seconds + ticks - 1) / ticks;
    alarm(tick);
}

void end_of_tick(int /*signal*/) {
    ticks_left = ticks_left - 1;
    if (ticks_left > 0) {
        alarm(tick);
        return;
    }
    static constexpr char text[] = "  hangs\n";
    const auto written = write(transcript, text, sizeof text - 1);
    print_stack();
    _exit(written > 0 ? 124 : 125);
}

/// What the process has used: how long a case takes says little where others use the machine.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Says so, and lets the signal do what it does.
void die(int signal) {
    static constexpr char text[] = "  dies\n";
    std::signal(signal, SIG_DFL);
    if (write(transcript, text, sizeof text - 1) < 0) { _exit(125); }
    std::raise(signal);
}

bool matches(const std::string& pattern, const std::string& name) {
    const std::string without_phase = name.substr(name.find('/') + 1);
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0 ||
           fnmatch(pattern.c_str(), without_phase.c_str(), 0) == 0;
}

/// Lines with an MPI, the pattern of a name and a reason.
std::vector<std::string> read_left_out(const std::string& path) {
    std::vector<std::string> patterns;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string mpi;
        std::string pattern;
        if (words >> mpi >> pattern && mpi == (test::is_open_mpi() ? "openmpi" : "mpich")) {
            patterns.push_back(pattern);
        }
    }
    return patterns;
}

void exchange_with_all(MPI_Comm comm, int iteration) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    std::vector<Memory> received;
    std::vector<MPI_Request> requests;
    Memory sent = Memory::of_ints(learned_count, iteration);
    for (int peer = 0; peer < size; ++peer) {
        received.emplace_back(learned_count * sizeof(int));
        MPI_Irecv(received.back().data(), learned_count, MPI_INT, peer, learned_tag, comm,
                  &requests.emplace_back());
    }
    for (int peer = 0; peer < size; ++peer) {
        MPI_Isend(sent.data(), learned_count, MPI_INT, peer, learned_tag, comm,
                  &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

} // namespace

void wait_until_ready(const std::vector<MPI_Request>& requests) {
    for (const MPI_Request request : requests) {
        for (int flag = 0; flag == 0;) {
            if (MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) { break; }
        }
    }
}

void correct_message(Context& context, int shift, const std::string& what) {
    Memory sent = Memory::of_ints(learned_count, 1000 * context.rank + shift);
    Memory received(sent.size());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = fresh_status();
    MPI_Irecv(received.data(), learned_count, MPI_INT, context.left(shift), learned_tag,
              context.comm, &request);
    const int code = MPI_Send(sent.data(), learned_count, MPI_INT, context.right(shift),
                              learned_tag, context.comm);
    context.out.call(what + " sent", code);
    context.out.call(what + " received", MPI_Wait(&request, &status));
    context.out.status(what, status);
    context.out.data(what, received);
}

Runner::Runner(const Wishes& wishes) : wishes_(wishes) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    if (wishes.only_lists) { return; }
    out_ = std::make_unique<Recorder>(wishes.folder + "/" + std::to_string(rank_));
    transcript = out_->descriptor();
    void* frame = nullptr;
    backtrace(&frame, 1); // which allocates memory the first time
    std::signal(SIGALRM, end_of_tick);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
        std::signal(signal, die);
    }
    left_out_ = read_left_out(wishes.left_out);
    // Open MPI looks at the order of the ranks, and the library does so too.
    side_ = make_communicator();
    out_->watch(side_, "side");
    out_->watch(MPI_COMM_WORLD, "world");
    out_->watch(MPI_COMM_SELF, "self");
    MPI_Buffer_attach(attached_.data(), static_cast<int>(attached_.size()));
}

/// Of all ranks in another order, so that for the library it is no relative of MPI_COMM_WORLD.
MPI_Comm Runner::make_communicator() const {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_, &made);
    return made;
}

/// Batches that repeat, with a blocking collective call after each: the library may take over what
/// is sent on `comm`.
void Runner::take_over(MPI_Comm comm, int iterations) {
    for (int iteration = 0; iteration < iterations; ++iteration) {
        exchange_with_all(comm, iteration);
        int sum = 0;
        MPI_Allreduce(&iteration, &sum, 1, MPI_INT, MPI_SUM, comm);
    }
    if (comm != MPI_COMM_WORLD) { ++taken_over_; }
}

bool Runner::is_wanted(const std::string& name) const {
    for (const std::string& pattern : left_out_) {
        if (matches(pattern, name)) { return false; }
    }
    return matches(wishes_.only, name);
}

void Runner::run(const Cases& cases) {
    if (wishes_.before) { run_phase(cases, false); }
    if (wishes_.after) { run_phase(cases, true); }
    if (rank_ != 0 || wishes_.only_lists) { return; }
    std::printf("conformance: %d communicators to be taken over\n", taken_over_);
    for (const auto& [group, count] : counts_) {
        std::printf("%-20s %4d cases %8.3f s of rank 0\n", group.c_str(), count, seconds_[group]);
    }
}

void Runner::run_phase(const Cases& cases, bool after) {
    for (const Case& one : cases.list()) {
        const std::string name = (after ? "after/" : "before/") + one.name;
        const int number = number_++;
        if (!is_wanted(name) || number < wishes_.from || wishes_.without.count(number) > 0) {
            continue;
        }
        if (wishes_.only_lists) {
            if (rank_ == 0) { std::printf("%d %s\n", number, name.c_str()); }
            continue;
        }
        out_->begin(number, name);
        const double start = processor_seconds();
        begin_patience(wishes_.patience);
        run_case(one, after);
        out_->end();
        seconds_[one.group] += processor_seconds() - start;
        ++counts_[one.group];
    }
    end_group();
}

void Runner::run_case(const Case& one, bool after) {
    Context context{*out_, communicator_for(one, after), side_, MPI_COMM_NULL, after};
    if (one.needs == Needs::world) { context.name = "world"; }
    MPI_Comm_rank(context.comm, &context.rank);
    MPI_Comm_size(context.comm, &context.size);
    if (one.needs == Needs::graph) { context.graph = graph_for(context); }
    one.run(context);
    const bool is_own = one.needs == Needs::fresh || one.needs == Needs::warm;
    if (is_own && context.comm != MPI_COMM_NULL) {
        out_->forget(context.comm);
        MPI_Comm_free(&context.comm);
    }
}

MPI_Comm Runner::communicator_for(const Case& one, bool after) {
    if (one.group != group_) { end_group(); }
    group_ = one.group;
    MPI_Comm comm = MPI_COMM_NULL;
    switch (one.needs) {
    case Needs::world:
        if (after && ready_for_world_.insert(one.group).second) { take_over(MPI_COMM_WORLD, 40); }
        return MPI_COMM_WORLD;
    case Needs::shared:
    case Needs::graph:
        if (shared_ != MPI_COMM_NULL) { return shared_; }
        comm = shared_ = make_communicator();
        break;
    case Needs::fresh:
    case Needs::warm: comm = make_communicator(); break;
    }
    out_->watch(comm, "comm");
    if (after && one.needs == Needs::warm) { take_over(comm, 16); }
    if (after && comm == shared_) { take_over(comm, 40); }
    return comm;
}

MPI_Comm Runner::graph_for(Context& context) {
    if (graph_ == MPI_COMM_NULL) {
        graph_ = make_graph(context);
        out_->watch(graph_, "graph");
    }
    return graph_;
}

void Runner::end_group() {
    if (graph_ != MPI_COMM_NULL) {
        out_->forget(graph_);
        MPI_Comm_free(&graph_);
    }
    if (shared_ == MPI_COMM_NULL) { return; }
    out_->forget(shared_);
    MPI_Comm_free(&shared_);
}

/// What deletes an attribute of MPI_COMM_SELF runs in MPI_Finalize, and MPI works there.
int Runner::complete_last(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* /*extra*/) {
    auto& last = *static_cast<LastOperations*>(value);
    Recorder& out = *last.out;
    MPI_Status status = fresh_status();
    out.call("Wait for the exchange", MPI_Wait(&last.exchange, MPI_STATUS_IGNORE));
    out.data("exchanged", last.exchanged);
    out.call("Wait for the message", MPI_Wait(&last.message, &status));
    out.status("message", status);
    out.data("message", last.received);
    return MPI_SUCCESS;
}

void Runner::begin_last(LastOperations& last) {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    last.out = out_.get();
    last.sent = Memory::of_ints(size, 100 * rank_);
    last.exchanged = Memory(static_cast<size_t>(size) * sizeof(int));
    int keyval = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, complete_last, &keyval, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &last);
    MPI_Ialltoall(last.sent.data(), 1, MPI_INT, last.exchanged.data(), 1, MPI_INT, MPI_COMM_WORLD,
                  &last.exchange);
    MPI_Irecv(last.received.data(), 1, MPI_INT, (rank_ + size - 3) % size, learned_tag,
              MPI_COMM_WORLD, &last.message);
    MPI_Send(last.sent.data(), 1, MPI_INT, (rank_ + 3) % size, learned_tag, MPI_COMM_WORLD);
}

void Runner::close() {
    LastOperations last;
    const bool is_last_wanted = out_ != nullptr && is_wanted("finalize");
    if (out_ != nullptr) {
        begin_patience(wishes_.patience);
        void* buffer = nullptr;
        int size = 0;
        MPI_Buffer_detach(&buffer, &size);
        out_->forget(side_);
        MPI_Comm_free(&side_);
    }
    if (is_last_wanted) {
        out_->begin(number_, "finalize");
        begin_last(last);
    }
    MPI_Finalize();
    if (is_last_wanted) { out_->end(); }
    alarm(0);
}

} // namespace nodeaware::conformance
