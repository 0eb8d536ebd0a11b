#include "tools/nodeaware/trace/printing.hpp"

#include <algorithm>
#include <cstdio>

namespace nodeaware::tool {

namespace {

using nlohmann::ordered_json;

constexpr size_t most_rows = 20;

std::string pair_of(const ordered_json& values) {
    return std::to_string(values[0].get<uint64_t>()) + " : " +
           std::to_string(values[1].get<uint64_t>());
}

std::string seconds_of(const ordered_json& values) {
    char text[64];
    std::snprintf(text, sizeof text, "%.6f : %.6f", values[0].get<double>(),
                  values[1].get<double>());
    return text;
}

void print_both_rows(const ordered_json& rows, const char* what, const char* heading) {
    if (rows.empty()) { return; }
    // What may be long comes last.
    std::printf("\n%19s %21s %27s %23s  %s\n", "calls", "messages", "bytes", "seconds", heading);
    for (size_t i = 0; i < std::min(rows.size(), most_rows); ++i) {
        const ordered_json& row = rows[i];
        std::printf("%19s %21s %27s %23s  %s\n", pair_of(row["calls"]).c_str(),
                    pair_of(row["messages"]).c_str(), pair_of(row["bytes"]).c_str(),
                    seconds_of(row["seconds"]).c_str(), row[what].get<std::string>().c_str());
    }
    if (rows.size() > most_rows) {
        std::printf("... and %zu more (--json)\n", rows.size() - most_rows);
    }
}

/// Of two observed runs there is nothing to say.
void print_ways(const ordered_json& ways) {
    const bool is_any = std::any_of(ways.begin(), ways.end(), [](const ordered_json& way) {
        return way["rerouted"][0] != 0 || way["rerouted"][1] != 0;
    });
    if (!is_any) { return; }
    std::printf("\n%-24s %19s %19s %21s %27s\n", "By the library", "calls", "rerouted",
                "messages sent", "bytes sent");
    for (const ordered_json& way : ways) {
        std::printf("%-24s %19s %19s %21s %27s\n", way["operation"].get<std::string>().c_str(),
                    pair_of(way["calls"]).c_str(), pair_of(way["rerouted"]).c_str(),
                    pair_of(way["sent_messages"]).c_str(), pair_of(way["sent_bytes"]).c_str());
    }
}

} // namespace

void complain(const Trace& trace) {
    constexpr size_t most = 8;
    for (size_t i = 0; i < std::min(trace.complaints.size(), most); ++i) {
        std::fprintf(stderr, "nodeaware: %s\n", trace.complaints[i].c_str());
    }
    if (trace.complaints.size() > most) {
        std::fprintf(stderr, "nodeaware: and %zu more\n", trace.complaints.size() - most);
    }
}

void print_json(const ordered_json& report) {
    std::printf("%s\n", report.dump(2, ' ', true, ordered_json::error_handler_t::replace).c_str());
}

void print_comparison(const ordered_json& report) {
    for (const ordered_json& line : report["verdict"]) {
        std::printf("%s\n", line.get<std::string>().c_str());
    }
    std::printf("\nBefore : after. Seconds are the mean of the ranks.\n");
    print_both_rows(report["operations"], "operation", "Operations, between nodes");
    print_both_rows(report["communicators"], "ranks", "Communicators of, between nodes");
    print_both_rows(report["sites"], "site", "Places in the program, all that is sent");
    print_ways(report["ways"]);
}

} // namespace nodeaware::tool
