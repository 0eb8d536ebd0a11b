#include "runtime/trace/manifest.hpp"

#include "runtime/job/model.hpp"
#include "runtime/job/versions.hpp"
#include "runtime/trace/file.hpp"
#include "runtime/trace/text.hpp"
#include "tuning/text_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>

namespace nodeaware::trace {

namespace {

using nlohmann::ordered_json;

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

/// Of "NAME=VALUE" in each line.
ordered_json settings_of(std::string_view text) {
    ordered_json settings = ordered_json::object();
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const size_t equals = line.find('=');
        if (equals == std::string_view::npos || equals + 1 == line.size()) { continue; }
        settings[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    }
    return settings;
}

} // namespace

int write_manifest(const World& world, const std::string& job, const Ended& ended) {
    ordered_json manifest = {{"format", "nodeaware trace"},
                             {"version", format_version},
                             {"job", job},
                             {"library", library_version()},
                             {"mpi", mpi_version()},
                             {"begin", time_of_begin()},
                             {"observes", world.options.observes},
                             {"ranks", world.size},
                             {"machines", world.machines},
                             {"region", name_of(world.options.region)},
                             {"nodes_are_virtual", !world.options.ppn.empty()},
                             {"nodes", world.node_of},
                             {"threads_at_once", world.threads_at_once},
                             {"file_ending", file_ending()},
                             {"model", wanted_table(world.options)},
                             {"settings", settings_of(world.settings)},
                             {"complete", ended.is_complete}};
    if (ended.is_complete) {
        manifest["wall"] = ended.wall;
        manifest["seconds_in_calls"] = ended.in_calls;
        manifest["most_seconds_in_calls"] = ended.most_in_calls;
    }
    const std::string text =
        manifest.dump(-1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
    return tuning::write_whole(world.options.trace + "/manifest.json", text);
}

} // namespace nodeaware::trace
