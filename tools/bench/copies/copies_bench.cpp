// copies_bench: what the library's own copies to, from and within a GPU reach, in one process
// without MPI: the driver's copy engines, the kernel for lists, questions and pinning.
#include "neighbor.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/device/list_kernel.hpp"
#include "runtime/device/own_streams.hpp"
#include "session.hpp"
#include "tools/bench/command_line.hpp"
#include "tools/bench/json_file.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <optional>

namespace {

using namespace bench;
using namespace bench::copies;

struct Options {
    std::vector<std::string> parts;
    bool is_quick = false;
    std::optional<int> repeats;
    std::string json;
};

struct Part {
    const char* name;
    bool (*measure)(const Session& session, nlohmann::ordered_json& json);
};
const std::vector<Part> parts = {{"copies", measure_copies},
                                 {"lists", measure_lists},
                                 {"pieces", measure_pieces},
                                 {"questions", measure_questions},
                                 {"pinning", measure_pinning}};
const std::string device_memory = "memory";

void add_options(CLI::App& app, Options& options) {
    for (const Part& part : parts) options.parts.emplace_back(part.name);
    options.parts.push_back(device_memory);
    const std::vector<std::string> names = options.parts;
    app.add_option("--measure", options.parts,
                   "One or more of copies, lists, pieces: a message with gaps, questions: where "
                   "memory is, pinning, and memory: what a process takes of the device's")
        ->delimiter(',')
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    app.add_flag("--quick", options.is_quick,
                 "Few repeats of small sizes, to see that all is well");
    app.add_option("--repeats", options.repeats,
                   "Of each measurement; medians are taken over them (default: 30, with --quick 3)")
        ->check(CLI::Range(1, 100000));
    app.add_option("--json", options.json, "Write everything to this file");
}

bool is_wanted(const Options& options, const std::string& part) {
    return std::find(options.parts.begin(), options.parts.end(), part) != options.parts.end();
}

Settings settings_of(const Options& options) {
    Settings settings;
    if (options.is_quick) settings = {3, 1, 1 << 20, 1 << 20, 256 << 10, 1 << 20};
    if (options.repeats) settings.repeats = *options.repeats;
    return settings;
}

// What is looked at ends within it, wherever it begins.
std::uint64_t pattern_bytes(const Settings& settings) {
    constexpr std::uint64_t beginnings = 4096;
    constexpr std::uint64_t pieces = 1 << 20;
    const std::uint64_t listed = std::max(settings.listed_within, settings.listed_on_host);
    return std::max({settings.most_in_copy, apart * listed, pieces}) + beginnings;
}

nlohmann::ordered_json json_of(const std::optional<std::uint64_t>& bytes) {
    if (!bytes) return nullptr;
    return *bytes;
}

std::string mib_text(const std::optional<std::uint64_t>& bytes) {
    return bytes ? number(static_cast<double>(*bytes) / (1 << 20), 1) + " MiB" : "not known";
}

nlohmann::ordered_json report_device_memory(Neighbor& neighbor) {
    const DeviceMemory memory = measure_device_memory(neighbor);
    std::printf("\nMemory of the device: %s; used with one context: %s; another process takes for "
                "a context: %s, and for the kernel: %s\n",
                mib_text(memory.total).c_str(), mib_text(memory.used).c_str(),
                mib_text(memory.context).c_str(), mib_text(memory.kernel).c_str());
    return {{"total_bytes", json_of(memory.total)},
            {"used_bytes", json_of(memory.used)},
            {"context_bytes", json_of(memory.context)},
            {"kernel_bytes", json_of(memory.kernel)}};
}

bool measure(const Options& options, const Session& session, nlohmann::ordered_json& json) {
    bool is_well = true;
    for (const Part& part : parts) {
        if (!is_wanted(options, part.name)) continue;
        json[part.name] = nlohmann::ordered_json::array();
        is_well = part.measure(session, json[part.name]) && is_well;
    }
    return is_well;
}

int complain(const std::string& why, int status) {
    std::fflush(stdout);
    std::fprintf(stderr, "copies_bench: %s\n", why.c_str());
    return status;
}

int run(const Options& options) {
    std::optional<Neighbor> neighbor;
    if (is_wanted(options, device_memory)) neighbor.emplace();
    Gpu gpu;
    const std::string complaint = gpu.open();
    if (!complaint.empty()) return complain(complaint, exit_wrong_data);
    gpu.use(0);
    nodeaware::device::look_for_driver();
    const nodeaware::tool::GpuDescription description = gpu.describe().front();
    std::printf("%s (%s)\n", description.name.c_str(), description.pci_id.c_str());
    const Settings settings = settings_of(options);
    nlohmann::ordered_json json{
        {"program", "copies_bench"},
        {"device", description.name},
        {"pci_id", description.pci_id},
        {"options",
         {{"measure", options.parts}, {"quick", options.is_quick}, {"repeats", settings.repeats}}}};
    if (neighbor) json["memory"] = report_device_memory(*neighbor);
    neighbor.reset();
    const bool is_well =
        measure(options, {gpu, settings, make_pattern(pattern_bytes(settings))}, json);
    nodeaware::device::list_kernel::unload();
    nodeaware::device::own_streams::close();
    if (!options.json.empty()) {
        const std::string error = write_json(options.json, json);
        if (!error.empty()) return complain(error, exit_bad_input);
    }
    return is_well ? exit_ok : exit_wrong_data;
}

} // namespace

int main(int argc, char** argv) {
    return bench::program_status([&] {
        CLI::App app("Times the library's copies from, to and within the first GPU",
                     "copies_bench");
        Options options;
        add_options(app, options);
        try {
            app.parse(argc, argv);
            return run(options);
        } catch (const CLI::ParseError& error) {
            return static_cast<int>(app.exit(error) == 0 ? exit_ok : exit_bad_input);
        } catch (const std::exception& error) { return complain(error.what(), exit_wrong_data); }
    });
}
