#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nodeaware::tuning {

struct PlotPoint {
    double x = 0;
    double y = 0;
    bool marked = false; ///< with a circle
};

struct PlotLine {
    std::string label;
    bool dashed = false;
    bool thin = false;
    int colour = 0;                ///< lines of one number look alike but for dashes
    std::vector<PlotPoint> points; ///< all positive, x ascending
};

struct Plot {
    std::string title;
    std::string x_label;
    std::string y_label;
    std::string mark_label; ///< what circles say, for the legend; empty: there are none
    std::vector<PlotLine> lines;
};

/// The plot as an SVG document, both axes logarithmic, with grid, tick labels and legend. Needs at
/// least one point.
std::string to_svg(const Plot& plot);

} // namespace nodeaware::tuning
