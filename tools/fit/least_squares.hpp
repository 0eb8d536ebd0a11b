#pragma once

#include <span>

namespace nodeaware::tuning {

/// One measurement: `seconds` for `bytes`.
struct Point {
    double bytes = 0;
    double seconds = 0;
    bool operator==(const Point&) const = default;
};

/// What a least-squares fit makes small.
enum class Weighting {
    uniform, ///< squared differences in seconds, as the papers do: the largest sizes decide
    relative ///< squared differences relative to the measured time: all sizes count alike
};

/// alpha + beta bytes, fitted.
struct LineFit {
    double alpha = 0;        ///< seconds
    double beta = 0;         ///< seconds/byte
    double r_squared = 0;    ///< 1: all points on the line; 0: no better than their mean
    double rms_relative = 0; ///< root mean square of (fitted - measured) / measured
    double rms_seconds = 0;  ///< root mean square of (fitted - measured)
    int points = 0;          ///< used
    int outliers = 0;        ///< left out by fit_line_robust()
};

/// Weighted linear least squares. With fewer than two different sizes, beta is 0 and alpha the
/// mean. Needs at least one point; times must be positive.
LineFit fit_line(std::span<const Point> points, Weighting weighting);

/// fit_line() without outliers: as long as a time is more than `limit` times that of the line (of
/// relative residuals) through all, the worst is left out. Single disturbed measurements, of which
/// recorded data are full, thus do not bend the line. Times that are too short are kept: what
/// disturbs makes them longer.
LineFit fit_line_robust(std::span<const Point> points, Weighting weighting, double limit = 2);

/// alpha is 0. Needs at least one point with bytes.
LineFit fit_line_through_origin(std::span<const Point> points, Weighting weighting);

/// Least-squares slope of a line through the origin: seconds = slope bytes.
double fit_slope(std::span<const Point> points, Weighting weighting);

} // namespace nodeaware::tuning
