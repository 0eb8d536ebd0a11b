#include "tuning/table_file.hpp"

#include "tuning/json_reader.hpp"
#include "tuning/published_tables.hpp"
#include "tuning/text_file.hpp"

#include <algorithm>
#include <unistd.h>

namespace nodeaware::tuning {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* format_name = "nodeaware-model-table";
constexpr std::pair<const char*, const char*> units[] = {
    {"time", "seconds"}, {"size", "bytes"}, {"beta", "seconds/byte"}, {"rate", "bytes/second"}};

Postal read_postal(JsonReader& reader) {
    const Postal postal{reader.number("alpha"), reader.number("beta")};
    if (postal.alpha > 100) {
        reader.complain("alpha", "more than 100 seconds for a message: is the unit seconds?");
    }
    if (postal.beta > 1) {
        reader.complain("beta", "more than a second per byte: is the unit seconds/byte?");
    }
    return postal;
}

double read_gap(JsonReader& reader) {
    const double gap = reader.number("gap");
    if (gap > 100) {
        reader.complain("gap", "more than 100 seconds between messages: is the unit seconds?");
    }
    return gap;
}

/// Messages on a node have no gap: only the node's link has one.
Path read_path(JsonReader reader, Locality locality) {
    Path path;
    for (const Protocol protocol : protocols) {
        const std::string name(name_of(protocol));
        if (!reader.has(name)) { continue; }
        JsonReader parameters = reader.object(name);
        path.by_protocol[static_cast<size_t>(protocol)] = read_postal(parameters);
        if (locality == Locality::network && parameters.has("gap")) {
            path.gaps[static_cast<size_t>(protocol)] = read_gap(parameters);
        }
        parameters.expect_no_more();
    }
    path.short_limit = path.by_protocol[0] ? reader.number("short_limit") : 0;
    path.eager_limit = path.by_protocol[1] ? reader.number("eager_limit") : 0;
    if (path.by_protocol[0] && path.by_protocol[1] && path.eager_limit < path.short_limit) {
        reader.complain("eager_limit", "is below short_limit");
    }
    reader.expect_no_more();
    return path;
}

void read_paths(JsonReader reader, ModelTable& table) {
    for (const Memory memory : memories) {
        const std::string name(name_of(memory));
        if (!reader.has(name)) { continue; }
        JsonReader of_memory = reader.object(name);
        for (const Locality locality : localities) {
            const std::string where(name_of(locality));
            if (!of_memory.has(where)) { continue; }
            table.path(memory, locality) = read_path(of_memory.object(where), locality);
        }
        of_memory.expect_no_more();
    }
    reader.expect_no_more();
    if (!has_paths(table, Memory::host)) {
        reader.complain("host", "must have the paths node and network");
    }
}

/// 1/R_N: the papers give either the rate or its inverse.
double read_injection(JsonReader reader) {
    double inverse = 0;
    if (reader.has("bytes_per_second")) {
        const double rate = reader.number("bytes_per_second");
        if (rate < 1) { reader.complain("bytes_per_second", "is below one byte per second"); }
        inverse = 1 / rate;
    } else {
        inverse = reader.number("seconds_per_byte");
        if (inverse > 1) { reader.complain("seconds_per_byte", "is more than a second per byte"); }
    }
    reader.expect_no_more();
    return inverse;
}

/// What version 1 could not say.
bool needs_version_2(const Copy& copy) {
    return copy.direction == Direction::both || copy.host != HostMemory::pinned ||
           copy.next.has_value();
}

void read_version_2(JsonReader& reader, Copy& copy) {
    if (reader.has("host_memory")) {
        copy.host = reader.name("host_memory", {HostMemory::pinned, HostMemory::arena});
    }
    if (!reader.has("next")) { return; }
    copy.next = reader.number("next");
    if (*copy.next > 100) {
        reader.complain("next", "more than 100 seconds for a copy: is the unit seconds?");
    }
}

Copy read_copy(JsonReader reader, int version) {
    Copy copy;
    constexpr Direction onto = Direction::host_to_device;
    constexpr Direction off = Direction::device_to_host;
    copy.direction = version == 1 ? reader.name("direction", {onto, off})
                                  : reader.name("direction", {onto, off, Direction::both});
    copy.same_socket = reader.boolean("same_socket");
    copy.processes = reader.integer("processes");
    copy.postal = read_postal(reader);
    if (version > 1) { read_version_2(reader, copy); }
    reader.expect_no_more();
    return copy;
}

Network read_network(JsonReader reader) {
    Network network;
    network.stall_seconds = reader.number_or("stall_seconds", 0);
    network.flop_seconds = reader.number_or("flop_seconds", 0);
    for (JsonReader& link : reader.objects("links")) {
        Link read{link.text("name"), link.number("latency"), {}};
        if (link.has("pings")) { read.pings = link.object("pings").numbers(); }
        link.expect_no_more();
        network.links.push_back(std::move(read));
    }
    reader.expect_no_more();
    return network;
}

Fingerprint read_fingerprint(JsonReader reader) {
    Fingerprint print;
    print.mpi = reader.text_or_empty("mpi");
    print.mpi_version = reader.text_or_empty("mpi_version");
    print.host_model = reader.text_or_empty("host_model");
    print.nodes = reader.integer_or("nodes", 0);
    print.processes_per_node = reader.integer_or("processes_per_node", 0);
    print.processes_per_socket = reader.integer_or("processes_per_socket", 0);
    print.gpus_per_node = reader.integer_or("gpus_per_node", 0);
    print.date = reader.text_or_empty("date");
    print.library_version = reader.text_or_empty("library_version");
    // has() does not count as asking: an absent key is fine, a misspelt one is not.
    reader.expect_no_more();
    return print;
}

/// Returns the version.
int check_head(JsonReader& reader) {
    if (const std::string format = reader.text("format"); format != format_name) {
        reader.complain("format", "must be " + std::string(format_name) + ", is " + format);
    }
    const int version = reader.integer("version");
    if (version < 1 || version > table_version) {
        reader.complain("version", "is " + std::to_string(version) + ", this library reads up to " +
                                       std::to_string(table_version));
    }
    JsonReader stated = reader.object("units");
    for (const auto& [quantity, unit] : units) {
        if (const std::string found = stated.text(quantity); found != unit) {
            stated.complain(quantity, "must be " + std::string(unit) + ", is " + found);
        }
    }
    stated.expect_no_more();
    return version;
}

ordered_json to_json(const Postal& postal) {
    return {{"alpha", postal.alpha}, {"beta", postal.beta}};
}

ordered_json to_json(const Copy& copy) {
    ordered_json json = {{"direction", name_of(copy.direction)},
                         {"same_socket", copy.same_socket},
                         {"processes", copy.processes},
                         {"alpha", copy.postal.alpha},
                         {"beta", copy.postal.beta}};
    if (copy.host != HostMemory::pinned) { json["host_memory"] = name_of(copy.host); }
    if (copy.next) { json["next"] = *copy.next; }
    return json;
}

ordered_json to_json(const Path& path) {
    ordered_json json = ordered_json::object();
    if (path.by_protocol[0]) { json["short_limit"] = path.short_limit; }
    if (path.by_protocol[1]) { json["eager_limit"] = path.eager_limit; }
    for (const Protocol protocol : protocols) {
        if (const auto& parameters = path.by_protocol[static_cast<size_t>(protocol)]) {
            ordered_json& of_protocol = json[std::string(name_of(protocol))];
            of_protocol = to_json(*parameters);
            const auto& gap = path.gaps[static_cast<size_t>(protocol)];
            if (gap) { of_protocol["gap"] = *gap; }
        }
    }
    return json;
}

ordered_json to_json(const Fingerprint& print) {
    return {{"mpi", print.mpi},
            {"mpi_version", print.mpi_version},
            {"host_model", print.host_model},
            {"nodes", print.nodes},
            {"processes_per_node", print.processes_per_node},
            {"processes_per_socket", print.processes_per_socket},
            {"gpus_per_node", print.gpus_per_node},
            {"date", print.date},
            {"library_version", print.library_version}};
}

ordered_json to_json(const Network& network) {
    ordered_json json = {{"stall_seconds", network.stall_seconds},
                         {"flop_seconds", network.flop_seconds},
                         {"links", ordered_json::array()}};
    for (const Link& link : network.links) {
        json["links"].push_back(
            {{"name", link.name}, {"latency", link.latency}, {"pings", ordered_json(link.pings)}});
        if (link.pings.empty()) { json["links"].back().erase("pings"); }
    }
    return json;
}

ordered_json paths_to_json(const ModelTable& table) {
    ordered_json json = ordered_json::object();
    for (const Memory memory : memories) {
        for (const Locality locality : localities) {
            const Path& path = table.path(memory, locality);
            if (path.empty()) { continue; }
            json[std::string(name_of(memory))][std::string(name_of(locality))] = to_json(path);
        }
    }
    return json;
}

std::string read_file(const std::string& path) {
    try {
        return read_text_file(path);
    } catch (const FileError& error) {
        throw TableError(path + ": cannot be read: " + error.what());
    }
}

} // namespace

