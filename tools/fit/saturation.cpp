#include "tools/fit/saturation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace nodeaware::tuning {

namespace {

/// Of value over position; nothing where all positions are the same.
std::optional<double> slope(const std::vector<std::pair<double, double>>& points) {
    double positions = 0;
    double values = 0;
    for (const auto& [position, value] : points) {
        positions += position;
        values += value;
    }
    const auto count = static_cast<double>(points.size());
    double squares = 0;
    double products = 0;
    for (const auto& [position, value] : points) {
        squares += (position - positions / count) * (position - positions / count);
        products += (position - positions / count) * (value - values / count);
    }
    if (squares <= 0) { return std::nullopt; }
    return products / squares;
}

} // namespace

std::optional<double> growth_with_processes(std::span<const Measurements::Simultaneous> samples,
                                            const Path& path) {
    if (samples.empty() || path.empty()) { return std::nullopt; }
    double most = 0;
    double largest = 0;
    for (const auto& sample : samples) {
        most = std::max(most, sample.processes);
        largest = std::max(largest, sample.bytes);
    }
    const auto shows_rate = [&](double bytes) {
        return bytes * path.postal_of(bytes).beta > path.postal_of(bytes).alpha;
    };
    std::map<double, std::vector<std::pair<double, double>>> by_size;
    for (const auto& sample : samples) {
        const bool is_used = shows_rate(sample.bytes) || sample.bytes == largest;
        const auto protocol = static_cast<size_t>(path.protocol_of(sample.bytes));
        const double gaps = (sample.processes - 1) * path.gaps[protocol].value_or(0);
        const double seconds = sample.seconds - path.postal_of(sample.bytes).alpha - gaps;
        if (!is_used || 2 * sample.processes < most || seconds <= 0) { continue; }
        by_size[sample.bytes].emplace_back(std::log(sample.processes), std::log(seconds));
    }
    std::vector<double> growths;
    for (const auto& [bytes, points] : by_size) {
        if (const auto growth = slope(points)) { growths.push_back(*growth); }
    }
    if (growths.empty()) { return std::nullopt; }
    const auto middle = growths.begin() + static_cast<std::ptrdiff_t>(growths.size() / 2);
    std::nth_element(growths.begin(), middle, growths.end());
    return *middle;
}

} // namespace nodeaware::tuning
