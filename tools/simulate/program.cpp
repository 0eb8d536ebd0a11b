// nodeaware_simulator: jobs of the library in virtual time, each way in a process of its own.
// `nodeaware simulate` starts it.

#include "tools/bench/program.hpp"

#include "tools/bench/pattern.hpp"
#include "tools/simulate/job.hpp"
#include "tools/simulate/options.hpp"
#include "tools/simulate/virtual_time.hpp"
#include "tuning/table_file.hpp"
#include "tuning/text_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <poll.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace nodeaware;
using namespace nodeaware::simulation;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

/// The core lies beside this program, or where libraries are.
std::string find_core() {
    const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
    const fs::path places[] = {folder, folder.parent_path() / NODEAWARE_LIBRARY_FOLDER};
    for (const fs::path& place : places) {
        const fs::path file = place / "libnodeaware-smpi.so";
        if (fs::exists(file)) { return file; }
    }
    throw std::runtime_error("no libnodeaware-smpi.so in " + places[0].string() + " or " +
                             places[1].string());
}

JobSettings settings_of(const Options& options, const std::string& way) {
    JobSettings settings;
    settings.table = tuning::find_table(options.table);
    settings.shape = {options.nodes, options.ranks_per_node};
    settings.shares = {options.sender_share, options.receiver_share};
    settings.operation = options.operation;
    settings.calls = options.calls;
    settings.calls_before = way == "auto" ? options.calls_of_auto : options.calls_before;
    if (way != "native") { settings.core = find_core(); }
    return settings;
}

void set_variable(const char* name, const std::string& value) {
    if (setenv(name, value.c_str(), 1) != 0) {
        throw std::runtime_error(std::string("setenv: ") + std::strerror(errno));
    }
}

/// Every rank has a core for itself, whatever this machine has.
void configure_library(const Options& options, const std::string& way) {
    set_variable("NODEAWARE_STRATEGY", way);
    set_variable("NODEAWARE_MODEL", options.table);
    set_variable("HWLOC_SYNTHETIC", "core:" + std::to_string(options.ranks_per_node) + " pu:1");
}

ordered_json json_of(const JobResult& result) {
    return {{"seconds", result.seconds},
            {"first_seconds", result.first_seconds},
            {"messages", result.traffic.messages},
            {"bytes", result.traffic.bytes},
            {"most_messages_of_a_rank", result.traffic.most_messages_of_a_rank},
            {"most_messages_of_a_node", result.traffic.most_messages_of_a_node},
            {"wrong_bytes", result.wrong_bytes}};
}

using Patterns = std::vector<bench::Pattern>;

/// Patterns that a process simulates, and how.
struct Task {
    size_t way;
    std::vector<size_t> patterns;
};

/// A large job takes long to start, so all patterns are in one; but each in its own where what the
/// library has learned from one pattern would count for the next.
std::vector<Task> tasks_of(const std::vector<std::string>& ways, size_t patterns,
                           const std::string& operation) {
    std::vector<Task> tasks;
    for (size_t way = 0; way < ways.size(); ++way) {
        const bool learns = ways[way] == "auto" || ways[way] == "radix" || operation == "p2p";
        if (!learns) { tasks.push_back({way, {}}); }
        for (size_t pattern = 0; pattern < patterns; ++pattern) {
            if (learns) { tasks.push_back({way, {}}); }
            tasks.back().patterns.push_back(pattern);
        }
    }
    return tasks;
}

/// In a child: what a pattern has taken, or why the task fails, a line each for its parent.
void tell(int output, const ordered_json& what) {
    const int error = tuning::write_whole_to(output, what.dump() + "\n");
    if (error != 0) { throw std::runtime_error(std::strerror(error)); }
}

void simulate(const Task& task, const Patterns& patterns, const Options& options,
              const std::string& way, int output) {
    try {
        configure_library(options, way);
        std::vector<const bench::Pattern*> chosen;
        for (const size_t pattern : task.patterns) { chosen.push_back(&patterns[pattern]); }
        run_job(chosen, settings_of(options, way), [&](size_t pattern, const JobResult& result) {
            tell(output, {{"pattern", task.patterns[pattern]}, {"result", json_of(result)}});
        });
    } catch (const std::exception& error) { tell(output, {{"failure", error.what()}}); }
}

/// A task that a process is at.
struct Running {
    Task task;
    pid_t process;
    int output;
    std::string text{}; ///< the beginning of a line
};

