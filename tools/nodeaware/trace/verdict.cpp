#include "tools/nodeaware/trace/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nodeaware::tool {

namespace {

using nlohmann::ordered_json;

constexpr double little_time = 0.01; ///< a part of the time that is not worth a thought
constexpr double little_part = 0.01; ///< of the bytes
constexpr double little_gain = 1.1;  ///< models are not better than that

double gain_of(double native, double best) { return best > 0 ? native / best : 1; }
double best_gain(const TraceForecast& forecast) {
    return gain_of(forecast.native, forecast.strategies.front().seconds);
}
double best_gain(const MessagesForecast& forecast) {
    return gain_of(forecast.native, forecast.gathered);
}

double share_of(const TraceAnalysis& analysis, Purpose purpose) {
    return analysis.shares[static_cast<size_t>(purpose)];
}

/// Also where nothing can be said of them.
bool may_gain(const TraceAnalysis& analysis, const TraceForecast& forecast) {
    const bool has_exchanges = analysis.collective_between_nodes.messages > 0;
    const bool has_messages = analysis.messages_between_nodes.messages > 0;
    return (has_exchanges && (forecast.calls == 0 || best_gain(forecast) >= little_gain)) ||
           (has_messages && best_gain(forecast.messages) >= little_gain);
}

/// The first reason why nothing is to be gained; empty: there is none.
std::string why_no_gain(const TraceAnalysis& analysis, const TraceForecast& forecast) {
    if (analysis.nodes < 2) { return "all ranks are on one node"; }
    if (analysis.most_ranks_on_a_node < 2) {
        return "there is one rank on each node, so there is nothing to gather";
    }
    if (analysis.between_nodes().messages == 0) {
        return "no messages between nodes were recorded, by functions that the library serves";
    }
    const double share =
        share_of(analysis, Purpose::exchange) + share_of(analysis, Purpose::message);
    if (share < little_time) {
        return fmt::format("exchanges and messages take {:.2g} % of the time", 100 * share);
    }
    if (!may_gain(analysis, forecast)) {
        return "every message by itself is thought to be as fast as any strategy";
    }
    return "";
}

std::string gain_of_exchanges(const TraceAnalysis& analysis, const TraceForecast& forecast) {
    if (forecast.calls == 0) {
        return "Nothing is predicted for collective exchanges: none between nodes could be put "
               "together from all ranks.";
    }
    const double share = 100 * share_of(analysis, Purpose::exchange);
    if (best_gain(forecast) < little_gain) {
        return fmt::format(
            "No gain expected from the collective exchanges, which take {:.2g} % of the "
            "time: every message by itself is thought to be as fast.",
            share);
    }
    return fmt::format(
        "{} is predicted to make the collective exchanges {:.1f} times as fast; they take "
        "{:.2g} % of the time.",
        forecast.strategies.front().strategy, best_gain(forecast), share);
}

std::string gain_of_messages(const TraceAnalysis& analysis, const TraceForecast& forecast) {
    const double share = 100 * share_of(analysis, Purpose::message);
    if (best_gain(forecast.messages) < little_gain) {
        return fmt::format(
            "No gain expected from the messages from point to point, which take {:.2g} % "
            "of the time with waiting: each by itself is thought to be as fast.",
            share);
    }
    return fmt::format(
        "Messages from point to point between nodes are predicted to be {:.1f} times as "
        "fast when gathered, if those that are sent equally often go together; with "
        "waiting they take {:.2g} % of the time.",
        best_gain(forecast.messages), share);
}

std::vector<std::string> gains(const TraceAnalysis& analysis, const TraceForecast& forecast) {
    const std::string obstacle = why_no_gain(analysis, forecast);
    if (!obstacle.empty()) { return {"No gain expected, because " + obstacle + "."}; }
    std::vector<std::string> text;
    if (analysis.collective_between_nodes.messages > 0) {
        text.push_back(gain_of_exchanges(analysis, forecast));
    }
    if (analysis.messages_between_nodes.messages > 0) {
        text.push_back(gain_of_messages(analysis, forecast));
    }
    return text;
}

/// Of the messages between nodes those of less than 1 KiB.
double small_part(const TraceAnalysis& analysis) {
    constexpr size_t first_large = 11; // the class of 1024 bytes
    uint64_t small = 0;
    for (size_t i = 0; i < first_large; ++i) {
        small += analysis.between_nodes_by_size[i].messages;
    }
    const uint64_t all = analysis.between_nodes().messages;
    return all == 0 ? 0 : static_cast<double>(small) / static_cast<double>(all);
}

std::string nodes_text(const Trace& trace, const TraceAnalysis& analysis) {
    return std::string(trace.nodes_are_virtual ? "virtual " : "") +
           (analysis.nodes == 1 ? "node" : "nodes");
}

void add_repeated(const TraceAnalysis& analysis, std::vector<std::string>& text) {
    if (analysis.between_nodes().bytes == 0) { return; }
    const auto all = static_cast<double>(analysis.between_nodes().bytes);
    const double repeated = static_cast<double>(analysis.repeated_between_nodes) / all;
    const double equal = static_cast<double>(analysis.equal_between_nodes) / all;
    if (repeated > 0) {
        text.push_back(fmt::format("{:.2g} % of the bytes between nodes are the same bytes sent to "
                                   "several ranks of a node.",
                                   100 * repeated));
    }
    if (equal >= little_part) {
        text.push_back(fmt::format(
            "{}{:.0f} % of the bytes between nodes go to several ranks of a node with equal values "
            "from different places in memory, as hashes of samples tell.",
            repeated > 0 ? "Another " : "", 100 * equal));
    }
}

ordered_json places_of(const std::vector<SourcePlace>& places) {
    ordered_json list = ordered_json::array();
    for (const SourcePlace& place : places) {
        ordered_json entry = {{"function", place.function}};
        if (!place.file.empty()) {
            entry["file"] = place.file;
            entry["line"] = place.line;
        }
        list.push_back(std::move(entry));
    }
    return list;
}

ordered_json rows_of(const std::vector<TraceAnalysis::Row>& rows, const char* name) {
    ordered_json list = ordered_json::array();
    for (const TraceAnalysis::Row& row : rows) {
        list.push_back({{name, row.what},
                        {"calls", row.calls},
                        {"messages", row.messages},
                        {"bytes", row.bytes},
                        {"seconds", row.seconds}});
        if (!row.addresses.empty()) { list.back()["addresses"] = row.addresses; }
        if (!row.places.empty()) { list.back()["places"] = places_of(row.places); }
    }
    return list;
}

ordered_json sums_of(const MessageSums& sums) {
    return {{"messages", sums.messages}, {"bytes", sums.bytes}};
}

ordered_json sizes_of(const TraceAnalysis& analysis) {
    ordered_json list = ordered_json::array();
    for (size_t i = 1; i < analysis.between_nodes_by_size.size(); ++i) {
        const MessageSums& sums = analysis.between_nodes_by_size[i];
        if (sums.messages == 0) { continue; }
        list.push_back(
            {{"from", uint64_t{1} << (i - 1)}, {"messages", sums.messages}, {"bytes", sums.bytes}});
    }
    return list;
}

ordered_json forecast_json(const TraceForecast& forecast, const std::string& table) {
    ordered_json json = {{"model", table},
                         {"calls", forecast.calls},
                         {"measured_seconds", forecast.measured},
                         {"native_seconds", forecast.native},
                         {"left_out", forecast.left_out},
                         {"strategies", ordered_json::array()}};
    for (const auto& row : forecast.strategies) {
        ordered_json entry = {{"strategy", row.strategy}, {"seconds", row.seconds}};
        if (row.seconds > 0) { entry["times_native"] = forecast.native / row.seconds; }
        json["strategies"].push_back(std::move(entry));
    }
    json["messages"] = {{"native_seconds", forecast.messages.native},
                        {"gathered_seconds", forecast.messages.gathered},
                        {"left_out", forecast.messages.left_out}};
    return json;
}

} // namespace

