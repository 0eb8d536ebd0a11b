#include "tools/fit/fit.hpp"

#include "tools/nodeaware/commands.hpp"
#include "tools/nodeaware/fit_report.hpp"
#include "tools/nodeaware/numbers.hpp"
#include "tuning/table_file.hpp"
#include "tuning/text_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

namespace nodeaware::tool {

namespace {

using namespace nodeaware::tuning;

struct FitArguments {
    std::vector<std::string> files;
    std::string output;
    std::string name = "fitted";
    std::string compare;
    bool relative = false;
    bool json = false;
    std::vector<double> host_limits;
    std::vector<double> device_limits;
    FitOptions options;
    BenchmarkLayout layout;
    Fingerprint fingerprint;
};

Measurements read_all(const FitArguments& arguments) {
    std::vector<std::string> files;
    for (const std::string& name : arguments.files) {
        if (!std::filesystem::is_directory(name)) {
            files.push_back(name);
            continue;
        }
        for (const auto& entry : std::filesystem::directory_iterator(name)) {
            if (entry.path().extension() == ".txt") { files.push_back(entry.path()); }
        }
    }
    std::sort(files.begin(), files.end());
    Measurements all;
    for (const std::string& file : files) {
        Measurements one = read_measurements(file, arguments.layout);
        // node_pong splits one size over the processes; the injection limit is fitted from runs in
        // which each process sends the whole size (maxrate), whose loads are larger.
        if (std::filesystem::path(file).stem() == "node_pong") { one.simultaneous.clear(); }
        all.add(one);
    }
    return all;
}

std::vector<Compared> compare(const ModelTable& published, const ModelTable& fitted) {
    std::map<std::string, double> values;
    for (const Parameter& parameter : parameters_of(fitted)) {
        values[parameter.key] = parameter.value;
    }
    std::vector<Compared> rows;
    for (const Parameter& parameter : parameters_of(published)) {
        const auto found = values.find(parameter.key);
        rows.push_back(
            {parameter.key, parameter.value, found == values.end() ? NAN : found->second});
    }
    return rows;
}

void run(FitArguments arguments) {
    if (!arguments.host_limits.empty()) { arguments.options.limits[0] = arguments.host_limits; }
    if (!arguments.device_limits.empty()) { arguments.options.limits[1] = arguments.device_limits; }
    if (arguments.relative) { arguments.options.weighting = Weighting::relative; }
    const Measurements measured = read_all(arguments);
    for (const std::string& note : measured.notes) {
        std::fprintf(stderr, "nodeaware: %s\n", note.c_str());
    }
    FitResult result = fit(measured, arguments.options);
    result.table.name = arguments.name;
    result.table.description = "Fitted by nodeaware fit";
    result.table.sources = arguments.files;
    result.table.notes = result.warnings;
    result.table.fingerprint = arguments.fingerprint;
    result.table.fingerprint.library_version = NODEAWARE_VERSION;
    if (result.table.fingerprint.date.empty()) { result.table.fingerprint.date = today(); }
    std::vector<Compared> compared;
    if (!arguments.compare.empty()) {
        compared = compare(find_table(arguments.compare), result.table);
    }
    print_warnings(result);
    if (!is_standard_output(arguments.output)) {
        print_fit(result, arguments.json, {arguments.compare, compared});
    }
    if (arguments.output.empty()) { return; }
    if (!has_paths(result.table, Memory::host)) {
        throw TableError("no table is written: it needs host ping-pong times on and between nodes");
    }
    write_text_file(arguments.output, to_json_text(result.table));
}

} // namespace

void add_fit_command(CLI::App& app) {
    CLI::App* command = app.add_subcommand("fit", "Fit a model table from recorded measurements");
    auto arguments = std::make_shared<FitArguments>();
    const auto add = [&](const char* name, auto& value, const char* text) {
        return command->add_option(name, value, text)->capture_default_str();
    };
    add("files", arguments->files, "Recorded files, or folders of them (*.txt)")
        ->required()
        ->check(CLI::ExistingPath);
    add("--output", arguments->output, "Write the table to this file");
    add("--name", arguments->name, "Name of the table");
    add("--compare", arguments->compare, "Show the parameters beside those of this table");
    command->add_flag("--relative", arguments->relative,
                      "Weigh by relative instead of absolute residuals");
    command->add_flag("--json", arguments->json, "Print JSON");
    add("--host-limits", arguments->host_limits,
        "Largest sizes (bytes) of the protocols but the last, instead of finding them")
        ->delimiter(',');
    add("--device-limits", arguments->device_limits, "The same for device memory")->delimiter(',');
    add("--most-injecting", arguments->options.most_injecting,
        "Processes of a node up to which the injection limit is fitted (0: half of all)");
    add("--ranks-per-socket", arguments->layout.ranks_per_socket, "Of the ping-pong ranks")
        ->check(positive_number());
    add("--ranks-per-node", arguments->layout.ranks_per_node, "Of the ping-pong ranks")
        ->check(positive_number());
    add("--element-bytes", arguments->layout.element_bytes, "Unit of the sizes in the files")
        ->check(positive_number());
    add("--mpi", arguments->fingerprint.mpi, "MPI that was measured, for the table");
    add("--host-model", arguments->fingerprint.host_model, "Machine that was measured");
    add("--date", arguments->fingerprint.date, "Day of the measurement (default: today)");
    command->callback([arguments] { run(*arguments); });
}

} // namespace nodeaware::tool
