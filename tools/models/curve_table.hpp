#pragma once

#include "tuning/model_table.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nodeaware::tuning {

/// Times of several ways to do the same over sizes, or another number: what a figure shows.
struct CurveTable {
    struct Curve {
        std::string key;   ///< in CSV and JSON
        std::string label; ///< in the plot
        bool dashed = false;
        bool thin = false;
        int colour = 0; ///< curves of one number look alike but for dashes
    };
    struct Value {
        std::optional<double> number;
        std::string text; ///< where it is no number; empty: nothing
    };
    struct Row {
        double at = 0;                              ///< on the axis
        std::vector<std::optional<double>> seconds; ///< as in `curves`; empty: not to be had
        std::vector<bool> marked;                   ///< as in `curves`
        std::vector<Value> values;                  ///< as in `columns`
    };

    std::string title;
    std::string mark; ///< what marked times are; empty: none is
    std::vector<Curve> curves;
    std::vector<std::string> columns; ///< what else there is to say of a size
    std::vector<Row> rows;
    std::string axis = "bytes"; ///< in CSV and JSON
    std::string axis_label = "message size (bytes)";
};

using Seconds = std::vector<double>; ///< of one row, as in CurveTable::curves

void add_curve(CurveTable& table, const std::string& key, const std::string& label, int colour,
               bool dashed = false);
/// A row for each of `axis`, of which none is marked and nothing else is said.
void add_rows(CurveTable& table, const std::vector<double>& axis,
              const std::function<Seconds(double)>& seconds_of);

/// One line per size: all times, marked ones with *, then the columns.
std::string to_text(const CurveTable& table);

/// Header "<axis>,<key>...,<column>...", one line per size; what is absent is an empty field.
std::string to_csv(const CurveTable& table);

/// `head` with "units" and "points": [{axis: number, "seconds": {key: time}, column: value}]; what
/// is absent is null.
std::string to_json_text(nlohmann::ordered_json head, const CurveTable& table);

/// The figure: log-log, marked times with circles. Times of 0 have no place in it.
std::string to_svg(const CurveTable& table);

} // namespace nodeaware::tuning
