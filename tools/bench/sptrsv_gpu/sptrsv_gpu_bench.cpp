// sptrsv_gpu_bench: times sparse triangular solves on one GPU, whose parts stand for as many GPUs
// that put data into each other's memory. Without MPI.
#include "measure.hpp"
#include "tools/bench/json_file.hpp"
#include "tools/bench/program.hpp"
#include "tools/bench/sptrsv/factor_options.hpp"
#include "tools/bench/text_table.hpp"
#include "tools/triangular/indices.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>

namespace {

using namespace bench;
using namespace bench::sptrsv_gpu;
using namespace triangular;

const std::string program = "sptrsv_gpu_bench";

struct Options {
    sptrsv::FactorOptions factor;
    std::vector<int> gpus = {1, 2, 4, 8, 16};
    std::vector<std::string> layouts = {"Px1", "2D", "1xP"};
    std::vector<std::string> trees = {"binary"};
    Settings settings;
    std::string json;
};

const std::vector<std::string> tree_names = {"flat", "binary", "node"};

void add_options(CLI::App& app, Options& options) {
    sptrsv::add_factor_options(app, options.factor, options.settings.limits);
    Settings& settings = options.settings;
    app.add_option("--gpus", options.gpus, "Virtual GPUs, one or more numbers")
        ->delimiter(',')
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("--layout", options.layouts,
                   "How blocks are dealt out to virtual GPUs in rows and columns: one or more of "
                   "Px1, 2D (as square as it can be), 1xP")
        ->delimiter(',')
        ->check(CLI::IsMember({"Px1", "2D", "1xP"}))
        ->capture_default_str();
    app.add_option("--tree", options.trees,
                   "How parts of x and of sums go between virtual GPUs, one or more of flat, "
                   "binary, and node: one put to each node, and trees in nodes")
        ->delimiter(',')
        ->check(CLI::IsMember(tree_names))
        ->capture_default_str();
    app.add_option("--ppn", settings.gpus_per_node, "Virtual GPUs of a node (default: all)")
        ->check(CLI::Range(1, 1024));
    app.add_option("--blocks", settings.solver.blocks,
                   "Thread blocks of SOLVE of each virtual GPU (default: as many as fit; with "
                   "--cpu 2)")
        ->check(CLI::Range(1, 1 << 20));
    app.add_option("--limit", settings.solver.limit,
                   "Seconds that a block waits at most before all give up")
        ->check(CLI::Range(0.001, 3600.0))
        ->capture_default_str();
    app.add_option("--lose", settings.solver.lost,
                   "Do not tell of the put of this number, from zero, of each virtual GPU: to see "
                   "that it is found")
        ->check(CLI::Range(0, 1 << 30));
    app.add_flag("--cpu", settings.is_on_host,
                 "Threads of the host instead of thread blocks: for tests, not for times");
    app.add_option("--repeats", settings.repeats, "Solves; medians are taken over them")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    app.add_option("--warmup", settings.warmup, "Solves before the first that counts")
        ->check(CLI::Range(0, 100000))
        ->capture_default_str();
    app.add_option("--json", options.json, "Write everything to this file");
}

std::string layout_name(const ProcessGrid& grid) {
    return grid.columns == 1 ? "Px1" : grid.rows == 1 ? "1xP" : "2D";
}

std::vector<Case> cases_of(const Options& options) {
    const auto is_wanted = [&](const std::string& layout) {
        return std::find(options.layouts.begin(), options.layouts.end(), layout) !=
               options.layouts.end();
    };
    std::vector<Case> cases;
    for (const int gpus : options.gpus) {
        for (const ProcessGrid& grid : usual_grids(gpus)) {
            // One virtual GPU has no layout, and is compared with all.
            if (gpus > 1 && !is_wanted(layout_name(grid))) continue;
            for (const std::string& tree : options.trees) {
                const auto kind = std::find(tree_names.begin(), tree_names.end(), tree);
                cases.push_back({gpus, grid, static_cast<TreeKind>(kind - tree_names.begin())});
            }
        }
    }
    if (cases.empty()) throw InputError("--layout: no number of --gpus can be laid out so");
    return cases;
}

std::string tree_of(const Result& result) {
    return tree_names[at(static_cast<int>(result.of.tree))];
}

std::string residual_text(const Result& result) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.2e", result.residual);
    return buffer;
}

