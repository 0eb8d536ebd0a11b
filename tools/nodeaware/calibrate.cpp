#include "runtime/job/machine.hpp"
#include "runtime/job/model.hpp"
#include "tools/fit/measurement_json.hpp"
#include "tools/fit/protocol_advice.hpp"
#include "tools/nodeaware/calibration_benchmarks.hpp"
#include "tools/nodeaware/calibration_files.hpp"
#include "tools/nodeaware/commands.hpp"
#include "tools/nodeaware/fit_report.hpp"
#include "tools/nodeaware/numbers.hpp"
#include "tuning/table_file.hpp"
#include "tuning/text_file.hpp"
#include "tuning/user_table.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

using namespace nodeaware::tuning;

constexpr int cannot_calibrate = 2; ///< exit status

struct CalibrateArguments {
    std::string output; ///< empty: the user's own table
    std::string name = "calibrated";
    std::string measurements;
    CalibrationSettings settings;
    bool progress = false;
    bool json = false;
};

Fingerprint fingerprint(const World& world, const CalibrationJob& job) {
    Fingerprint print = fingerprint_of(world);
    print.processes_per_node = job.pairs();
    std::map<int, int> on_socket;
    for (const int rank : job.first_ranks()) {
        if (job.socket_of(rank) >= 0) { ++on_socket[job.socket_of(rank)]; }
    }
    for (const auto& [socket, ranks] : on_socket) {
        print.processes_per_socket = std::max(print.processes_per_socket, ranks);
    }
    print.date = today();
    print.library_version = NODEAWARE_VERSION;
    return print;
}

/// What the row benchmark says about alpha of further messages of one process.
std::vector<std::string> remarks(const Measurements& measured) {
    std::map<double, std::vector<Point>> by_size;
    for (const auto& row : measured.in_a_row) {
        by_size[row.bytes].push_back({row.messages, row.seconds});
    }
    std::vector<std::string> lines;
    for (const auto& [bytes, points] : by_size) {
        char text[120];
        std::snprintf(
            text, sizeof text,
            "messages of %.0f bytes in a row from one process: %.3e s for each further one", bytes,
            fit_line(points, Weighting::relative).beta);
        lines.emplace_back(text);
    }
    return lines;
}

bool has_virtual_nodes(const World& world) {
    return !world.options.ppn.empty() || world.options.region != Region::node;
}

FitResult fitted(const CalibrateArguments& arguments, const World& world, const CalibrationJob& job,
                 const Calibration& calibration) {
    const Measurements& measured = calibration.measured;
    FitResult result = fit(measured, {});
    if (has_virtual_nodes(world)) {
        result.warnings.emplace_back("the nodes are virtual (NODEAWARE_PPN or NODEAWARE_REGION): "
                                     "the network of this table is shared memory");
    }
    result.table.name = arguments.name;
    result.table.description = "Measured by nodeaware calibrate";
    result.table.notes = remarks(measured);
    result.table.notes.insert(result.table.notes.end(), result.warnings.begin(),
                              result.warnings.end());
    result.table.notes.insert(result.table.notes.end(), calibration.notes.begin(),
                              calibration.notes.end());
    result.table.fingerprint = fingerprint(world, job);
    result.table.fingerprint.gpus_per_node = calibration.gpus;
    return result;
}

/// Why a file cannot be written there; makes its folder. To be found before the measurements.
std::string complaint_of_output(const std::string& path) {
    if (path != "-") {
        const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
        std::error_code error;
        std::filesystem::create_directories(folder, error);
        if (error) { return path + ": cannot be written: " + error.message(); }
    }
    return complaint_of_file(path);
}

/// Why what is there cannot be kept.
std::string complaint_of_old(const std::string& path) {
    if (!is_replaced(path) || access(path.c_str(), F_OK) != 0) { return ""; }
    if (access(path.c_str(), R_OK) == 0) { return complaint_of_file(path_of_copy(path)); }
    return path + ": cannot be read, and is not replaced: " + std::strerror(errno);
}

