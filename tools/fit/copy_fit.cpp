#include "tools/fit/copy_fit.hpp"

#include <algorithm>
#include <map>

namespace nodeaware::tuning {

namespace {

/// The least times of a copy that is waited for by itself, by its bytes.
std::map<double, double> single_copies(std::span<const Measurements::Copies* const> series) {
    std::map<double, double> least;
    for (const Measurements::Copies* copies : series) {
        if (copies->in_a_row != 1) { continue; }
        for (const Point& point : copies->points) {
            const auto [entry, is_new] = least.try_emplace(point.bytes, point.seconds);
            if (!is_new) { entry->second = std::min(entry->second, point.seconds); }
        }
    }
    return least;
}

} // namespace

std::optional<double> fit_next_copy(std::span<const Measurements::Copies* const> series,
                                    double beta) {
    const std::map<double, double> single = single_copies(series);
    double across = 0;
    double along = 0;
    double by_itself = 0; // the longest of those that are compared with
    for (const Measurements::Copies* copies : series) {
        const double further = copies->in_a_row - 1;
        if (further == 0) { continue; }
        for (const Point& point : copies->points) {
            const auto first = single.find(point.bytes);
            if (first == single.end()) { continue; }
            const double more = point.seconds - first->second - further * beta * point.bytes;
            const double weight = 1 / (point.seconds * point.seconds);
            across += weight * further * more;
            along += weight * further * further;
            by_itself = std::max(by_itself, first->second - beta * point.bytes);
        }
    }
    if (along == 0) { return std::nullopt; }
    return std::clamp(across / along, 0.0, std::max(by_itself, 0.0));
}

} // namespace nodeaware::tuning