ModelTable parse_table(std::string_view text, const std::string& origin) {
    json parsed;
    try {
        parsed = json::parse(text);
    } catch (const json::parse_error& error) {
        throw TableError(origin + ": not JSON, or cut off: " + error.what());
    }
    JsonReader reader(parsed, origin, "");
    const int version = check_head(reader);
    ModelTable table;
    table.name = reader.text("name");
    table.description = reader.text_or_empty("description");
    table.sources = reader.texts("sources");
    table.notes = reader.texts("notes");
    if (reader.has("fingerprint")) {
        table.fingerprint = read_fingerprint(reader.object("fingerprint"));
    }
    read_paths(reader.object("paths"), table);
    if (reader.has("injection")) {
        JsonReader injection = reader.object("injection");
        for (const Memory memory : memories) {
            const std::string name(name_of(memory));
            if (!injection.has(name)) { continue; }
            table.inverse_injection_rate[static_cast<size_t>(memory)] =
                read_injection(injection.object(name));
        }
        injection.expect_no_more();
    }
    for (const JsonReader& copy : reader.objects("copies")) {
        table.copies.push_back(read_copy(copy, version));
    }
    if (reader.has("shared_memory")) {
        JsonReader shared = reader.object("shared_memory");
        table.shared_memory = {shared.number("copy_rate"), shared.number("flag_latency")};
        if (table.shared_memory->copy_rate <= 0) {
            shared.complain("copy_rate", "must be more than 0");
        }
        shared.expect_no_more();
    }
    if (reader.has("network")) { table.network = read_network(reader.object("network")); }
    reader.expect_no_more();
    return table;
}

