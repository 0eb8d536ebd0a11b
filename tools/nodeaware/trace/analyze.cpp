#include "runtime/job/options.hpp"
#include "tools/nodeaware/commands.hpp"
#include "tools/nodeaware/numbers.hpp"
#include "tools/nodeaware/trace/analysis.hpp"
#include "tools/nodeaware/trace/compare.hpp"
#include "tools/nodeaware/trace/page.hpp"
#include "tools/nodeaware/trace/places.hpp"
#include "tools/nodeaware/trace/printing.hpp"
#include "tuning/costs_of.hpp"
#include "tuning/table_file.hpp"
#include "tuning/text_file.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace nodeaware::tool {

namespace {

using nlohmann::ordered_json;

struct AnalyzeArguments {
    std::string folder;
    std::string model;
    std::string other;  ///< a folder to compare with; empty: none
    std::string config; ///< a file to write; empty: none
    std::string html;   ///< likewise
    int ppn = 0;        ///< 0: as it was
    bool json = false;
    bool no_lines = false;
};

void print_rows(const ordered_json& rows, const char* what, const char* heading) {
    constexpr size_t most = 20;
    if (rows.empty()) { return; }
    // What may be long comes last.
    std::printf("\n%12s %14s %16s %14s  %s\n", "calls", "messages", "bytes", "seconds", heading);
    for (size_t i = 0; i < std::min(rows.size(), most); ++i) {
        const ordered_json& row = rows[i];
        std::printf("%12llu %14llu %16llu %14.6f  %s\n", row["calls"].get<unsigned long long>(),
                    row["messages"].get<unsigned long long>(),
                    row["bytes"].get<unsigned long long>(), row["seconds"].get<double>(),
                    row[what].get<std::string>().c_str());
    }
    if (rows.size() > most) { std::printf("... and %zu more (--json)\n", rows.size() - most); }
}

void print_collectives(const ordered_json& report) {
    constexpr size_t most = 20;
    const ordered_json& rows = report["collectives"];
    if (rows.empty()) { return; }
    std::printf("\n%12s %16s %14s  %s\n", "calls", "bytes", "most of a call",
                "Passed to other collectives, by ranks that pass anything");
    for (size_t i = 0; i < std::min(rows.size(), most); ++i) {
        const ordered_json& row = rows[i];
        std::printf(
            "%12llu %16llu %14llu  %s, %s\n", row["calls"].get<unsigned long long>(),
            row["bytes"].get<unsigned long long>(), row["most_bytes"].get<unsigned long long>(),
            row["function"].get<std::string>().c_str(), row["ranks"].get<std::string>().c_str());
    }
    if (rows.size() > most) { std::printf("... and %zu more (--json)\n", rows.size() - most); }
    if (report["collectives_left_out"] != 0) {
        std::printf("and %llu calls that had no room in the trace\n",
                    report["collectives_left_out"].get<unsigned long long>());
    }
}

void print_notes(const ordered_json& notes) {
    if (!notes.empty()) { std::printf("\nMessages, where the library was at work\n"); }
    for (const auto& [text, value] : notes.items()) {
        std::printf("  %s: %llu\n", text.c_str(), value.get<unsigned long long>());
    }
}

std::string size_text(uint64_t bytes) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < std::size(units); bytes /= 1024) { ++unit; }
    return std::to_string(bytes) + " " + units[unit];
}

std::string range_from(uint64_t bytes) {
    if (bytes == 0) { return "empty"; }
    return bytes == 1 ? "1 B" : size_text(bytes) + " to less than " + size_text(2 * bytes);
}

void print_sizes(const ordered_json& sizes) {
    if (sizes.empty()) { return; }
    std::printf("\nBetween nodes, by size   %14s %16s\n", "messages", "bytes");
    for (const ordered_json& row : sizes) {
        std::printf("%-24s %14llu %16llu\n", range_from(row["from"].get<uint64_t>()).c_str(),
                    row["messages"].get<unsigned long long>(),
                    row["bytes"].get<unsigned long long>());
    }
}

void print_forecast(const ordered_json& forecast) {
    if (forecast["calls"] == 0) { return; }
    std::printf("\nCollective exchanges between nodes: %llu calls, %.6f s measured (mean of the "
                "ranks); by model table %s\n",
                forecast["calls"].get<unsigned long long>(),
                forecast["measured_seconds"].get<double>(),
                forecast["model"].get<std::string>().c_str());
    std::printf("%-16s %12.6f s\n", "native", forecast["native_seconds"].get<double>());
    for (const ordered_json& row : forecast["strategies"]) {
        std::printf("%-16s %12.6f s, %.2f times as fast\n",
                    row["strategy"].get<std::string>().c_str(), row["seconds"].get<double>(),
                    row.value("times_native", 1.0));
    }
    if (forecast["left_out"] != 0) {
        std::printf("%llu rarer kinds of exchanges are left out\n",
                    forecast["left_out"].get<unsigned long long>());
    }
}

void print_messages(const ordered_json& report) {
    if (report["between_nodes"]["point_to_point"]["messages"] == 0) { return; }
    const ordered_json& forecast = report["forecast"]["messages"];
    std::printf("\nMessages from point to point between nodes: predicted %.6f s each by itself, "
                "%.6f s gathered\n",
                forecast["native_seconds"].get<double>(),
                forecast["gathered_seconds"].get<double>());
}

