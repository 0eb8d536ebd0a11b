#include "runtime/job/options.hpp"
#include "tools/nodeaware/commands.hpp"
#include "tools/nodeaware/numbers.hpp"
#include "tools/nodeaware/replay/job.hpp"
#include "tuning/costs_of.hpp"
#include "tuning/table_file.hpp"
#include "tuning/text_file.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

using namespace replay;
using nlohmann::ordered_json;

struct ReplayArguments {
    std::string folder;
    std::vector<int> numbers;
    std::vector<std::string> strategies; ///< empty: all
    size_t most = 8;
    std::string model;
    Limits limits;
    int iterations = 5;
    int warmup = 3;
    int repeats = 5;
    std::optional<double> shared_clock_ms;
    std::string json;
    bool lists = false;
    bool no_preload = false;
};

/// A trace, and what is needed to predict.
struct Subject {
    explicit Subject(const ReplayArguments& arguments)
        : trace(read_trace(arguments.folder)), patterns(trace, arguments.limits) {
        const std::string wanted = arguments.model.empty() ? trace.model : arguments.model;
        table = arguments.model.empty() ? tuning::find_table_or_default(wanted)
                                        : tuning::LoadedTable{tuning::find_table(wanted), ""};
        parameters = Options().parameters;
        parameters.costs = tuning::costs_of(table.table);
        parameters.radix = 0;
    }
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;
    ~Subject() = default;

    Trace trace;
    Patterns patterns;
    tuning::LoadedTable table;
    Parameters parameters;
};

void complain(const Trace& trace) {
    for (const std::string& complaint : trace.complaints) {
        std::fprintf(stderr, "nodeaware: %s\n", complaint.c_str());
    }
}

std::vector<Pattern> chosen(const ReplayArguments& arguments, const Patterns& patterns) {
    if (arguments.numbers.empty()) { return patterns.most_important(arguments.most); }
    std::vector<Pattern> list;
    for (const int number : arguments.numbers) {
        if (number < 1 || static_cast<size_t>(number) > patterns.all().size()) {
            throw TraceError("--pattern: there is no pattern " + std::to_string(number) +
                             "; --list shows all");
        }
        list.push_back(patterns.complete(number));
        if (!list.back().obstacle.empty()) {
            throw TraceError("pattern " + std::to_string(number) + ": " + list.back().obstacle);
        }
    }
    return list;
}

void list(const Subject& subject) {
    std::printf("%8s %12s %12s  %s\n", "pattern", "calls", "seconds", "");
    std::vector<const Pattern*> order;
    for (const Pattern& pattern : subject.patterns.all()) { order.push_back(&pattern); }
    std::stable_sort(order.begin(), order.end(),
                     [](const Pattern* a, const Pattern* b) { return a->seconds > b->seconds; });
    for (const Pattern* pattern : order) {
        const std::string why =
            pattern->obstacle.empty() ? "" : "; not replayed: " + pattern->obstacle;
        std::printf("%8d %12.0f %12.6f  %s%s\n", pattern->number, pattern->calls, pattern->seconds,
                    title_of(*pattern, subject.trace.nodes.size()).c_str(), why.c_str());
    }
}

replay::Job job_of(const ReplayArguments& arguments, const Subject& subject,
                   const std::vector<std::string>& launcher) {
    replay::Job job;
    job.launcher = launcher;
    job.preloads = !arguments.no_preload;
    job.settings = {{"PPN", subject.trace.ppn}};
    if (!arguments.model.empty()) { job.settings["MODEL"] = arguments.model; }
    if (subject.trace.region != "node") { job.settings["REGION"] = subject.trace.region; }
    job.arguments = {std::filesystem::absolute(arguments.folder).string(),
                     "--memory",
                     std::to_string(arguments.limits.bytes),
                     "--iterations",
                     std::to_string(arguments.iterations),
                     "--warmup",
                     std::to_string(arguments.warmup),
                     "--repeats",
                     std::to_string(arguments.repeats)};
    if (arguments.shared_clock_ms) {
        job.arguments.emplace_back("--shared-clock");
        job.arguments.push_back(std::to_string(*arguments.shared_clock_ms));
    }
    return job;
}

