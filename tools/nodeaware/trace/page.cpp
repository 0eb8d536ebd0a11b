#include "tools/nodeaware/trace/page.hpp"

#include "tools/models/markup.hpp"
#include "tools/nodeaware/page/page_html.hpp"
#include "tools/nodeaware/trace/heat_map.hpp"
#include "tools/nodeaware/trace/page_timeline.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace nodeaware::tool {

namespace {

using nlohmann::ordered_json;

// So that the page has less than 1 MB.
constexpr size_t most_rows = 400;                   ///< of a table
constexpr size_t most_of_ranks = size_t{300} << 10; ///< bytes of their heat map
constexpr size_t most_of_nodes = size_t{150} << 10;

/// The page with texts where their names are, as @@NAME@@.
std::string filled(std::string_view page, const std::map<std::string_view, std::string>& texts) {
    constexpr std::string_view mark = "@@";
    std::string result;
    for (size_t begin = page.find(mark); begin != std::string_view::npos; begin = page.find(mark)) {
        const size_t end = page.find(mark, begin + mark.size());
        const std::string_view name = page.substr(begin + mark.size(), end - begin - mark.size());
        result += page.substr(0, begin);
        result += texts.at(name);
        page.remove_prefix(end + mark.size());
    }
    return result.append(page);
}

/// JSON that nothing in it can end: `<` is in texts only.
std::string as_script(const ordered_json& data) {
    const std::string json = data.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
    std::string result;
    for (const char letter : json) {
        if (letter == '<') {
            result += "\\u003c";
        } else {
            result += letter;
        }
    }
    return result;
}

struct Sum {
    uint64_t calls = 0;
    uint64_t messages = 0;
    uint64_t bytes = 0;
    double seconds = 0;
};

/// Time and traffic of each function, most seconds first.
ordered_json functions_of(const Trace& trace) {
    std::map<std::string, Sum> sums;
    for (const RankTrace& rank : trace.ranks) {
        for (const TracedSite& site : rank.sites) {
            Sum& sum = sums[site.function];
            sum.calls += site.calls;
            sum.messages += site.messages;
            sum.bytes += site.bytes;
            sum.seconds += site.seconds;
        }
    }
    std::vector<std::pair<std::string, Sum>> list(sums.begin(), sums.end());
    std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
        return a.second.seconds > b.second.seconds;
    });
    ordered_json rows = ordered_json::array();
    for (const auto& [function, sum] : list) {
        rows.push_back({{"function", function},
                        {"calls", sum.calls},
                        {"messages", sum.messages},
                        {"bytes", sum.bytes},
                        {"seconds", sum.seconds}});
    }
    return rows;
}

/// How the calls of each operation travelled, sums of the ranks.
ordered_json ways_of(const Trace& trace) {
    std::map<std::tuple<std::string, std::string, std::string>, Sum> sums;
    for (const RankTrace& rank : trace.ranks) {
        for (const TracedWay& way : rank.ways) {
            Sum& sum = sums[{way.operation, way.strategy, way.reason}];
            sum.calls += way.calls;
            sum.messages += way.sent_messages;
            sum.bytes += way.sent_bytes;
        }
    }
    ordered_json rows = ordered_json::array();
    for (const auto& [way, sum] : sums) {
        const auto& [operation, strategy, reason] = way;
        rows.push_back({{"operation", operation},
                        {"strategy", strategy},
                        {"reason", reason},
                        {"calls", sum.calls},
                        {"sent_messages", sum.messages},
                        {"sent_bytes", sum.bytes}});
    }
    return rows;
}

/// Runs of ranks of a node: [node, host, first, last].
ordered_json places_of(const Trace& trace, const std::vector<int>& nodes) {
    std::vector<std::string> hosts(nodes.size());
    for (const RankTrace& rank : trace.ranks) { hosts[static_cast<size_t>(rank.rank)] = rank.host; }
    ordered_json rows = ordered_json::array();
    for (size_t rank = 0; rank < nodes.size(); ++rank) {
        const bool goes_on =
            rank > 0 && nodes[rank] == nodes[rank - 1] && hosts[rank] == hosts[rank - 1];
        if (goes_on) {
            rows.back()[3] = rank;
        } else {
            rows.push_back({nodes[rank], hosts[rank], rank, rank});
        }
    }
    return rows;
}

/// Long tables have their first rows, and `left_out` says how many more there are.
void cut(ordered_json& data, const char* name) {
    const size_t size = data[name].size();
    data["left_out"][name] = size - std::min(size, most_rows);
    ordered_json& rows = data[name];
    if (size > most_rows) { rows.erase(rows.begin() + most_rows, rows.end()); }
}

ordered_json settings_of(const Trace& trace) {
    ordered_json settings = ordered_json::array();
    for (const auto& [name, value] : trace.settings) { settings.push_back({name, value}); }
    return settings;
}

ordered_json data_of(const Trace& trace, const std::vector<int>& nodes,
                     const ordered_json& report) {
    const HeatMaps maps = heat_maps_of(trace, nodes);
    ordered_json data = {{"report", report},
                         {"folder", trace.folder},
                         {"job", trace.job},
                         {"model_asked_for", trace.model},
                         {"observes", trace.observes},
                         {"nodes_are_virtual", trace.nodes_are_virtual},
                         {"settings", settings_of(trace)},
                         {"places", places_of(trace, nodes)},
                         {"functions", functions_of(trace)},
                         {"ways", ways_of(trace)},
                         {"heat_maps",
                          {{"ranks", maps.ranks.to_json(most_of_ranks)},
                           {"nodes", maps.nodes.to_json(most_of_nodes)}}},
                         {"timeline", PageTimeline(trace).to_json()},
                         {"left_out", ordered_json::object()}};
    for (const char* const name : {"places", "functions", "ways"}) { cut(data, name); }
    for (const char* const name : {"communicators", "sites", "collectives", "complaints"}) {
        cut(data["report"], name);
    }
    return data;
}

} // namespace

std::string page_of(const Trace& trace, const std::vector<int>& nodes, const ordered_json& report) {
    std::string verdict;
    for (const ordered_json& line : report["verdict"]) {
        verdict += "<p>" + escaped(line.get<std::string>()) + "</p>\n";
    }
    return filled(page_html, {{"data", as_script(data_of(trace, nodes, report))},
                              {"verdict", verdict},
                              {"title", escaped(trace.folder)}});
}

} // namespace nodeaware::tool
