#include "runtime/report/facts.hpp"

#include <nlohmann/json.hpp>

namespace nodeaware::report {

namespace {

using nlohmann::ordered_json;

std::string dumped(const ordered_json& json, int indent) {
    return json.dump(indent, ' ', true, ordered_json::error_handler_t::replace);
}

ordered_json to_json(const CommunicatorRow& row) {
    ordered_json ways = ordered_json::object();
    for (const auto& [strategy, calls] : row.ways) { ways[strategy] = calls; }
    return {{"name", row.name},
            {"ranks", row.ranks},
            {"communicators", row.communicators},
            {"exchanges", row.exchanges},
            {"messages", row.messages},
            {"seconds", row.seconds},
            {"ways", std::move(ways)}};
}

ordered_json operations_of(const Counted& counted) {
    ordered_json list = ordered_json::array();
    for (size_t i = 0; i < operation_count; ++i) {
        const Counted::Row& row = counted.operations[i];
        if (row[Counted::native] + row[Counted::rerouted] == 0) { continue; }
        list.push_back({{"operation", operation_names[i]},
                        {"native", row[Counted::native]},
                        {"rerouted", row[Counted::rerouted]},
                        {"built", row[Counted::built]},
                        {"bytes", row[Counted::bytes]},
                        {"messages_before", row[Counted::node_messages]},
                        {"messages_after", row[Counted::sent_messages]},
                        {"bytes_before", row[Counted::node_bytes]},
                        {"bytes_after", row[Counted::sent_bytes]},
                        {"seconds", static_cast<double>(row[Counted::nanoseconds]) * 1e-9}});
    }
    return list;
}

ordered_json devices_of(const Counted& counted) {
    ordered_json devices = ordered_json::object();
    for (size_t i = 0; i < Counted::device_uses.size(); ++i) {
        const auto& values = counted.devices[i];
        devices[std::string(Counted::device_uses[i])] = {
            {"to_host", values[0]}, {"to_device", values[1]}, {"within", values[2]},
            {"copies", values[3]},  {"unpinned", values[4]},  {"straight", values[5]},
            {"kernels", values[6]}};
    }
    return devices;
}

/// Shares are of the wall time of all ranks.
void add_times(ordered_json& report, const Facts& facts) {
    ordered_json& seconds = report["seconds"] = ordered_json::object();
    ordered_json& shares = report["shares"] = ordered_json::object();
    const double wall = facts.times[Times::wall].mean;
    for (size_t i = 0; i < facts.times.size(); ++i) {
        const Spread& spread = facts.times[i];
        const std::string name(names_of_times[i]);
        seconds[name] = {{"least", spread.least},
                         {"least_rank", spread.least_rank},
                         {"mean", spread.mean},
                         {"most", spread.most},
                         {"most_rank", spread.most_rank}};
        if (i != Times::wall) { shares[name] = wall > 0 ? spread.mean / wall : 0; }
    }
    ordered_json& rows = report["communicators"] = ordered_json::array();
    for (const CommunicatorRow& row : facts.communicators) { rows.push_back(to_json(row)); }
}

} // namespace

std::string json_of(const Facts& facts) {
    ordered_json report = {{"format", "nodeaware report"},
                           {"version", 1},
                           {"library", facts.library},
                           {"mpi", facts.mpi},
                           {"model", facts.model},
                           {"ranks", facts.ranks},
                           {"nodes", facts.nodes},
                           {"machines", facts.machines},
                           {"nodes_are_virtual", facts.nodes_are_virtual},
                           {"observes", facts.observes},
                           {"end", facts.end},
                           {"complete", facts.only_rank < 0}};
    if (facts.only_rank >= 0) { report["rank"] = facts.only_rank; }
    report["operations"] = operations_of(facts.counted);
    ordered_json& by = report["rerouted_by"] = ordered_json::object();
    for (size_t i = 0; i < facts.strategies.size(); ++i) {
        const uint64_t calls = facts.counted.by_strategy[i];
        if (calls > 0) { by[std::string(facts.strategies[i])] = calls; }
    }
    ordered_json& left = report["left_to_mpi"] = ordered_json::object();
    for (size_t i = 1; i < reason_count; ++i) {
        const uint64_t calls = facts.counted.reasons[i];
        if (calls > 0) { left[std::string(reason_texts[i])] = calls; }
    }
    report["learning"] = {
        {"calls", facts.counted.measured_calls},
        {"seconds", static_cast<double>(facts.counted.learning_nanoseconds) * 1e-9}};
    report["devices"] = devices_of(facts.counted);
    ordered_json& notes = report["notes"] = ordered_json::object();
    for (const Report::Note& note : facts.notes) { notes[std::string(note.text)] = note.value; }
    if (facts.has_times) { add_times(report, facts); }
    return dumped(report, 2) + "\n";
}

std::string packed(const std::vector<CommunicatorRow>& rows) {
    try {
        ordered_json list = ordered_json::array();
        for (const CommunicatorRow& row : rows) { list.push_back(to_json(row)); }
        return rows.empty() ? "" : dumped(list, -1);
    } catch (const std::exception&) { return ""; }
}

std::vector<CommunicatorRow> unpacked(std::string_view bytes) {
    std::vector<CommunicatorRow> rows;
    if (bytes.empty()) { return rows; }
    for (const ordered_json& row : ordered_json::parse(bytes)) {
        CommunicatorRow& added = rows.emplace_back();
        added.name = row["name"];
        added.ranks = row["ranks"];
        added.communicators = row["communicators"];
        added.exchanges = row["exchanges"];
        added.messages = row["messages"];
        added.seconds = row["seconds"];
        for (const auto& [strategy, calls] : row["ways"].items()) {
            added.ways.emplace_back(strategy, calls);
        }
    }
    return rows;
}

} // namespace nodeaware::report
