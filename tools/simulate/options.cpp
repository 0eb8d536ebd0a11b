#include "tools/simulate/options.hpp"

#include "strategies/strategy.hpp"

#include <cstdio>

namespace nodeaware::simulation {

namespace {

const std::vector<std::string>& operation_names() {
    static const std::vector<std::string> names = {"alltoallv", "p2p", "sdde"};
    return names;
}

void add_job_options(CLI::App& app, Options& options) {
    constexpr int most_ranks = 1 << 16;
    app.add_option("--table", options.table,
                   "Model table of the machine: a published one by name, or a file")
        ->capture_default_str();
    app.add_option("--nodes", options.nodes, "Nodes")
        ->check(CLI::Range(1, most_ranks))
        ->capture_default_str();
    app.add_option("--ppn", options.ranks_per_node, "Ranks on each node")
        ->check(CLI::Range(1, most_ranks))
        ->capture_default_str();
    app.add_option("--pattern", options.patterns,
                   "Who sends how much to whom, as in exchange_bench: spmv:FILE (Matrix Market), "
                   "random:NEIGHBOURS,BYTES, halo7:NX,NY,NZ,BYTES, halo27:..., uniform:BYTES; "
                   "numbers may be lists (8/512), the option may come again")
        ->required()
        ->type_name("a pattern");
    app.add_flag("--fixed-sizes", options.has_fixed_sizes,
                 "Messages of the random pattern have all the same size");
    app.add_flag("--periodic", options.is_periodic, "The grid of the halo patterns wraps");
    app.add_option("--operation", options.operation,
                   "alltoallv: MPI_Alltoallv; p2p: MPI_Irecv, MPI_Isend, MPI_Waitall; sdde: nobody "
                   "knows what it receives")
        ->check(CLI::IsMember(operation_names()))
        ->capture_default_str();
}

void add_run_options(CLI::App& app, Options& options) {
    constexpr int most = 1000000;
    app.add_option("--ways", options.ways, "Only these of native, the strategies, and auto")
        ->delimiter(',')
        ->check(CLI::IsMember(all_ways()));
    app.add_option("--calls", options.calls, "Calls, of which the median counts")
        ->check(CLI::Range(1, most))
        ->capture_default_str();
    app.add_option("--calls-before", options.calls_before, "Calls before these")
        ->check(CLI::Range(0, most))
        ->capture_default_str();
    app.add_option("--calls-of-auto", options.calls_of_auto,
                   "Calls before these where the library is to learn which way is best")
        ->check(CLI::Range(0, most))
        ->capture_default_str();
    app.add_option("--sender-share", options.sender_share,
                   "Part of a message's alpha for which its sender is busy")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    app.add_option("--receiver-share", options.receiver_share,
                   "Part of a message's alpha for which its receiver is busy; what is left of the "
                   "three is on the way")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    app.add_option("--jobs", options.jobs, "Ways that are simulated at the same time")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("--json", options.json, "Write everything to this file")->type_name("a file");
}

std::string text_of(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", number);
    return text;
}

} // namespace

void add_options(CLI::App& app, Options& options) {
    add_job_options(app, options);
    add_run_options(app, options);
}

std::vector<std::string> words_of(const Options& options) {
    std::vector<std::string> words = {
        "--table",
        options.table,
        "--nodes",
        std::to_string(options.nodes),
        "--ppn",
        std::to_string(options.ranks_per_node),
        "--operation",
        options.operation,
        "--calls",
        std::to_string(options.calls),
        "--calls-before",
        std::to_string(options.calls_before),
        "--calls-of-auto",
        std::to_string(options.calls_of_auto),
        "--sender-share",
        text_of(options.sender_share),
        "--receiver-share",
        text_of(options.receiver_share),
        "--jobs",
        std::to_string(options.jobs),
    };
    for (const std::string& pattern : options.patterns) {
        words.insert(words.end(), {"--pattern", pattern});
    }
    for (const std::string& way : options.ways) { words.insert(words.end(), {"--ways", way}); }
    if (options.has_fixed_sizes) { words.emplace_back("--fixed-sizes"); }
    if (options.is_periodic) { words.emplace_back("--periodic"); }
    if (!options.json.empty()) { words.insert(words.end(), {"--json", options.json}); }
    return words;
}

std::vector<std::string> all_ways() {
    std::vector<std::string> ways = {"native"};
    for (const Strategy& strategy : strategies()) { ways.emplace_back(strategy.name); }
    ways.emplace_back("auto");
    return ways;
}

} // namespace nodeaware::simulation