Running begin(Task task, const Patterns& patterns, const Options& options, const std::string& way) {
    int ends[2];
    if (pipe(ends) != 0) { throw std::runtime_error(std::string("pipe: ") + std::strerror(errno)); }
    std::fflush(nullptr);
    const pid_t process = fork();
    if (process < 0) { throw std::runtime_error(std::string("fork: ") + std::strerror(errno)); }
    if (process == 0) {
        close(ends[0]);
        simulate(task, patterns, options, way, ends[1]);
        std::fflush(nullptr);
        _exit(0); // without the destructors of a simulation that has ended
    }
    close(ends[1]);
    return {std::move(task), process, ends[0]};
}

/// Its lines, as far as they have come; false: there are no more.
bool read_some(Running& running, std::vector<ordered_json>& lines) {
    char part[4096];
    const ssize_t length = read(running.output, part, sizeof part);
    if (length < 0) { return errno == EINTR; }
    running.text.append(part, static_cast<size_t>(length));
    for (size_t end = 0; (end = running.text.find('\n')) != std::string::npos;) {
        lines.push_back(ordered_json::parse(running.text.substr(0, end)));
        running.text.erase(0, end + 1);
    }
    return length > 0;
}

/// Why it has not told all.
ordered_json failure_of(const Running& running) {
    int status = 0;
    while (waitpid(running.process, &status, 0) < 0 && errno == EINTR) {}
    if (WIFEXITED(status) && WEXITSTATUS(status) == virtual_time::waits_for_ever) {
        return {{"failure", "ranks wait for what does not come"}};
    }
    return {{"failure", WIFSIGNALED(status) ? std::string("ended by ") + strsignal(WTERMSIG(status))
                                            : "ended without a result"}};
}

unsigned long long count(const ordered_json& result, const char* key) {
    return result[key].get<unsigned long long>();
}

void print_table(const std::string& pattern, const std::vector<std::string>& ways,
                 const std::vector<ordered_json>& results) {
    std::printf("\n%s\n  %-12s %12s %10s %12s %12s %12s\n", pattern.c_str(), "", "us",
                "native :", "messages", "of a node", "of a rank");
    double native = 0;
    for (size_t i = 0; i < ways.size(); ++i) {
        const ordered_json& result = results[i];
        if (result.contains("failure")) {
            std::printf("  %-12s %s\n", ways[i].c_str(),
                        result["failure"].get<std::string>().c_str());
            continue;
        }
        const auto seconds = result["seconds"].get<double>();
        if (ways[i] == "native") { native = seconds; }
        const std::string gain =
            native > 0 ? std::to_string(native / seconds).substr(0, 5) : std::string("-");
        std::printf("  %-12s %12.2f %10s %12llu %12llu %12llu%s\n", ways[i].c_str(), 1e6 * seconds,
                    gain.c_str(), count(result, "messages"),
                    count(result, "most_messages_of_a_node"),
                    count(result, "most_messages_of_a_rank"),
                    count(result, "wrong_bytes") == 0 ? "" : "  WRONG DATA");
    }
}

/// By pattern and way; null: not known yet.
using Results = std::vector<std::vector<ordered_json>>;

ordered_json whole(const Options& options, const Patterns& patterns,
                   const std::vector<std::string>& ways, const Results& results) {
    ordered_json all = {{"format", "nodeaware-simulation"},
                        {"version", 1},
                        {"table", options.table},
                        {"nodes", options.nodes},
                        {"ranks_per_node", options.ranks_per_node},
                        {"operation", options.operation},
                        {"sender_share", options.sender_share},
                        {"receiver_share", options.receiver_share},
                        {"complete", true},
                        {"patterns", ordered_json::array()}};
    for (size_t i = 0; i < patterns.size(); ++i) {
        ordered_json seconds = ordered_json::object();
        ordered_json details = ordered_json::object();
        for (size_t way = 0; way < ways.size(); ++way) {
            const ordered_json& result = results[i][way];
            if (result.is_null()) {
                all["complete"] = false;
                continue;
            }
            if (result.contains("seconds")) { seconds[ways[way]] = result["seconds"]; }
            details[ways[way]] = result;
        }
        all["patterns"].push_back(
            {{"pattern", patterns[i].spec}, {"seconds", seconds}, {"ways", details}});
    }
    return all;
}

/// Jobs of large machines take long: what is known is told at once, and is in the file, whatever
/// becomes of the others.
class Simulation {
  public:
    Simulation(const Patterns& patterns, const std::vector<std::string>& ways,
               const Options& options)
        : patterns_(patterns), ways_(ways), options_(options),
          results_(patterns.size(), std::vector<ordered_json>(ways.size())) {}

