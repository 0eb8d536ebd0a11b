#include "tools/models/svg_plot.hpp"

#include "tools/models/markup.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace nodeaware::tuning {

namespace {

constexpr double left = 90;
constexpr double top = 50;
constexpr double width = 620;
constexpr double height = 440;
constexpr double legend_width = 230;

// Colours that people who do not tell red from green can tell apart (Okabe and Ito).
constexpr const char* colours[] = {"#000000", "#0072b2", "#d55e00", "#009e73",
                                   "#cc79a7", "#e69f00", "#56b4e9"};

template <class... Values> std::string format(const char* pattern, Values... values) {
    char text[400];
    std::snprintf(text, sizeof text, pattern, values...);
    return text;
}

/// One logarithmic axis: whole decades around the data.
struct Axis {
    int from = 0;
    int to = 1;

    void include(double value) {
        from = std::min(from, static_cast<int>(std::floor(std::log10(value))));
        to = std::max(to, static_cast<int>(std::ceil(std::log10(value))));
    }
    double part(double value) const { return (std::log10(value) - from) / (to - from); }
};

struct Axes {
    Axis x{1000, -1000};
    Axis y{1000, -1000};

    explicit Axes(const Plot& plot) {
        for (const PlotLine& line : plot.lines) {
            for (const PlotPoint& point : line.points) {
                x.include(point.x);
                y.include(point.y);
            }
        }
        if (x.to <= x.from) { x.to = x.from + 1; }
        if (y.to <= y.from) { y.to = y.from + 1; }
    }
    double at_x(double value) const { return left + width * x.part(value); }
    double at_y(double value) const { return top + height * (1 - y.part(value)); }
};

std::string grid(const Axes& axes) {
    std::string svg;
    for (int decade = axes.x.from; decade <= axes.x.to; ++decade) {
        const double x = axes.at_x(std::pow(10, decade));
        svg += format("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#ddd'/>\n", x, top, x,
                      top + height);
        svg += format("<text x='%.1f' y='%.1f' text-anchor='middle'>10<tspan dy='-6' "
                      "font-size='10'>%d</tspan></text>\n",
                      x, top + height + 20, decade);
    }
    for (int decade = axes.y.from; decade <= axes.y.to; ++decade) {
        const double y = axes.at_y(std::pow(10, decade));
        svg += format("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#ddd'/>\n", left, y,
                      left + width, y);
        svg += format("<text x='%.1f' y='%.1f' text-anchor='end'>10<tspan dy='-6' "
                      "font-size='10'>%d</tspan></text>\n",
                      left - 8, y + 5, decade);
    }
    return svg;
}

const char* colour_of(const PlotLine& line) {
    return colours[static_cast<size_t>(line.colour) % std::size(colours)];
}

std::string stroke_of(const PlotLine& line) {
    return format("fill='none' stroke='%s' stroke-width='%s'%s", colour_of(line),
                  line.thin ? "1" : "2", line.dashed ? " stroke-dasharray='7 4'" : "");
}

std::string curve(const PlotLine& line, const Axes& axes) {
    std::string svg = "<polyline " + stroke_of(line) + " points='";
    std::string marks;
    for (const PlotPoint& point : line.points) {
        const double x = axes.at_x(point.x);
        const double y = axes.at_y(point.y);
        svg += format("%.1f,%.1f ", x, y);
        if (point.marked) {
            marks += format("<circle cx='%.1f' cy='%.1f' r='5' fill='white' stroke='%s' "
                            "stroke-width='2'/>\n",
                            x, y, colour_of(line));
        }
    }
    return svg + "'/>\n" + marks;
}

std::string legend(const Plot& plot) {
    std::string svg;
    const double x = left + width + 20;
    double y = top + 10;
    for (const PlotLine& line : plot.lines) {
        svg += format("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' ", x, y, x + 34, y) +
               stroke_of(line) + "/>\n";
        svg +=
            format("<text x='%.1f' y='%.1f'>", x + 42, y + 5) + escaped(line.label) + "</text>\n";
        y += 22;
    }
    if (plot.mark_label.empty()) { return svg; }
    svg += format("<circle cx='%.1f' cy='%.1f' r='5' fill='white' stroke='black' "
                  "stroke-width='2'/>\n<text x='%.1f' y='%.1f'>",
                  x + 17, y, x + 42, y + 5);
    return svg + escaped(plot.mark_label) + "</text>\n";
}

} // namespace

std::string to_svg(const Plot& plot) {
    const Axes axes(plot);
    const double full_width = left + width + legend_width;
    const double full_height = top + height + 60;
    std::string svg = format("<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' "
                             "viewBox='0 0 %.0f %.0f' font-family='sans-serif' font-size='13'>\n",
                             full_width, full_height, full_width, full_height);
    svg += "<rect width='100%' height='100%' fill='white'/>\n" + grid(axes);
    svg += format("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='none' "
                  "stroke='black'/>\n",
                  left, top, width, height);
    for (const PlotLine& line : plot.lines) { svg += curve(line, axes); }
    svg += legend(plot);
    svg += format("<text x='%.1f' y='%.1f' font-size='15'>", left, top - 20) + escaped(plot.title) +
           "</text>\n";
    svg += format("<text x='%.1f' y='%.1f' text-anchor='middle'>", left + width / 2,
                  top + height + 45) +
           escaped(plot.x_label) + "</text>\n";
    svg += format("<text transform='translate(%.1f %.1f) rotate(-90)' text-anchor='middle'>", 24.0,
                  top + height / 2) +
           escaped(plot.y_label) + "</text>\n";
    return svg + "</svg>\n";
}

} // namespace nodeaware::tuning
