#include "tools/fit/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace nodeaware::tuning {

namespace {

double weight_of(const Point& point, Weighting weighting) {
    return weighting == Weighting::uniform ? 1 : 1 / (point.seconds * point.seconds);
}

/// Residuals of a line, in seconds and relative to the measured times.
void judge(std::span<const Point> points, Weighting weighting, LineFit& line) {
    double total_weight = 0;
    double mean = 0;
    for (const Point& point : points) {
        total_weight += weight_of(point, weighting);
        mean += weight_of(point, weighting) * point.seconds;
    }
    mean /= total_weight;
    double unexplained = 0;
    double variance = 0;
    double squares = 0;
    double relative_squares = 0;
    for (const Point& point : points) {
        const double residual = line.alpha + line.beta * point.bytes - point.seconds;
        const double weight = weight_of(point, weighting);
        unexplained += weight * residual * residual;
        variance += weight * (point.seconds - mean) * (point.seconds - mean);
        squares += residual * residual;
        relative_squares += residual * residual / (point.seconds * point.seconds);
    }
    const auto count = static_cast<double>(points.size());
    line.r_squared = variance > 0 ? 1 - unexplained / variance : 1;
    line.rms_seconds = std::sqrt(squares / count);
    line.rms_relative = std::sqrt(relative_squares / count);
    line.points = static_cast<int>(points.size());
}

} // namespace

LineFit fit_line(std::span<const Point> points, Weighting weighting) {
    // About the weighted mean, so that large sizes do not swallow the digits of small ones.
    double total = 0;
    double mean_bytes = 0;
    double mean_seconds = 0;
    for (const Point& point : points) {
        const double weight = weight_of(point, weighting);
        total += weight;
        mean_bytes += weight * point.bytes;
        mean_seconds += weight * point.seconds;
    }
    mean_bytes /= total;
    mean_seconds /= total;
    double across = 0;
    double along = 0;
    for (const Point& point : points) {
        const double offset = point.bytes - mean_bytes;
        along += weight_of(point, weighting) * offset * offset;
        across += weight_of(point, weighting) * offset * (point.seconds - mean_seconds);
    }
    LineFit line;
    line.beta = along > 0 ? across / along : 0;
    line.alpha = mean_seconds - line.beta * mean_bytes;
    judge(points, weighting, line);
    return line;
}

LineFit fit_line_robust(std::span<const Point> points, Weighting weighting, double limit) {
    std::vector<Point> kept(points.begin(), points.end());
    while (kept.size() > 3) {
        // Relative weights: a time that is too long by a factor counts less by its square.
        const LineFit line = fit_line(kept, Weighting::relative);
        const auto excess = [&](const Point& point) {
            return point.seconds / std::max(line.alpha + line.beta * point.bytes, 1e-300);
        };
        const auto worst =
            std::max_element(kept.begin(), kept.end(), [&](const Point& one, const Point& other) {
                return excess(one) < excess(other);
            });
        if (excess(*worst) <= limit) { break; }
        kept.erase(worst);
    }
    LineFit line = fit_line(kept, weighting);
    line.outliers = static_cast<int>(points.size() - kept.size());
    return line;
}

LineFit fit_line_through_origin(std::span<const Point> points, Weighting weighting) {
    LineFit line;
    line.beta = fit_slope(points, weighting);
    judge(points, weighting, line);
    return line;
}

double fit_slope(std::span<const Point> points, Weighting weighting) {
    double across = 0;
    double along = 0;
    for (const Point& point : points) {
        across += weight_of(point, weighting) * point.bytes * point.seconds;
        along += weight_of(point, weighting) * point.bytes * point.bytes;
    }
    return along > 0 ? across / along : 0;
}

} // namespace nodeaware::tuning
