// nodeaware_replay: replays patterns of a trace under mpirun, by MPI_X and PMPI_X in turn, and
// checks every byte. `nodeaware replay` starts it, once for each strategy.
#include "tools/bench/program.hpp"

#include "tools/bench/command_line.hpp"
#include "tools/bench/measurement.hpp"
#include "tools/bench/report.hpp"
#include "tools/nodeaware/replay/outcome.hpp"
#include "tools/nodeaware/replay/patterns.hpp"

#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace nodeaware::tool;
using replay::Pattern;

constexpr int p2p_warmup = 20; // messages are learned from, as they go

struct Options {
    std::string folder;
    std::vector<int> numbers;
    replay::Limits limits;
    bench::Settings settings;
    double shared_clock_ms = 0;
};

// One pattern as all ranks know it.
struct Case {
    int number = 0;
    std::string operation;
    std::vector<int> members;
    bench::Pattern pattern;
};

void broadcast(std::vector<int>& numbers, MPI_Comm comm) {
    auto size = static_cast<int>(numbers.size());
    bench::check(MPI_Bcast(&size, 1, MPI_INT, 0, comm), "MPI_Bcast");
    numbers.resize(static_cast<std::size_t>(size));
    bench::check(MPI_Bcast(numbers.data(), size, MPI_INT, 0, comm), "MPI_Bcast");
}

Case case_of(const Pattern& pattern) {
    Case one{pattern.number, pattern.operation, pattern.members, {}};
    one.pattern.spec = one.pattern.label = "pattern " + std::to_string(pattern.number);
    one.pattern.uniform = pattern.operation == "alltoall" || pattern.operation == "ialltoall";
    for (const replay::Message& message : pattern.messages) {
        one.pattern.messages.push_back(
            {message.from, message.to, static_cast<std::int64_t>(message.bytes)});
    }
    return one;
}

// Rank 0 alone. Throws std::exception.
std::vector<Case> read_cases(const Options& options, int ranks, Trace& trace) {
    trace = read_trace(options.folder);
    if (trace.nodes.size() != static_cast<std::size_t>(ranks)) {
        throw bench::InputError(options.folder + " is a trace of " +
                                std::to_string(trace.nodes.size()) + " ranks, this job has " +
                                std::to_string(ranks));
    }
    const replay::Patterns patterns(trace, options.limits);
    std::vector<Case> cases;
    for (const int number : options.numbers) {
        if (number < 1 || static_cast<std::size_t>(number) > patterns.all().size())
            throw bench::InputError("there is no pattern " + std::to_string(number));
        const Pattern pattern = patterns.complete(number);
        if (!pattern.obstacle.empty())
            throw bench::InputError("pattern " + std::to_string(number) + ": " + pattern.obstacle);
        cases.push_back(case_of(pattern));
    }
    return cases;
}

// Collective; on rank 0: whether the same ranks share nodes as in the trace. Parts of machines and
// virtual nodes are taken as they are said to be.
bool is_on_same_nodes(const Trace& trace, int rank, int ranks, MPI_Comm control) {
    MPI_Comm node = MPI_COMM_NULL;
    bench::check(MPI_Comm_split_type(control, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node),
                 "MPI_Comm_split_type");
    int first = rank;
    bench::check(MPI_Bcast(&first, 1, MPI_INT, 0, node), "MPI_Bcast");
    bench::check(MPI_Comm_free(&node), "MPI_Comm_free");
    std::vector<int> nodes(static_cast<std::size_t>(ranks));
    bench::check(MPI_Gather(&first, 1, MPI_INT, nodes.data(), 1, MPI_INT, 0, control),
                 "MPI_Gather");
    if (rank != 0 || trace.nodes_are_virtual || trace.region != "node") return true;
    std::map<int, int> first_of; // rank of each node of the trace
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto [entry, is_new] = first_of.emplace(trace.nodes[i], static_cast<int>(i));
        if (nodes[i] != entry->second) return false;
    }
    return true;
}

// Collective.
std::vector<Case> share_cases(const Options& options, int rank, int ranks, Trace& trace,
                              MPI_Comm control) {
    std::vector<Case> cases;
    std::string error;
    try {
        if (rank == 0) cases = read_cases(options, ranks, trace);
    } catch (const std::exception& problem) { error = problem.what(); }
    bench::throw_everywhere(error, control);
    cases.resize(options.numbers.size());
    for (Case& one : cases) {
        bench::share_pattern(one.pattern, control);
        bench::broadcast(one.operation, control);
        broadcast(one.members, control);
        bench::check(MPI_Bcast(&one.number, 1, MPI_INT, 0, control), "MPI_Bcast");
    }
    return cases;
}

