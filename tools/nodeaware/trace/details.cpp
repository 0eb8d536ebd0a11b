#include "tools/nodeaware/trace/line.hpp"

#include <algorithm>

namespace nodeaware::tool {

namespace {

using nlohmann::json;

TracedWay read_way(const Line& line) {
    return {line.text("operation"), line.text("strategy"),       line.text("reason"),
            line.count("calls"),    line.count("sent_messages"), line.count("sent_bytes")};
}

/// Functions are literals of the library: there are few.
size_t number_of(const Line& line, const std::string& function,
                 std::vector<std::string>& functions) {
    constexpr size_t most = 1024;
    const auto known = std::find(functions.begin(), functions.end(), function);
    const auto number = static_cast<size_t>(known - functions.begin());
    if (known != functions.end()) { return number; }
    if (functions.size() == most) { line.complain("events: expected functions of MPI"); }
    functions.push_back(function);
    return number;
}

bool is_event(const json& row) {
    return row.is_array() && row.size() == 5 && row[0].is_number() && row[1].is_number() &&
           row[2].is_string() && row[3].is_number_integer() && row[4].is_number_unsigned();
}

TracedEvent read_event(const Line& line, const json& row, RankTrace& rank) {
    if (!is_event(row)) {
        line.complain("events: expected rows of begin, end, function, communicator and bytes");
    }
    TracedEvent event;
    event.begin = row[0].get<double>();
    event.end = row[1].get<double>();
    event.function = number_of(line, row[2].get<std::string>(), rank.functions);
    event.communicator = row[3].get<int>();
    event.bytes = row[4].get<uint64_t>();
    if (event.begin < 0 || event.end < event.begin) {
        line.complain("events: expected an end that is not before the begin");
    }
    const auto communicators = static_cast<int>(rank.communicators.size());
    if (event.communicator < -1 || event.communicator >= communicators) {
        line.complain("events: expected communicators of the lines before");
    }
    return event;
}

int size_of(const RankTrace& rank, int communicator) {
    return communicator < 0 ? 0 : rank.communicators[static_cast<size_t>(communicator)].size;
}

void read_events(const Line& line, RankTrace& rank) {
    const json& rows = line.list("events");
    const std::vector<int> peers = line.has("peers") ? line.integers("peers") : std::vector<int>();
    if (!peers.empty() && peers.size() != rows.size()) {
        line.complain("peers: expected one for each event");
    }
    for (size_t i = 0; i < rows.size(); ++i) {
        TracedEvent event = read_event(line, rows[i], rank);
        if (!peers.empty()) { event.peer = peers[i]; }
        if (event.peer != -1 &&
            (event.peer < 0 || event.peer >= size_of(rank, event.communicator))) {
            line.complain("peers: expected ranks of the communicator");
        }
        rank.events.push_back(event);
    }
}

} // namespace

void read_detail(const Line& line, const std::string& type, RankTrace& rank) {
    if (type == "way") {
        rank.ways.push_back(read_way(line));
    } else if (type == "note") {
        rank.notes[line.text("text")] += line.count("value");
    } else if (type == "module") {
        rank.build_ids[line.text("file")] = line.text("build_id");
    } else if (type == "events" && rank.has_timeline) {
        read_events(line, rank);
    }
}

std::vector<int> read_firsts(const Line& line, const char* name, size_t blocks) {
    std::vector<int> firsts = line.integers(name);
    const bool is_right =
        firsts.size() == blocks && std::all_of(firsts.begin(), firsts.end(), [blocks](int first) {
            return first >= 0 && static_cast<size_t>(first) < blocks;
        });
    if (!is_right) {
        line.complain(std::string(name) + ": expected one of the blocks for each of them");
    }
    return firsts;
}

void read_clock(const Line& line, RankTrace& rank) {
    rank.host = line.text("host");
    if (line.has("clock")) { rank.clock = line.seconds("clock"); }
}

} // namespace nodeaware::tool
