#include "runtime/trace/manifest.hpp"

#include "runtime/job/model.hpp"
#include "runtime/trace/file.hpp"
#include "runtime/trace/json_line.hpp"
#include "runtime/trace/text.hpp"

#include <algorithm>
#include <ctime>

namespace nodeaware::trace {

namespace {

std::string mpi_version() {
    std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
    int length = 0;
    if (mpi.Get_library_version(text.data(), &length) != MPI_SUCCESS) { return "unknown"; }
    text.resize(static_cast<size_t>(length));
    return text.substr(0, text.find_first_of(std::string("\n\0", 2)));
}

/// When the process began to record, in the calendar of the world (ISO 8601).
std::string time_of_begin() {
    static const std::time_t begin = std::time(nullptr);
    std::tm parts = {};
    char text[32] = "";
    if (gmtime_r(&begin, &parts) != nullptr) {
        std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    return text;
}

std::string_view name_of(Region region) {
    switch (region) {
    case Region::socket: return "socket";
    case Region::numa: return "numa";
    default: return "node";
    }
}

/// "NAME=VALUE" in each line.
std::string json_of_settings(std::string_view text) {
    JsonLine settings;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const size_t equals = line.find('=');
        if (equals == std::string_view::npos || equals + 1 == line.size()) { continue; }
        settings.add(line.substr(0, equals), line.substr(equals + 1));
    }
    std::string json = settings.take();
    json.pop_back(); // the end of the line
    return json;
}

uint64_t to_nanoseconds(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }

} // namespace

int write_manifest(const World& world, const std::string& job, const Ended& ended) {
    JsonList nodes;
    for (const int node : world.node_of) { nodes.add(JsonLine::text_of(node)); }
    const std::string model = wanted_table(world.options);
    JsonLine manifest;
    manifest.add("format", "nodeaware trace")
        .add("version", format_version)
        .add("job", job)
        .add("library", NODEAWARE_VERSION)
        .add("mpi", mpi_version())
        .add("begin", time_of_begin())
        .add("observes", world.options.observes)
        .add("ranks", world.size)
        .add("machines", world.machines)
        .add("region", name_of(world.options.region))
        .add("nodes_are_virtual", !world.options.ppn.empty())
        .add_value("nodes", nodes.take())
        .add("threads_at_once", world.threads_at_once)
        .add("file_ending", file_ending())
        .add("model", model)
        .add_value("settings", json_of_settings(world.settings))
        .add("complete", ended.is_complete);
    if (ended.is_complete) {
        manifest.add_seconds("wall", to_nanoseconds(ended.wall))
            .add_seconds("seconds_in_calls", to_nanoseconds(ended.in_calls))
            .add_seconds("most_seconds_in_calls", to_nanoseconds(ended.most_in_calls));
    }
    return write_whole(world.options.trace + "/manifest.json", manifest.take());
}

} // namespace nodeaware::trace