std::string to_json_text(const ModelTable& table) {
    const bool is_new = std::any_of(table.copies.begin(), table.copies.end(), needs_version_2);
    ordered_json json = {{"format", format_name}, {"version", is_new ? table_version : 1}};
    for (const auto& [quantity, unit] : units) { json["units"][quantity] = unit; }
    json["name"] = table.name;
    json["description"] = table.description;
    json["sources"] = table.sources;
    json["notes"] = table.notes;
    json["fingerprint"] = to_json(table.fingerprint);
    json["paths"] = paths_to_json(table);
    for (const Memory memory : memories) {
        const double inverse = table.inverse_injection_rate[static_cast<size_t>(memory)];
        if (inverse > 0) {
            json["injection"][std::string(name_of(memory))]["seconds_per_byte"] = inverse;
        }
    }
    for (const Copy& copy : table.copies) { json["copies"].push_back(to_json(copy)); }
    if (table.shared_memory) {
        json["shared_memory"] = {{"copy_rate", table.shared_memory->copy_rate},
                                 {"flag_latency", table.shared_memory->flag_latency}};
    }
    if (table.network) { json["network"] = to_json(*table.network); }
    return json.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

ModelTable read_table(const std::string& path) { return parse_table(read_file(path), path); }

std::vector<std::string> published_table_names() {
    std::vector<std::string> names;
    for (const PublishedTable& table : published_tables()) { names.emplace_back(table.name); }
    std::sort(names.begin(), names.end());
    return names;
}

ModelTable find_table(const std::string& name_or_path) {
    for (const PublishedTable& table : published_tables()) {
        if (table.name == name_or_path) {
            return parse_table(table.text, "published table " + name_or_path);
        }
    }
    if (name_or_path.find('/') == std::string::npos && !name_or_path.ends_with(".json") &&
        access(name_or_path.c_str(), R_OK) != 0) {
        std::string names;
        for (const std::string& name : published_table_names()) { names += " " + name; }
        throw TableError(name_or_path + ": neither a file nor a published model table; those are" +
                         names);
    }
    return read_table(name_or_path);
}

LoadedTable find_table_or_default(const std::string& name_or_path) {
    const std::string by_default(default_table_name);
    if (name_or_path.empty()) { return {find_table(by_default), ""}; }
    try {
        return {find_table(name_or_path), ""};
    } catch (const TableError& error) {
        return {find_table(by_default),
                std::string(error.what()) + " (the table " + by_default + " is used instead)"};
    }
}

} // namespace nodeaware::tuning