/// Where the table goes, and why it cannot.
struct Output {
    std::string path;
    std::string complaint;
};

/// Of rank 0. The user's own table, by which all jobs go, is never one of virtual nodes.
Output output_of(const CalibrateArguments& arguments, const World& world) {
    Output output{arguments.output, ""};
    if (output.path.empty()) {
        if (has_virtual_nodes(world)) {
            return {"",
                    "the nodes are virtual (NODEAWARE_PPN or NODEAWARE_REGION), so their network "
                    "is shared memory: --output is needed, for jobs would use the default"};
        }
        const std::string folder = user_tables();
        if (folder.empty()) {
            return {"", "neither XDG_CONFIG_HOME nor HOME is set: --output is needed"};
        }
        output.path = path_of_new_table(fingerprint_of_process(), folder);
    }
    output.complaint = complaint_of_output(output.path);
    if (output.complaint.empty()) { output.complaint = complaint_of_old(output.path); }
    if (output.complaint.empty() && !arguments.measurements.empty()) {
        output.complaint = complaint_of_output(arguments.measurements);
    }
    if (output.complaint.empty()) {
        output.complaint = complaint_of_files(output.path, arguments.measurements);
    }
    return output;
}

/// A copy of the file that is to be replaced, if there is one. Throws std::runtime_error.
void keep_old(const std::string& path) try {
    std::error_code error;
    const bool is_there = is_replaced(path) && std::filesystem::file_size(path, error) > 0;
    if (!is_there || error) { return; }
    const std::string copy = path_of_copy(path);
    write_text_file(copy, read_text_file(path));
    std::fprintf(stderr, "nodeaware: what was there is now %s\n", copy.c_str());
} catch (const FileError& error) {
    throw std::runtime_error(path + ": cannot be read, and is not replaced: " + error.what());
}

void write_table(const ModelTable& table, const std::string& path) {
    keep_old(path);
    const bool is_mounted =
        write_text_file(path, to_json_text(table)) == Written::in_place && is_replaced(path);
    std::fprintf(stderr, "nodeaware: the model table is %s%s\n", path.c_str(),
                 is_mounted ? ", written over what was there, for it cannot be replaced" : "");
}

int complain(const CalibrationJob& job, const std::string& what) {
    if (job.rank() == 0) { std::fprintf(stderr, "nodeaware: %s\n", what.c_str()); }
    return cannot_calibrate;
}

/// Rank 0 alone; throws TableError or std::runtime_error. `has_network`: the nodes are real, so
/// that settings for their network mean something.
void finish(const CalibrateArguments& arguments, const std::string& output, const FitResult& result,
            const Calibration& calibration, bool has_network) {
    const Measurements& measured = calibration.measured;
    print_warnings(result);
    const bool reports = !is_standard_output(output) && !is_standard_output(arguments.measurements);
    if (reports) { print_fit(result, arguments.json, {}); }
    if (reports && !arguments.json) {
        std::vector<std::string> lines = remarks(measured);
        lines.insert(lines.end(), calibration.notes.begin(), calibration.notes.end());
        for (const std::string& line : lines) { std::printf("%s\n", line.c_str()); }
    }
    std::fflush(stdout); // what follows may end the job
    write_table(result.table, output);
    if (!arguments.measurements.empty()) {
        write_text_file(arguments.measurements, to_json_text(measured));
    }
    const std::string advice = has_network ? eager_advice(result) : "";
    if (!advice.empty()) { std::fprintf(stderr, "nodeaware: %s\n", advice.c_str()); }
    std::fprintf(stderr, "nodeaware: verdict: %s\n", verdict_of(result).c_str());
}

