#include "tools/models/curve_table.hpp"

#include "tools/models/svg_plot.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace nodeaware::tuning {

namespace {

template <class... Values> std::string format(const char* pattern, Values... values) {
    char text[160];
    std::snprintf(text, sizeof text, pattern, values...);
    return text;
}

std::string text_of(const CurveTable::Value& value) {
    return value.number ? format("%g", *value.number) : value.text;
}

nlohmann::ordered_json json_of(const CurveTable::Value& value) {
    if (value.number) { return *value.number; }
    if (value.text.empty()) { return nullptr; }
    return value.text;
}

/// Right-aligned.
std::string cell(const std::string& text, size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + text;
}

} // namespace

void add_curve(CurveTable& table, const std::string& key, const std::string& label, int colour,
               bool dashed) {
    table.curves.push_back({key, label, dashed, false, colour});
}

void add_rows(CurveTable& table, const std::vector<double>& axis,
              const std::function<Seconds(double)>& seconds_of) {
    for (const double at : axis) {
        const Seconds seconds = seconds_of(at);
        table.rows.push_back(
            {at, {seconds.begin(), seconds.end()}, std::vector<bool>(seconds.size()), {}});
    }
}

std::string to_text(const CurveTable& table) {
    constexpr size_t least_width = 11; // a time and its mark
    const auto width = [&](size_t i) { return std::max(least_width, table.curves[i].key.size()); };
    std::string text = cell(table.axis, 12);
    for (size_t i = 0; i < table.curves.size(); ++i) {
        text += " " + cell(table.curves[i].key, width(i));
    }
    for (const std::string& column : table.columns) { text += "  " + column; }
    text += "\n";
    for (const CurveTable::Row& row : table.rows) {
        text += format("%12.0f", row.at);
        for (size_t i = 0; i < table.curves.size(); ++i) {
            const std::string time = row.seconds[i] ? format("%.3e", *row.seconds[i]) : "-";
            text += " " + cell(time + (row.marked[i] ? "*" : " "), width(i));
        }
        for (size_t i = 0; i < table.columns.size(); ++i) {
            const std::string value = text_of(row.values[i]);
            text += "  " + cell(value.empty() ? "-" : value, table.columns[i].size());
        }
        text += "\n";
    }
    return text;
}

std::string to_csv(const CurveTable& table) {
    std::string text = table.axis;
    for (const CurveTable::Curve& curve : table.curves) { text += "," + curve.key; }
    for (const std::string& column : table.columns) { text += "," + column; }
    text += "\n";
    for (const CurveTable::Row& row : table.rows) {
        text += format("%.0f", row.at);
        for (const auto& seconds : row.seconds) {
            text += seconds ? format(",%.9e", *seconds) : ",";
        }
        for (const CurveTable::Value& value : row.values) { text += "," + text_of(value); }
        text += "\n";
    }
    return text;
}

std::string to_json_text(nlohmann::ordered_json head, const CurveTable& table) {
    head["units"] = {{"time", "seconds"}, {"size", "bytes"}};
    head["points"] = nlohmann::ordered_json::array();
    for (const CurveTable::Row& row : table.rows) {
        nlohmann::ordered_json point = {{table.axis, row.at}};
        for (size_t i = 0; i < table.curves.size(); ++i) {
            nlohmann::ordered_json& time = point["seconds"][table.curves[i].key];
            if (row.seconds[i]) { time = *row.seconds[i]; }
        }
        for (size_t i = 0; i < table.columns.size(); ++i) {
            point[table.columns[i]] = json_of(row.values[i]);
        }
        head["points"].push_back(std::move(point));
    }
    return head.dump(2) + "\n";
}

std::string to_svg(const CurveTable& table) {
    Plot plot{table.title, table.axis_label, "time (seconds)", table.mark, {}};
    for (size_t i = 0; i < table.curves.size(); ++i) {
        const CurveTable::Curve& curve = table.curves[i];
        PlotLine line{curve.label, curve.dashed, curve.thin, curve.colour, {}};
        for (const CurveTable::Row& row : table.rows) {
            if (row.seconds[i].value_or(0) <= 0) { continue; }
            line.points.push_back({row.at, *row.seconds[i], row.marked[i]});
        }
        if (!line.points.empty()) { plot.lines.push_back(std::move(line)); }
    }
    return to_svg(plot);
}

} // namespace nodeaware::tuning
