#include "tools/fit/measurement_json.hpp"

#include "tuning/json_reader.hpp"

namespace nodeaware::tuning {

namespace {

using nlohmann::ordered_json;

constexpr const char* format_name = "nodeaware-measurements";
constexpr int format_version = 1;

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

/// The value whose name_of() is the text of `key`.
template <class Value>
Value read_name(JsonReader& reader, const std::string& key, std::initializer_list<Value> values) {
    const std::string name = reader.text(key);
    std::string names;
    for (const Value value : values) {
        if (name_of(value) == name) { return value; }
        names += " " + std::string(name_of(value));
    }
    reader.complain(key, "is " + name + ", must be one of" + names);
}

void check_head(JsonReader& reader) {
    if (const std::string format = reader.text("format"); format != format_name) {
        reader.complain("format", std::string("must be ") + format_name + ", is " + format);
    }
    if (const int version = reader.integer("version"); version != format_version) {
        reader.complain("version", "is " + std::to_string(version) + ", this library reads " +
                                       std::to_string(format_version));
    }
    JsonReader units = reader.object("units");
    if (units.text("time") != "seconds") { units.complain("time", "must be seconds"); }
    if (units.text("size") != "bytes") { units.complain("size", "must be bytes"); }
    units.expect_no_more();
}

} // namespace

std::string to_json_text(const Measurements& measurements) {
    ordered_json json = {{"format", format_name},
                         {"version", format_version},
                         {"units", {{"time", "seconds"}, {"size", "bytes"}}}};
    for (const auto& pair : measurements.pairs) {
        json["pairs"].push_back({{"memory", name_of(pair.memory)},
                                 {"locality", name_of(pair.locality)},
                                 {"points", to_json(pair.points)}});
    }
    for (const auto& copies : measurements.copies) {
        json["copies"].push_back({{"direction", name_of(copies.direction)},
                                  {"same_socket", copies.same_socket},
                                  {"processes", copies.processes},
                                  {"points", to_json(copies.points)}});
    }
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
    return json.dump(1) + "\n";
}

Measurements measurements_from_json(std::string_view text, const std::string& origin) {
    nlohmann::json parsed;
    try {
        parsed = nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        throw TableError(origin + ": not JSON, or cut off: " + error.what());
    }
    JsonReader reader(parsed, origin, "");
    check_head(reader);
    Measurements read;
    for (JsonReader& pair : reader.objects("pairs")) {
        const auto memory = read_name(pair, "memory", {Memory::host, Memory::device});
        const auto locality =
            read_name(pair, "locality", {Locality::socket, Locality::node, Locality::network});
        read.pairs.push_back({memory, locality, read_points(pair, "points")});
        pair.expect_no_more();
    }
    for (JsonReader& copies : reader.objects("copies")) {
        const auto direction =
            read_name(copies, "direction", {Direction::host_to_device, Direction::device_to_host});
        const bool same_socket = copies.boolean("same_socket");
        const int processes = copies.integer("processes");
        read.copies.push_back({direction, same_socket, processes, read_points(copies, "points")});
        copies.expect_no_more();
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
