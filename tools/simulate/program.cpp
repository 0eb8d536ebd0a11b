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

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
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

/// In a child: what it prints for its parent.
ordered_json simulate(const Task& task, const Patterns& patterns, const Options& options,
                      const std::string& way) {
    try {
        configure_library(options, way);
        std::vector<const bench::Pattern*> chosen;
        for (const size_t pattern : task.patterns) { chosen.push_back(&patterns[pattern]); }
        ordered_json results;
        for (const JobResult& result : run_job(chosen, settings_of(options, way))) {
            results.push_back(json_of(result));
        }
        return results;
    } catch (const std::exception& error) { return {{"failure", error.what()}}; }
}

/// A task that a process is at.
struct Running {
    Task task;
    pid_t process;
    int output;
};

Running begin(Task task, const Patterns& patterns, const Options& options, const std::string& way) {
    int ends[2];
    if (pipe(ends) != 0) { throw std::runtime_error(std::string("pipe: ") + std::strerror(errno)); }
    std::fflush(nullptr);
    const pid_t process = fork();
    if (process < 0) { throw std::runtime_error(std::string("fork: ") + std::strerror(errno)); }
    if (process == 0) {
        close(ends[0]);
        const std::string text = simulate(task, patterns, options, way).dump();
        const int error = tuning::write_whole_to(ends[1], text);
        std::fflush(nullptr);
        _exit(error == 0 ? 0 : 1); // without the destructors of a simulation that has ended
    }
    close(ends[1]);
    return {std::move(task), process, ends[0]};
}

std::string read_all(int output) {
    std::string text;
    char part[4096];
    ssize_t length = 0;
    while ((length = read(output, part, sizeof part)) > 0 || (length < 0 && errno == EINTR)) {
        if (length > 0) { text.append(part, static_cast<size_t>(length)); }
    }
    close(output);
    return text;
}

ordered_json end(const Running& running) {
    const std::string text = read_all(running.output);
    int status = 0;
    while (waitpid(running.process, &status, 0) < 0 && errno == EINTR) {}
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text.empty()) {
        return ordered_json::parse(text);
    }
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

/// By pattern and way.
using Results = std::vector<std::vector<ordered_json>>;

void keep(const Running& running, Results& results) {
    const ordered_json found = end(running);
    for (size_t i = 0; i < running.task.patterns.size(); ++i) {
        results[running.task.patterns[i]][running.task.way] = found.is_array() ? found[i] : found;
    }
}

Results simulate_all(const Patterns& patterns, const std::vector<std::string>& ways,
                     const Options& options) {
    Results results(patterns.size(), std::vector<ordered_json>(ways.size()));
    std::vector<Running> running;
    const auto end_first = [&] {
        keep(running.front(), results);
        running.erase(running.begin());
    };
    for (Task& task : tasks_of(ways, patterns.size(), options.operation)) {
        if (running.size() >= static_cast<size_t>(options.jobs)) { end_first(); }
        const std::string& way = ways[task.way];
        running.push_back(begin(std::move(task), patterns, options, way));
    }
    while (!running.empty()) { end_first(); }
    for (size_t i = 0; i < patterns.size(); ++i) {
        print_table(patterns[i].spec, ways, results[i]);
    }
    return results;
}

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
                        {"patterns", ordered_json::array()}};
    for (size_t i = 0; i < patterns.size(); ++i) {
        ordered_json seconds;
        ordered_json details;
        for (size_t way = 0; way < ways.size(); ++way) {
            const ordered_json& result = results[i][way];
            if (result.contains("seconds")) { seconds[ways[way]] = result["seconds"]; }
            details[ways[way]] = result;
        }
        all["patterns"].push_back(
            {{"pattern", patterns[i].spec}, {"seconds", seconds}, {"ways", details}});
    }
    return all;
}

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
    const auto results = simulate_all(patterns, ways, options);
    bool is_all_right = true;
    for (const auto& of_pattern : results) {
        for (const ordered_json& result : of_pattern) { is_all_right &= is_right(result); }
    }
    if (!options.json.empty()) {
        const int error = tuning::write_whole(
            options.json, whole(options, patterns, ways, results).dump(2) + "\n");
        if (error != 0) { throw std::runtime_error(options.json + ": " + std::strerror(error)); }
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