/// The job is not recorded, and the library works in it.
void forget_settings_against_replay() {
    for (const char* name : {"NODEAWARE_TRACE", "NODEAWARE_MODE", "NODEAWARE_DISABLE"}) {
        unsetenv(name);
    }
}

/// Native, and the strategies that are asked for, where they are predicted for the pattern.
std::vector<Prediction> predict_for(const Pattern& pattern, const Subject& subject,
                                    const std::vector<std::string>& wanted) {
    std::vector<Prediction> all = predict(pattern, subject.trace.nodes, subject.parameters);
    const bool has_choice = all.size() > 2;
    std::erase_if(all, [&](const Prediction& one) {
        return has_choice && !wanted.empty() && one.strategy != "native" &&
               std::find(wanted.begin(), wanted.end(), one.strategy) == wanted.end();
    });
    return all;
}

/// One job for each strategy, in which the patterns are replayed that it is predicted for.
std::vector<Outcome> measure(const std::vector<Pattern>& patterns, const Subject& subject,
                             const std::vector<std::string>& wanted, const replay::Job& job) {
    std::vector<std::vector<Prediction>> predictions;
    for (const Pattern& pattern : patterns) {
        predictions.push_back(predict_for(pattern, subject, wanted));
    }
    std::vector<std::vector<Measured>> measured(patterns.size());
    for (const Strategy& strategy : strategies()) {
        const std::string name(strategy.name);
        std::vector<int> numbers;
        std::vector<size_t> where;
        for (size_t i = 0; i < patterns.size(); ++i) {
            const bool has_it = std::any_of(predictions[i].begin(), predictions[i].end(),
                                            [&](const auto& one) { return one.strategy == name; });
            if (!has_it) { continue; }
            numbers.push_back(patterns[i].number);
            where.push_back(i);
        }
        if (numbers.empty()) { continue; }
        if (isatty(STDERR_FILENO) != 0) { std::fprintf(stderr, "%s ...\n", name.c_str()); }
        const auto results = run_by(name, numbers, job);
        for (size_t i = 0; i < where.size(); ++i) {
            measured[where[i]].push_back(results.at(numbers[i]));
        }
    }
    std::vector<Outcome> outcomes;
    for (size_t i = 0; i < patterns.size(); ++i) {
        outcomes.push_back(
            outcome_of(patterns[i], subject.trace.nodes, predictions[i], measured[i]));
    }
    return outcomes;
}

void print(const Subject& subject, const std::vector<Outcome>& outcomes) {
    const Trace& trace = subject.trace;
    std::printf("Replayed with made-up data, by model table %s", subject.table.table.name.c_str());
    if (trace.nodes_are_virtual) {
        std::printf("; virtual nodes as in the trace (NODEAWARE_PPN=%s), with no network between "
                    "those of a machine",
                    trace.ppn.c_str());
    }
    std::printf("\n%zu of %zu patterns with messages between nodes\n", outcomes.size(),
                subject.patterns.between_nodes());
    const bool is_elsewhere = std::any_of(outcomes.begin(), outcomes.end(),
                                          [](const auto& one) { return !one.is_on_same_nodes; });
    if (is_elsewhere) {
        std::printf("The ranks are on nodes in another way than those of the trace, which the "
                    "predictions are for.\n");
    }
    for (const Outcome& outcome : outcomes) {
        std::printf("\n%s", table_of(outcome, trace.nodes.size()).c_str());
    }
    std::printf("\n%s\n", summary_of(outcomes).c_str());
}

