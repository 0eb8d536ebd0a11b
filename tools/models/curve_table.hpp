#pragma once

#include "tuning/model_table.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace nodeaware::tuning {

/// Times of several ways to do the same over sizes: what a figure shows.
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
        double bytes = 0;
        std::vector<std::optional<double>> seconds; ///< as in `curves`; empty: not to be had
        std::vector<bool> marked;                   ///< as in `curves`
        std::vector<Value> values;                  ///< as in `columns`
    };

    std::string title;
    std::string mark; ///< what marked times are; empty: none is
    std::vector<Curve> curves;
    std::vector<std::string> columns; ///< what else there is to say of a size
    std::vector<Row> rows;
};

/// One line per size: all times, marked ones with *, then the columns.
std::string to_text(const CurveTable& table);

/// Header "bytes,<key>...,<column>...", one line per size; what is absent is an empty field.
std::string to_csv(const CurveTable& table);

/// `head` with "units" and "points": [{"bytes", "seconds": {key: time}, column: value}]; what is
/// absent is null.
std::string to_json_text(nlohmann::ordered_json head, const CurveTable& table);

/// The figure: log-log, marked times with circles.
std::string to_svg(const CurveTable& table);

} // namespace nodeaware::tuning
