#include "tools/fit/measurement_json.hpp"

#include "tuning/json_reader.hpp"

#include <algorithm>

namespace nodeaware::tuning {

namespace {

using nlohmann::ordered_json;

constexpr const char* format_name = "nodeaware-measurements";
constexpr int newest_version = 2;

ordered_json to_json(const std::vector<Point>& points) {
    ordered_json json = ordered_json::array();
    for (const Point& point : points) { json.push_back({point.bytes, point.seconds}); }
    return json;
}

std::vector<Point> read_points(JsonReader& reader, const std::string& key) {
    std::vector<Point> points;
    for (const auto& row : reader.rows(key, 2)) {
        if (row[1] <= 0) { reader.complain(key, "has a time that is not above 0"); }
        points.push_back({row[0], row[1]});
    }
    return points;
}

/// What version 1 could not say.
bool needs_version_2(const Measurements::Copies& copies) {
    return copies.direction == Direction::both || copies.host != HostMemory::pinned ||
           copies.in_a_row != 1;
}

ordered_json to_json(const Measurements::Copies& copies) {
    ordered_json json = {{"direction", name_of(copies.direction)},
                         {"same_socket", copies.same_socket},
                         {"processes", copies.processes}};
    if (copies.host != HostMemory::pinned) { json["host_memory"] = name_of(copies.host); }
    if (copies.in_a_row != 1) { json["in_a_row"] = copies.in_a_row; }
    json["points"] = to_json(copies.points);
    return json;
}

Measurements::Copies read_copies(JsonReader& reader, int version) {
    Measurements::Copies copies;
    constexpr Direction onto = Direction::host_to_device;
    constexpr Direction off = Direction::device_to_host;
    copies.direction = version == 1 ? reader.name("direction", {onto, off})
                                    : reader.name("direction", {onto, off, Direction::both});
    copies.same_socket = reader.boolean("same_socket");
    copies.processes = reader.integer("processes");
    copies.points = read_points(reader, "points");
    if (version > 1) {
        if (reader.has("host_memory")) {
            copies.host = reader.name("host_memory", {HostMemory::pinned, HostMemory::arena});
        }
        copies.in_a_row = reader.integer_or("in_a_row", 1);
        if (copies.in_a_row < 1) { reader.complain("in_a_row", "is below 1"); }
    }
    reader.expect_no_more();
    return copies;
}

/// Returns the version.
int check_head(JsonReader& reader) {
    if (const std::string format = reader.text("format"); format != format_name) {
        reader.complain("format", std::string("must be ") + format_name + ", is " + format);
    }
    const int version = reader.integer("version");
    if (version < 1 || version > newest_version) {
        reader.complain("version", "is " + std::to_string(version) + ", this library reads up to " +
                                       std::to_string(newest_version));
    }
    JsonReader units = reader.object("units");
    if (units.text("time") != "seconds") { units.complain("time", "must be seconds"); }
    if (units.text("size") != "bytes") { units.complain("size", "must be bytes"); }
    units.expect_no_more();
    return version;
}

} // namespace

std::string to_json_text(const Measurements& measurements) {
    const bool is_new =
        std::any_of(measurements.copies.begin(), measurements.copies.end(), needs_version_2);
    ordered_json json = {{"format", format_name},
                         {"version", is_new ? newest_version : 1},
                         {"units", {{"time", "seconds"}, {"size", "bytes"}}}};
    for (const auto& pair : measurements.pairs) {
        json["pairs"].push_back({{"memory", name_of(pair.memory)},
                                 {"locality", name_of(pair.locality)},
                                 {"points", to_json(pair.points)}});
    }
    for (const auto& copies : measurements.copies) { json["copies"].push_back(to_json(copies)); }
    for (const auto& sample : measurements.simultaneous) {
        json["simultaneous"][std::string(name_of(sample.memory))].push_back(
            {sample.processes, sample.bytes, sample.seconds});
    }
    for (const auto& row : measurements.in_a_row) {
        json["in_a_row"].push_back({row.messages, row.bytes, row.seconds});
    }
    if (!measurements.shared_copies.empty()) {
        json["shared_copies"] = to_json(measurements.shared_copies);
    }
    for (const double latency : measurements.flag_latencies) {
        json["flag_latencies"].push_back(ordered_json::array({latency}));
    }
    return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Measurements measurements_from_json(std::string_view text, const std::string& origin) {
    nlohmann::json parsed;
    try {
        parsed = nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        throw TableError(origin + ": not JSON, or cut off: " + error.what());
    }
    JsonReader reader(parsed, origin, "");
    const int version = check_head(reader);
    Measurements read;
    for (JsonReader& pair : reader.objects("pairs")) {
        const auto memory = pair.name("memory", {Memory::host, Memory::device});
        const auto locality =
            pair.name("locality", {Locality::socket, Locality::node, Locality::network});
        read.pairs.push_back({memory, locality, read_points(pair, "points")});
        pair.expect_no_more();
    }
    for (JsonReader& copies : reader.objects("copies")) {
        read.copies.push_back(read_copies(copies, version));
    }
    if (reader.has("simultaneous")) {
        JsonReader simultaneous = reader.object("simultaneous");
        for (const Memory memory : memories) {
            for (const auto& row : simultaneous.rows(std::string(name_of(memory)), 3)) {
                read.simultaneous.push_back({memory, row[0], row[1], row[2]});
            }
        }
        simultaneous.expect_no_more();
    }
    for (const auto& row : reader.rows("in_a_row", 3)) {
        read.in_a_row.push_back({row[0], row[1], row[2]});
    }
    read.shared_copies = read_points(reader, "shared_copies");
    for (const auto& row : reader.rows("flag_latencies", 1)) {
        read.flag_latencies.push_back(row[0]);
    }
    reader.expect_no_more();
    return read;
}

} // namespace nodeaware::tuning