void write_json(const std::string& path, const Subject& subject,
                const std::vector<Outcome>& outcomes) {
    size_t right = 0;
    size_t alike = 0;
    ordered_json list = ordered_json::array();
    for (const Outcome& outcome : outcomes) {
        const Winners winners = winners_of(outcome.rows);
        right += winners.is_right() ? 1 : 0;
        alike += winners.is_all_alike ? 1 : 0;
        list.push_back(replay::to_json(outcome));
    }
    const ordered_json report = {{"trace", subject.trace.folder},
                                 {"model", subject.table.table.name},
                                 {"ranks", subject.trace.nodes.size()},
                                 {"nodes", subject.trace.nodes},
                                 {"nodes_are_virtual", subject.trace.nodes_are_virtual},
                                 {"patterns_between_nodes", subject.patterns.between_nodes()},
                                 {"winners_right", right},
                                 {"winners", outcomes.size() - alike},
                                 {"no_difference", alike},
                                 {"patterns", list}};
    tuning::write_text_file(
        path, report.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n");
}

void run(const ReplayArguments& arguments, const std::vector<std::string>& launcher) {
    const Subject subject(arguments);
    complain(subject.trace);
    if (arguments.lists) { return list(subject); }
    const std::vector<Pattern> patterns = chosen(arguments, subject.patterns);
    if (patterns.empty()) {
        throw TraceError(arguments.folder + ": no pattern with messages between nodes that can be "
                                            "replayed; --list shows all");
    }
    const bool has_file = !arguments.json.empty();
    if (const std::string why = has_file ? tuning::complaint_of_file(arguments.json) : "";
        !why.empty()) {
        throw std::runtime_error(why);
    }
    forget_settings_against_replay();
    const auto outcomes =
        measure(patterns, subject, arguments.strategies, job_of(arguments, subject, launcher));
    if (!tuning::is_standard_output(arguments.json)) { print(subject, outcomes); }
    if (has_file) { write_json(arguments.json, subject, outcomes); }
    const bool has_wrong_data =
        std::any_of(outcomes.begin(), outcomes.end(),
                    [](const Outcome& outcome) { return outcome.wrong_bytes > 0; });
    if (has_wrong_data || !subject.trace.complaints.empty()) { throw CLI::RuntimeError(1); }
}

void add_options(CLI::App& command, ReplayArguments& arguments) {
    command.add_option("folder", arguments.folder, "The folder of the trace")->required();
    command.add_flag("--list", arguments.lists, "Only list the patterns");
    command.add_option("--pattern", arguments.numbers, "Patterns by their numbers")
        ->allow_extra_args(false);
    std::vector<std::string> names;
    for (const Strategy& strategy : strategies()) { names.emplace_back(strategy.name); }
    command
        .add_option(
            "--strategy", arguments.strategies,
            "Only these, with commas between (default: all). Nonblocking exchanges and "
            "messages from point to point travel alike by all, and are replayed by gathered")
        ->delimiter(',')
        ->check(CLI::IsMember(names));
    command
        .add_option("--most", arguments.most,
                    "So many patterns, those with most seconds in the trace first")
        ->check(positive_whole_number())
        ->capture_default_str();
    command.add_option("--model", arguments.model,
                       "Model table to predict by, a published one or a file (default: the job's)");
    command
        .add_option("--memory", arguments.limits.bytes,
                    "Patterns that need more for what a rank sends and receives are left out "
                    "(bytes)")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    command.add_option("--repeats", arguments.repeats, "Repeats; medians are taken over them")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    command.add_option("--iterations", arguments.iterations, "Calls in each repeat")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    command
        .add_option("--warmup", arguments.warmup,
                    "Calls before the first repeat; messages from point to point: at least 20")
        ->check(non_negative_number())
        ->capture_default_str();
    command.add_option("--shared-clock", arguments.shared_clock_ms,
                       "As in exchange_bench, for ranks on one machine (ms)");
    command.add_option("--json", arguments.json, "Write everything to this file");
    command.add_flag("--no-preload", arguments.no_preload,
                     "The launcher's command line preloads the library, and hands "
                     "NODEAWARE_STRATEGY on");
}

} // namespace

void add_replay_command(CLI::App& app, const std::vector<std::string>& command_line) {
    CLI::App* command = app.add_subcommand(
        "replay", "Replay the patterns of a trace by each strategy, measured against predicted: "
                  "nodeaware replay FOLDER -- mpirun -n 4");
    auto arguments = std::make_shared<ReplayArguments>();
    add_options(*command, *arguments);
    command->callback([arguments, &command_line] { run(*arguments, command_line); });
}

} // namespace nodeaware::tool