TextTable<Result> result_table() {
    return TextTable<Result>({
        {"GPUs", 4, [](const Result& r) { return std::to_string(r.of.gpus); }},
        {"layout", -6, [](const Result& r) { return r.of.grid.text(); }},
        {"tree", -6, tree_of},
        {"us/solve", 28, [](const Result& r) { return spread(summarize(r.times), 1); }},
        {"puts", 7, [](const Result& r) { return std::to_string(r.puts); }},
        {"longest: levels", 9,
         [](const Result& r) { return std::to_string(r.critical_path.levels); }},
        {"puts", 5, [](const Result& r) { return std::to_string(r.critical_path.messages); }},
        {"blocks", 6, [](const Result& r) { return std::to_string(r.blocks); }},
        {"residual", 8, residual_text},
        {"result", -6, [](const Result& r) { return std::string(r.state()); }},
    });
}

nlohmann::ordered_json to_json(const Result& result) {
    return {{"gpus", result.of.gpus},
            {"layout", result.of.grid.text()},
            {"tree", tree_of(result)},
            {"us_per_solve", bench::to_json(summarize(result.times))},
            {"repeats_us", result.times},
            {"puts", result.puts},
            {"computed_puts", result.computed_puts},
            {"critical_levels", result.critical_path.levels},
            {"critical_puts", result.critical_path.messages},
            {"blocks", result.blocks},
            {"blocks_elsewhere", result.elsewhere},
            {"relative_residual", result.residual},
            {"failure", result.failure},
            {"state", result.state()}};
}

nlohmann::ordered_json describe_run(const Options& options, const DeviceFacts& device) {
    const Settings& settings = options.settings;
    return {{"program", program},
            {"device",
             {{"name", device.name},
              {"capability", device.capability},
              {"multiprocessors", device.multiprocessors},
              {"driver_version", device.driver_version}}},
            {"options",
             {{"matrix", options.factor.matrix},
              {"grid", options.factor.grid},
              {"gpus", options.gpus},
              {"layout", options.layouts},
              {"tree", options.trees},
              {"ppn", settings.gpus_per_node},
              {"blocks", settings.solver.blocks},
              {"limit_s", settings.solver.limit},
              {"lose", settings.solver.lost},
              {"cpu", settings.is_on_host},
              {"widest", settings.limits.widest},
              {"relaxed", settings.limits.relaxed},
              {"repeats", settings.repeats},
              {"warmup", settings.warmup}}},
            {"cases", nlohmann::ordered_json::array()}};
}

// After each case: what has been measured stays, whatever the next one does.
void write(const Options& options, const nlohmann::ordered_json& json, bool is_finished) {
    if (options.json.empty()) return;
    const std::string error =
        is_finished ? write_json(options.json, json) : write_unfinished_json(options.json, json);
    if (!error.empty()) throw InputError(error);
}

int run(const Options& options) {
    const Settings& settings = options.settings;
    const DeviceFacts device =
        settings.is_on_host ? DeviceFacts{"threads of the host", "", 0, 0} : find_device();
    const std::vector<Case> cases = cases_of(options);
    nlohmann::ordered_json json = describe_run(options, device);
    write(options, json, false);
    const System system = system_of(sptrsv::factor_of(options.factor));
    json["rows"] = system.factor.size;
    json["entries"] = system.factor.rows.size();
    json["supernodes"] = supernodes_of(system.factor, settings.limits).count();
    std::printf("%d rows, %zu entries, %s supernodes; %s\n", system.factor.size,
                system.factor.rows.size(), json["supernodes"].dump().c_str(), device.name.c_str());
    const TextTable<Result> table = result_table();
    table.print_header();
    bool is_right = true;
    for (const Case& one : cases) {
        const Result result = measure(one, system, settings);
        is_right &= result.failure.empty() && !result.is_wrong;
        table.print(result);
        if (!result.failure.empty())
            std::fprintf(stderr, "%s: %s\n", program.c_str(), result.failure.c_str());
        json["cases"].push_back(to_json(result));
        write(options, json, &one == &cases.back());
    }
    return is_right ? exit_ok : exit_wrong_data;
}

} // namespace

int main(int argc, char** argv) {
    const auto told = [](const std::exception& error, int status) {
        std::fflush(stdout);
        std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
        return status;
    };
    try {
        CLI::App app("Times sparse triangular solves on parts of a GPU", program);
        Options options;
        add_options(app, options);
        try {
            app.parse(argc, argv);
        } catch (const CLI::ParseError& error) {
            return app.exit(error) == 0 ? exit_ok : exit_bad_input;
        }
        return run(options);
    } catch (const DeviceError& error) {
        return told(error, exit_wrong_data);
    } catch (const std::exception& error) { return told(error, exit_bad_input); }
}