std::vector<std::string> verdict(const Trace& trace, const TraceAnalysis& analysis,
                                 const TraceForecast& forecast) {
    std::vector<std::string> text = gains(analysis, forecast);
    const auto percent = [&](Purpose purpose) { return 100 * share_of(analysis, purpose); };
    const MessageSums between = analysis.between_nodes();
    if (between.messages > 0) {
        text.push_back(
            fmt::format("{:.0f} % of {} messages between nodes are below 1 KiB; {} of them go from "
                        "point to point.",
                        100 * small_part(analysis), between.messages,
                        analysis.messages_between_nodes.messages));
    }
    add_repeated(analysis, text);
    text.push_back(
        fmt::format("{} ranks on {} {} ran for {:.3g} s, of which {:.2g} % were spent in "
                    "exchanges, {:.2g} % in messages from point to point and in waiting, "
                    "{:.2g} % in other collectives, and {:.2g} % in functions on files.",
                    trace.nodes.size(), analysis.nodes, nodes_text(trace, analysis).c_str(),
                    analysis.wall, percent(Purpose::exchange), percent(Purpose::message),
                    percent(Purpose::other), percent(Purpose::file)));
    if (!trace.observes) {
        text.emplace_back("The times are those with the library at work; NODEAWARE_MODE=observe "
                          "records those without it.");
    }
    if (!trace.is_complete) {
        text.emplace_back("The job did not come to its end: what follows is what it had recorded.");
    }
    const bool is_cut = std::any_of(trace.ranks.begin(), trace.ranks.end(),
                                    [](const RankTrace& rank) { return rank.is_cut; });
    if (is_cut) {
        text.emplace_back("Some of it had no room in the trace, and is missing in what follows.");
    }
    if (!trace.complaints.empty()) {
        text.push_back(
            fmt::format("{} of {} ranks could not be read and are missing in what follows.",
                        trace.complaints.size(), trace.nodes.size()));
    }
    return text;
}