void print(const ordered_json& report) {
    for (const ordered_json& line : report["verdict"]) {
        std::printf("%s\n", line.get<std::string>().c_str());
    }
    const ordered_json& in_calls = report["seconds_in_calls"];
    std::printf("\nSeconds in calls: mean %.6f, most %.6f (rank %d), least %.6f (rank %d%s)\n",
                in_calls["mean"].get<double>(), in_calls["most"]["seconds"].get<double>(),
                in_calls["most"]["rank"].get<int>(), in_calls["least"]["seconds"].get<double>(),
                in_calls["least"]["rank"].get<int>(),
                in_calls["others_wait_for_least"].get<bool>() ? ", which the others wait for most"
                                                              : "");
    std::printf("Receives: %llu, of which %llu from any source (without persistent ones)\n",
                report["receives"].get<unsigned long long>(),
                report["from_any_source"].get<unsigned long long>());
    print_forecast(report["forecast"]);
    print_messages(report);
    print_sizes(report["between_nodes"]["sizes"]);
    print_rows(report["communicators"], "ranks", "Communicators of");
    print_rows(report["sites"], "site", "Places in the program");
    print_collectives(report);
    print_notes(report["notes"]);
}

std::vector<int> nodes_of(const Trace& trace, int ppn) {
    std::vector<int> nodes = trace.nodes;
    for (size_t rank = 0; ppn > 0 && rank < nodes.size(); ++rank) {
        nodes[rank] = static_cast<int>(rank) / ppn;
    }
    return nodes;
}

Trace read(const std::string& folder, const AnalyzeArguments& arguments) {
    const bool compares = !arguments.other.empty();
    const Timeline some = compares ? Timeline::skip : Timeline::sample;
    Trace trace = read_trace(folder, arguments.html.empty() ? some : Timeline::read);
    complain(trace);
    if (trace.ranks.empty()) { throw TraceError(folder + ": no rank can be read"); }
    if (!arguments.no_lines) { find_places(trace); }
    if (arguments.ppn > 0) { trace.nodes_are_virtual = true; }
    return trace;
}

void run_comparison(const AnalyzeArguments& arguments) {
    const Trace trace = read(arguments.folder, arguments);
    const Trace other = read(arguments.other, arguments);
    const std::vector<int> nodes = nodes_of(trace, arguments.ppn);
    const std::vector<int> other_nodes = nodes_of(other, arguments.ppn);
    const TraceAnalysis analysis = analyze(trace, nodes);
    const TraceAnalysis other_analysis = analyze(other, other_nodes);
    const ComparedTrace before{trace, nodes, analysis};
    const ComparedTrace after{other, other_nodes, other_analysis};
    const ordered_json report = to_json(before, after, compare(before, after));
    arguments.json ? print_json(report) : print_comparison(report);
    if (!trace.complaints.empty() || !other.complaints.empty()) { throw CLI::RuntimeError(1); }
}

/// The same table wherever the job starts.
std::string model_setting(const std::string& model) {
    const std::vector<std::string> published = tuning::published_table_names();
    const bool is_name = std::find(published.begin(), published.end(), model) != published.end();
    return model.empty() || is_name ? model : std::filesystem::absolute(model).string();
}

void run(const AnalyzeArguments& arguments) {
    const Trace trace = read(arguments.folder, arguments);
    const std::vector<int> nodes = nodes_of(trace, arguments.ppn);
    const std::string wanted = arguments.model.empty() ? trace.model : arguments.model;
    // The job's own table may be on another machine; one that is asked for here has to be there.
    const tuning::LoadedTable loaded = arguments.model.empty()
                                           ? tuning::find_table_or_default(wanted)
                                           : tuning::LoadedTable{tuning::find_table(wanted), ""};
    Parameters parameters = Options().parameters;
    parameters.costs = tuning::costs_of(loaded.table);
    parameters.radix = 0;
    const TraceAnalysis analysis = analyze(trace, nodes);
    const TraceForecast forecast = forecast_of(trace, nodes, parameters);
    const ordered_json report = to_json(trace, analysis, forecast, loaded.table.name);
    if (!arguments.config.empty()) {
        tuning::write_text_file(
            arguments.config,
            recommended_config(trace, analysis, forecast, model_setting(arguments.model)));
    }
    if (!arguments.html.empty()) {
        tuning::write_text_file(arguments.html, page_of(trace, nodes, report));
    }
    if (!tuning::is_standard_output(arguments.config) &&
        !tuning::is_standard_output(arguments.html)) {
        arguments.json ? print_json(report) : print(report);
    }
    if (!trace.complaints.empty()) { throw CLI::RuntimeError(1); }
}

} // namespace

void add_analyze_command(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "analyze", "Say what a trace (NODEAWARE_TRACE) holds, and whether the library would help");
    auto arguments = std::make_shared<AnalyzeArguments>();
    command->add_option("folder", arguments->folder, "The folder of the trace")->required();
    CLI::Option* const model = command->add_option(
        "--model", arguments->model,
        "Model table to predict by, a published one or a file (default: the job's)");
    command
        ->add_option("--ppn", arguments->ppn,
                     "As if the nodes had so many ranks, one after the other")
        ->check(positive_whole_number());
    CLI::Option* const config =
        command->add_option("--write-config", arguments->config,
                            "Write the settings that are thought best to this file, for "
                            "NODEAWARE_CONFIG");
    CLI::Option* const compare =
        command
            ->add_option(
                "--compare", arguments->other,
                "The folder of a later trace of the same program: say what has become faster "
                "or slower, and where, instead of what the first one holds")
            ->excludes(model)
            ->excludes(config);
    command
        ->add_option("--html", arguments->html,
                     "Write all of it to this file, as a page for a browser")
        ->excludes(compare);
    command->add_flag("--no-lines", arguments->no_lines,
                      "Do not look up functions and source lines of places in the program");
    command->add_flag("--json", arguments->json, "Print JSON");
    command->callback(
        [arguments] { arguments->other.empty() ? run(*arguments) : run_comparison(*arguments); });
}

} // namespace nodeaware::tool