    const Results& run() {
        for (Task& task : tasks_of(ways_, patterns_.size(), options_.operation)) {
            while (running_.size() >= static_cast<size_t>(options_.jobs)) { wait(); }
            const std::string& way = ways_[task.way];
            running_.push_back(begin(std::move(task), patterns_, options_, way));
        }
        while (!running_.empty()) { wait(); }
        return results_;
    }

  private:
    /// For what any of them tells.
    void wait() {
        std::vector<pollfd> outputs;
        for (const Running& one : running_) { outputs.push_back({one.output, POLLIN, 0}); }
        if (poll(outputs.data(), outputs.size(), -1) < 0 && errno != EINTR) {
            throw std::runtime_error(std::string("poll: ") + std::strerror(errno));
        }
        for (size_t i = outputs.size(); i-- > 0;) {
            if (outputs[i].revents == 0) { continue; }
            std::vector<ordered_json> lines;
            const bool goes_on = read_some(running_[i], lines);
            for (const ordered_json& line : lines) { take(running_[i].task, line); }
            if (!goes_on) { end(i); }
        }
    }

    void take(const Task& task, const ordered_json& line) {
        if (line.contains("failure")) { return fail(task, line); }
        const auto pattern = line["pattern"].get<size_t>();
        know(pattern, task.way, line["result"]);
    }

    void end(size_t number) {
        const Running over = std::move(running_[number]);
        running_.erase(running_.begin() + static_cast<ptrdiff_t>(number));
        close(over.output);
        fail(over.task, failure_of(over));
    }

    /// What it has not told.
    void fail(const Task& task, const ordered_json& failure) {
        for (const size_t pattern : task.patterns) {
            if (results_[pattern][task.way].is_null()) { know(pattern, task.way, failure); }
        }
    }

    void know(size_t pattern, size_t way, const ordered_json& result) {
        results_[pattern][way] = result;
        const auto& of_pattern = results_[pattern];
        const bool is_all = std::none_of(of_pattern.begin(), of_pattern.end(),
                                         [](const ordered_json& one) { return one.is_null(); });
        if (is_all) { print_table(patterns_[pattern].spec, ways_, of_pattern); }
        if (std::fflush(stdout) != 0) {
            throw std::runtime_error(std::string("standard output: ") + std::strerror(errno));
        }
        if (options_.json.empty()) { return; }
        const std::string text = whole(options_, patterns_, ways_, results_).dump(2) + "\n";
        const int error = tuning::write_whole(options_.json, text);
        if (error != 0) { throw std::runtime_error(options_.json + ": " + std::strerror(error)); }
    }

    const Patterns& patterns_;
    const std::vector<std::string>& ways_;
    const Options& options_;
    Results results_;
    std::vector<Running> running_;
};

bool is_right(const ordered_json& result) {
    return result.contains("wrong_bytes") && result["wrong_bytes"].get<int64_t>() == 0;
}

int ranks_of(const Options& options) {
    constexpr int most = 1 << 16;
    const int64_t ranks = int64_t{options.nodes} * options.ranks_per_node;
    if (ranks > most) {
        throw std::runtime_error("--nodes and --ppn: " + std::to_string(ranks) +
                                 " ranks, expected up to " + std::to_string(most));
    }
    if (options.sender_share + options.receiver_share > 1) {
        throw std::runtime_error("--sender-share and --receiver-share: together more than 1, "
                                 "expected parts of one alpha");
    }
    return static_cast<int>(ranks);
}

int run(const Options& options) {
    const int ranks = ranks_of(options);
    bench::PatternOptions pattern_options;
    pattern_options.fixed_sizes = options.has_fixed_sizes;
    pattern_options.periodic = options.is_periodic;
    Patterns patterns;
    for (const std::string& spec : options.patterns) {
        for (auto& pattern : bench::make_patterns(spec, ranks, pattern_options)) {
            patterns.push_back(std::move(pattern));
        }
    }
    const std::vector<std::string> ways = options.ways.empty() ? all_ways() : options.ways;
    settings_of(options, "auto"); // complains before anything runs
    std::printf("%s, %d nodes of %d ranks, %s\n", options.table.c_str(), options.nodes,
                options.ranks_per_node, options.operation.c_str());
    Simulation simulation(patterns, ways, options);
    bool is_all_right = true;
    for (const auto& of_pattern : simulation.run()) {
        for (const ordered_json& result : of_pattern) { is_all_right &= is_right(result); }
    }
    return is_all_right ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Exchanges on a simulated machine, natively and by the library");
    Options options;
    add_options(app, options);
    CLI11_PARSE(app, argc, argv);
    try {
        return run(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "nodeaware simulate: %s\n", error.what());
        return 2;
    }
}