/// `auto` finds what is best by itself, among what may gain.
std::string recommended_config(const Trace& trace, const TraceAnalysis& analysis,
                               const TraceForecast& forecast) {
    std::string text = "# By nodeaware analyze, of a trace of " +
                       std::to_string(trace.nodes.size()) + " ranks on " +
                       std::to_string(analysis.nodes) + " " + nodes_text(trace, analysis) + "\n";
    for (const std::string& line : verdict(trace, analysis, forecast)) {
        text += "# " + line + "\n";
    }
    if (!why_no_gain(analysis, forecast).empty()) { return text + "DISABLE = 1\n"; }
    text += "STRATEGY = auto";
    const bool messages_gain = analysis.messages_between_nodes.messages == 0 ||
                               best_gain(forecast.messages) >= little_gain;
    if (!messages_gain) { text += ",p2p:native"; }
    return text + "\n";
}

ordered_json to_json(const Trace& trace, const TraceAnalysis& analysis,
                     const TraceForecast& forecast, const std::string& table) {
    const auto extreme = [](const TraceAnalysis::Extreme& of) {
        return ordered_json{{"rank", of.rank}, {"seconds", of.seconds}};
    };
    return {{"verdict", verdict(trace, analysis, forecast)},
            {"complaints", trace.complaints},
            {"library", trace.library},
            {"mpi", trace.mpi},
            {"begin", trace.begin},
            {"complete", trace.is_complete},
            {"ranks", trace.nodes.size()},
            {"ranks_read", trace.ranks.size()},
            {"nodes", analysis.nodes},
            {"wall", analysis.wall},
            {"shares",
             {{"exchanges", analysis.shares[0]},
              {"messages", analysis.shares[1]},
              {"other_collectives", analysis.shares[2]},
              {"files", analysis.shares[3]}}},
            {"seconds_in_calls",
             {{"least", extreme(analysis.least_in_calls)},
              {"mean", analysis.mean_in_calls},
              {"most", extreme(analysis.most_in_calls)}}},
            {"between_nodes",
             {{"collective", sums_of(analysis.collective_between_nodes)},
              {"point_to_point", sums_of(analysis.messages_between_nodes)},
              {"repeated_bytes", analysis.repeated_between_nodes},
              {"equal_bytes", analysis.equal_between_nodes},
              {"sizes", sizes_of(analysis)}}},
            {"within_nodes", sums_of(analysis.within_nodes)},
            {"receives", analysis.receives},
            {"from_any_source", analysis.from_any_source},
            {"communicators", rows_of(analysis.communicators, "ranks")},
            {"sites", rows_of(analysis.sites, "site")},
            {"forecast", forecast_json(forecast, table)}};
}

} // namespace nodeaware::tool