const bench::Operation& find_operation(const Case& one) {
    const auto ranks = static_cast<int>(one.members.size());
    const bench::Operation* operation = bench::find_operation(one.operation);
    // The same messages by a function that the MPI can.
    if (operation != nullptr &&
        bench::has_defect(*operation, one.pattern, ranks, bench::mpi_library_version())) {
        std::string other = one.operation;
        other.back() = 'v';
        operation = bench::find_operation(other);
    }
    if (operation == nullptr) throw bench::InputError("there is no operation " + one.operation);
    bench::check_sizes(one.pattern, *operation, ranks);
    return *operation;
}

// A communicator of the members in their order; MPI_COMM_NULL on others. Collective.
MPI_Comm communicator_of(const std::vector<int>& members, int rank, MPI_Comm control) {
    int color = MPI_UNDEFINED;
    int key = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (members[i] != rank) continue;
        color = 0;
        key = static_cast<int>(i);
    }
    MPI_Comm comm = MPI_COMM_NULL;
    bench::check(MPI_Comm_split(control, color, key, &comm), "MPI_Comm_split");
    return comm;
}

// Returns the number of wrong bytes. Collective.
std::int64_t replay_one(const Case& one, bench::Settings settings, bool is_on_same_nodes, int rank,
                        MPI_Comm control) {
    const bench::Operation& operation = find_operation(one);
    if (bench::is_message(operation) && settings.warmup < p2p_warmup) settings.warmup = p2p_warmup;
    MPI_Comm comm = communicator_of(one.members, rank, control);
    std::string text;
    std::int64_t wrong_bytes = 0;
    if (comm != MPI_COMM_NULL) {
        const bench::CaseResult result = bench::measure(one.pattern, operation, settings, comm);
        wrong_bytes = result.wrong_bytes();
        if (rank == one.members.front()) {
            bench::print_wrong_data(result);
            text = bench::to_json(result).dump();
        }
        bench::check(MPI_Comm_free(&comm), "MPI_Comm_free");
    }
    bench::broadcast(text, control, one.members.front());
    bench::check(MPI_Bcast(&wrong_bytes, 1, MPI_INT64_T, one.members.front(), control),
                 "MPI_Bcast");
    if (rank == 0) {
        std::printf("%s%d,\"same_nodes\":%s,\"result\":%s}\n", replay::result_mark, one.number,
                    is_on_same_nodes ? "true" : "false", text.c_str());
        std::fflush(stdout);
    }
    return wrong_bytes;
}

int run(Options& options, bench::Memory& memory, const CLI::App& app, MPI_Comm control) {
    int rank = 0;
    int ranks = 0;
    bench::check(MPI_Comm_rank(control, &rank), "MPI_Comm_rank");
    bench::check(MPI_Comm_size(control, &ranks), "MPI_Comm_size");
    options.settings.pause = options.shared_clock_ms * 1e-3;
    if (app.count("--shared-clock") > 0)
        options.settings.start = bench::StartLine::Mode::shared_clock;
    memory.open("host", control);
    options.settings.memory = &memory;
    std::int64_t wrong_bytes = 0;
    Trace trace; // on rank 0
    const std::vector<Case> cases = share_cases(options, rank, ranks, trace, control);
    const bool is_same = is_on_same_nodes(trace, rank, ranks, control);
    for (const Case& one : cases)
        wrong_bytes += replay_one(one, options.settings, is_same, rank, control);
    return wrong_bytes == 0 ? bench::exit_ok : bench::exit_wrong_data;
}

void add_options(CLI::App& app, Options& options) {
    bench::Settings& settings = options.settings;
    app.add_option("folder", options.folder, "The folder of the trace")->required();
    app.add_option("--pattern", options.numbers, "Numbers of patterns")->required();
    app.add_option("--memory", options.limits.bytes, "Most bytes for a rank");
    app.add_option("--iterations", settings.iterations, "Timed calls per repeat and form");
    app.add_option("--warmup", settings.warmup, "Calls of each form before the first repeat");
    app.add_option("--repeats", settings.repeats, "Repeats");
    app.add_option("--shared-clock", options.shared_clock_ms, "As in exchange_bench (ms)");
}

} // namespace

int main(int argc, char** argv) try {
    CLI::App app("Replays patterns of a trace; started by nodeaware replay", "nodeaware_replay");
    Options options;
    bench::Memory memory;
    add_options(app, options);
    return bench::run_program(argc, argv, app,
                              [&](MPI_Comm control) { return run(options, memory, app, control); });
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what()); // only before MPI_Init
    return bench::exit_bad_input;
}
