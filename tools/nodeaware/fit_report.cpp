#include "tools/nodeaware/fit_report.hpp"

#include "tuning/table_file.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <ctime>

namespace nodeaware::tool {

namespace {

using nlohmann::ordered_json;
using namespace nodeaware::tuning;

ordered_json to_json(const FittedLine& line) {
    ordered_json json = {{"key", line.key},
                         {"alpha", line.line.alpha},
                         {"beta", line.line.beta},
                         {"points", line.line.points},
                         {"outliers", line.line.outliers},
                         {"first_bytes", line.first_bytes},
                         {"last_bytes", line.last_bytes},
                         {"r_squared", line.line.r_squared},
                         {"rms_seconds", line.line.rms_seconds},
                         {"rms_relative", line.line.rms_relative}};
    if (line.gap) { json["gap"] = *line.gap; }
    if (line.next) { json["next"] = *line.next; }
    return json;
}

ordered_json to_json(const FitResult& result, const Comparison& comparison) {
    ordered_json json = {{"lines", ordered_json::array()},
                         {"warnings", result.warnings},
                         {"doubtful", result.doubtful},
                         {"not_measured", ordered_json::array()}};
    for (const NotMeasured& one : result.not_measured) {
        json["not_measured"].push_back({{"key", one.key}, {"why", one.why}});
    }
    for (const FittedLine& line : result.lines) { json["lines"].push_back(to_json(line)); }
    for (const Compared& row : comparison.rows) {
        ordered_json entry = {{"key", row.key}, {"compared", row.published}, {"fitted", nullptr}};
        if (!std::isnan(row.fitted)) {
            entry["fitted"] = row.fitted;
            entry["relative_difference"] = row.difference();
        }
        json["comparison"].push_back(std::move(entry));
    }
    json["table"] = ordered_json::parse(to_json_text(result.table));
    return json;
}

void print_lines(const FitResult& result) {
    std::printf("%-34s %10s %10s %6s %23s %8s %10s %7s\n", "", "alpha s", "beta s/B", "points",
                "bytes", "R^2", "rms s", "rms %");
    for (const FittedLine& line : result.lines) {
        std::printf("%-34s %10.3e %10.3e %6d %11.0f-%-11.0f %8.5f %10.2e %7.2f", line.key.c_str(),
                    line.line.alpha, line.line.beta, line.line.points, line.first_bytes,
                    line.last_bytes, line.line.r_squared, line.line.rms_seconds,
                    100 * line.line.rms_relative);
        if (line.gap) { std::printf("  gap %.3e s", *line.gap); }
        if (line.next) { std::printf("  next %.3e s", *line.next); }
        std::printf("\n");
    }
    for (const NotMeasured& one : result.not_measured) {
        std::printf("%-34s not measured\n", one.key.c_str());
    }
}

void print_comparison(const Comparison& comparison) {
    if (comparison.rows.empty()) { return; }
    std::printf("\n%-42s %12s %12s %11s\n", "", comparison.name.c_str(), "fitted", "difference");
    for (const Compared& row : comparison.rows) {
        if (std::isnan(row.fitted)) {
            std::printf("%-42s %12.3e %12s\n", row.key.c_str(), row.published, "-");
        } else {
            std::printf("%-42s %12.3e %12.3e %+10.1f%%\n", row.key.c_str(), row.published,
                        row.fitted, 100 * row.difference());
        }
    }
}

} // namespace

void print_warnings(const FitResult& result) {
    for (const std::string& warning : result.warnings) {
        std::fprintf(stderr, "nodeaware: %s\n", warning.c_str());
    }
}

void print_fit(const FitResult& result, bool as_json, const Comparison& comparison) {
    if (as_json) {
        std::printf("%s\n", to_json(result, comparison)
                                .dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
                                .c_str());
        return;
    }
    print_lines(result);
    print_comparison(comparison);
}

std::string verdict_of(const FitResult& result) {
    if (result.doubtful.empty()) { return "usable"; }
    std::string verdict = "noisy: repeat (";
    for (const std::string& key : result.doubtful) {
        verdict += (&key == &result.doubtful.front() ? "" : ", ") + key;
    }
    return verdict + ")";
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[16];
    std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
    return text;
}

} // namespace nodeaware::tool