int calibrate_job(const CalibrateArguments& arguments, Gpu& gpu) {
    const World world = World::discover();
    if (world.options.disable) {
        if (world.rank == 0) { std::fprintf(stderr, "nodeaware: NODEAWARE_DISABLE is set\n"); }
        return cannot_calibrate;
    }
    const bool is_watched = arguments.progress || isatty(STDERR_FILENO) != 0;
    CalibrationJob job(world, describe_machine().place.socket,
                       is_watched ? ProgressLine::Kind::rewritten : ProgressLine::Kind::lines);
    if (const std::string why = job.complaint(); !why.empty()) { return complain(job, why); }
    const Output output = world.rank == 0 ? output_of(arguments, world) : Output();
    if (job.most(output.complaint.empty() ? 0 : 1) > 0) { return complain(job, output.complaint); }
    if (!job.share_memory(slot_bytes(job, arguments.settings))) {
        return complain(job, "shared memory for the processes of a node cannot be had");
    }
    KeptMeasurements kept(world.rank == 0 ? path_of_kept(arguments.measurements, output.path) : "");
    const Calibration calibration =
        run_benchmarks(job, arguments.settings, gpu, [&](const Measurements& measured) {
            job.progress().clear();
            kept.keep(measured);
        });
    job.progress().clear();
    if (world.rank == 0) {
        finish(arguments, output.path, fitted(arguments, world, job, calibration), calibration,
               !has_virtual_nodes(world));
        kept.done();
    }
    return 0;
}

void calibrate(const CalibrateArguments& arguments) {
    Gpu gpu; // outlives the use that the MPI makes of its contexts
    check(MPI_Init(nullptr, nullptr), "MPI_Init");
    int status = 0;
    try {
        if (const char* missing =
                load_mpi([](const char* name) { return dlsym(RTLD_DEFAULT, name); })) {
            throw std::runtime_error(std::string("this MPI has no ") + missing);
        }
        status = calibrate_job(arguments, gpu);
    } catch (const std::exception& error) {
        // The other ranks may wait for this one.
        std::fprintf(stderr, "nodeaware: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, cannot_calibrate);
    }
    MPI_Finalize();
    if (status != 0) { throw CLI::RuntimeError(status); }
}

} // namespace

void add_calibrate_command(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "calibrate",
        "Measure this machine and its MPI and write a model table; to be run under "
        "mpirun, on 2 nodes or more, with as many processes on each as applications "
        "use. With a GPU also its copies, and its messages if the MPI takes them. Where "
        "it is interrupted, what was measured is left in a file beside that of "
        "--measurements or --output, .partial, for nodeaware fit; where these are "
        "standard output or a device, nothing is");
    auto arguments = std::make_shared<CalibrateArguments>();
    const auto add = [&](const char* name, auto& value, const char* text) {
        return command->add_option(name, value, text)->capture_default_str();
    };
    command->add_option("--output", arguments->output,
                        "Write the table to this file (default: the one that the library reads, "
                        "nodeaware/model-MPI.json in $XDG_CONFIG_HOME or ~/.config)");
    add("--name", arguments->name, "Name of the table");
    add("--max-bytes", arguments->settings.max_bytes, "Largest message")
        ->check(CLI::Range(size_t{65536}, size_t{1} << 28));
    add("--repeats", arguments->settings.repeats, "Repeats of each measurement, at most")
        ->check(positive_number());
    add("--time-limit", arguments->settings.time_limit, "Seconds for all measurements, about")
        ->check(positive_number());
    command->add_flag("--quick", arguments->settings.quick, "Fewer sizes and repeats");
    command->add_flag_callback(
        "--no-gpu", [arguments] { arguments->settings.gpu = false; }, "Do not look for a GPU");
    add("--measurements", arguments->measurements,
        "Also write the measured times to this file, for nodeaware fit");
    command->add_flag("--progress", arguments->progress,
                      "Show all the time what is measured, also where stderr is no terminal; "
                      "without it a line every 10 s there");
    command->add_flag("--json", arguments->json, "Print the fit as JSON");
    command->callback([arguments, command] {
        if (arguments->settings.quick) {
            constexpr int quick_repeats = 5;
            constexpr double quick_seconds = 20;
            if (command->count("--repeats") == 0) { arguments->settings.repeats = quick_repeats; }
            if (command->count("--time-limit") == 0) {
                arguments->settings.time_limit = quick_seconds;
            }
        }
        calibrate(*arguments);
    });
}

} // namespace nodeaware::tool
