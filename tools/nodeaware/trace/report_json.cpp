#include "tools/nodeaware/trace/analysis.hpp"

namespace nodeaware::tool {

namespace {

using nlohmann::ordered_json;

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

ordered_json collectives_of(const TraceAnalysis& analysis) {
    ordered_json list = ordered_json::array();
    for (const TraceAnalysis::Passed& row : analysis.collectives) {
        list.push_back({{"function", row.function},
                        {"ranks", row.ranks},
                        {"calls", row.calls},
                        {"bytes", row.bytes},
                        {"most_bytes", row.most}});
    }
    return list;
}

ordered_json sums_of(const MessageSums& sums) {
    return {{"messages", sums.messages}, {"bytes", sums.bytes}};
}

ordered_json sizes_of(const TraceAnalysis& analysis) {
    ordered_json list = ordered_json::array();
    for (size_t i = 0; i < analysis.between_nodes_by_size.size(); ++i) {
        const MessageSums& sums = analysis.between_nodes_by_size[i];
        if (sums.messages == 0) { continue; }
        const uint64_t from = i == 0 ? 0 : uint64_t{1} << (i - 1);
        list.push_back({{"from", from}, {"messages", sums.messages}, {"bytes", sums.bytes}});
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
                        {"left_out", forecast.messages.left_out},
                        {"told_by_order", forecast.messages.told},
                        {"basis", basis_of(forecast.messages)}};
    return json;
}

} // namespace

ordered_json job_json(const Trace& trace, const TraceAnalysis& analysis) {
    return {{"complaints", trace.complaints},
            {"library", trace.library},
            {"mpi", trace.mpi},
            {"begin", trace.begin},
            {"complete", trace.is_complete},
            {"ranks", trace.nodes.size()},
            {"ranks_read", trace.ranks.size()},
            {"nodes", analysis.nodes}};
}

ordered_json to_json(const Trace& trace, const TraceAnalysis& analysis,
                     const TraceForecast& forecast, const std::string& table) {
    const auto extreme = [](const TraceAnalysis::Extreme& of) {
        return ordered_json{{"rank", of.rank}, {"seconds", of.seconds}};
    };
    ordered_json report = {{"verdict", verdict(trace, analysis, forecast)}};
    report.update(job_json(trace, analysis));
    report.update(ordered_json{{"wall", analysis.wall},
                               {"shares",
                                {{"exchanges", analysis.shares[0]},
                                 {"messages", analysis.shares[1]},
                                 {"other_collectives", analysis.shares[2]},
                                 {"files", analysis.shares[3]}}},
                               {"seconds_in_calls",
                                {{"least", extreme(analysis.least_in_calls)},
                                 {"mean", analysis.mean_in_calls},
                                 {"most", extreme(analysis.most_in_calls)},
                                 {"others_wait_for_least", analysis.least_stands_out()}}},
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
                               {"collectives", collectives_of(analysis)},
                               {"collectives_left_out", analysis.collectives_left_out},
                               {"notes", analysis.notes},
                               {"forecast", forecast_json(forecast, table)}});
    return report;
}

} // namespace nodeaware::tool
