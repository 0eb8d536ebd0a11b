#include "tools/models/scenario_text.hpp"

#include "tools/models/svg_plot.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace nodeaware::tuning {

namespace {

template <class... Values> std::string format(const char* pattern, Values... values) {
    char text[160];
    std::snprintf(text, sizeof text, pattern, values...);
    return text;
}

std::string describe(const Scenario& scenario) {
    return format("%g messages from one node to %g nodes, %g %% duplicate data", scenario.messages,
                  scenario.nodes, 100 * scenario.duplicate_fraction);
}

} // namespace

std::string to_text(const std::vector<ScenarioPoint>& points) {
    std::string text = format("%12s", "bytes");
    for (const Curve& curve : curves) {
        text += format(" %19.*s", static_cast<int>(curve.key.size()), curve.key.data());
    }
    text += "  least (without the best case 2-step 1)\n";
    for (const ScenarioPoint& point : points) {
        text += format("%12.0f", point.bytes);
        for (size_t i = 0; i < curves.size(); ++i) {
            text += point.seconds[i]
                        ? format(" %18.3e%c", *point.seconds[i], i == point.winner ? '*' : ' ')
                        : format(" %18s ", "-");
        }
        text += "  " + std::string(curves[point.winner].label) + "\n";
    }
    return text;
}

std::string to_csv(const std::vector<ScenarioPoint>& points) {
    std::string text = "bytes";
    for (const Curve& curve : curves) { text += "," + std::string(curve.key); }
    text += ",winner\n";
    for (const ScenarioPoint& point : points) {
        text += format("%.0f", point.bytes);
        for (const auto& seconds : point.seconds) {
            text += seconds ? format(",%.9e", *seconds) : ",";
        }
        text += "," + std::string(curves[point.winner].key) + "\n";
    }
    return text;
}

std::string to_json_text(const ModelTable& table, const Scenario& scenario,
                         const std::vector<ScenarioPoint>& points) {
    nlohmann::ordered_json json = {{"table", table.name},
                                   {"scenario",
                                    {{"messages", scenario.messages},
                                     {"nodes", scenario.nodes},
                                     {"dup", scenario.duplicate_fraction},
                                     {"gps", scenario.gps},
                                     {"ppn", scenario.ppn},
                                     {"ppg", scenario.ppg}}},
                                   {"units", {{"time", "seconds"}, {"size", "bytes"}}},
                                   {"points", nlohmann::ordered_json::array()}};
    for (const ScenarioPoint& point : points) {
        nlohmann::ordered_json row = {{"bytes", point.bytes}};
        for (size_t i = 0; i < curves.size(); ++i) {
            nlohmann::ordered_json& time = row["seconds"][std::string(curves[i].key)];
            if (point.seconds[i]) { time = *point.seconds[i]; }
        }
        row["winner"] = curves[point.winner].key;
        row["overall_winner"] = curves[point.overall_winner].key;
        json["points"].push_back(std::move(row));
    }
    return json.dump(2) + "\n";
}

std::string to_svg(const ModelTable& table, const Scenario& scenario,
                   const std::vector<ScenarioPoint>& points) {
    Plot plot{table.name + ": " + describe(scenario), "message size (bytes)", "time (seconds)", {}};
    for (size_t i = 0; i < curves.size(); ++i) {
        PlotLine line{std::string(curves[i].label),
                      curves[i].device_aware,
                      curves[i].best_case,
                      curves[i].colour,
                      {}};
        for (const ScenarioPoint& point : points) {
            if (!point.seconds[i]) { continue; }
            line.points.push_back({point.bytes, *point.seconds[i], i == point.winner});
        }
        if (!line.points.empty()) { plot.lines.push_back(std::move(line)); }
    }
    return to_svg(plot);
}

} // namespace nodeaware::tuning
