#include "tools/fit/protocol_switch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace nodeaware::tuning {

std::vector<std::vector<Point>> cut(const std::vector<Point>& curve,
                                    const std::vector<double>& limits) {
    std::vector<std::vector<Point>> parts(limits.size() + 1);
    for (const Point& point : curve) {
        const auto part = std::lower_bound(limits.begin(), limits.end(), point.bytes);
        parts[static_cast<size_t>(part - limits.begin())].push_back(point);
    }
    return parts;
}

namespace {

constexpr double impossible = std::numeric_limits<double>::infinity();
/// Difference of the information criterion that is very strong evidence (Kass and Raftery).
constexpr double strong_evidence = 10;

/// How far the points of a curve jump up and down, relative to their times: the median distance of
/// a point from the line through its two neighbours.
double roughness(const std::vector<Point>& curve) {
    std::vector<double> jumps;
    for (size_t i = 1; i + 1 < curve.size(); ++i) {
        const Point& before = curve[i - 1];
        const Point& after = curve[i + 1];
        const double part = (curve[i].bytes - before.bytes) / (after.bytes - before.bytes);
        const double between = before.seconds + part * (after.seconds - before.seconds);
        jumps.push_back(std::abs(between / curve[i].seconds - 1));
    }
    if (jumps.empty()) { return 0; }
    const auto middle = jumps.begin() + static_cast<std::ptrdiff_t>(jumps.size() / 2);
    std::nth_element(jumps.begin(), middle, jumps.end());
    return *middle;
}

/// Bayesian information criterion of the lines that `limits` cut the curves into.
double criterion(const std::vector<std::vector<Point>>& curves, const std::vector<double>& limits,
                 const SwitchOptions& options) {
    double points = 0;
    double squares = 0;
    double parameters = static_cast<double>(limits.size());
    for (const auto& curve : curves) {
        // A very noisy curve must not outvote the others.
        const double weight = std::min(1.0, options.noise / std::max(roughness(curve), 1e-300));
        for (const auto& part : cut(curve, limits)) {
            if (static_cast<int>(part.size()) < options.fewest_points) { return impossible; }
            const LineFit line = fit_line(part, Weighting::relative);
            squares += weight * weight * line.rms_relative * line.rms_relative * line.points;
            points += line.points;
            parameters += 2;
        }
    }
    return points * std::log(squares / points + options.noise * options.noise) +
           parameters * std::log(points);
}

struct Best {
    double criterion = impossible;
    std::vector<double> limits;
};

/// Tries all choices of further limits among `candidates` from position `from`.
void search(const std::vector<std::vector<Point>>& curves, const std::vector<double>& candidates,
            size_t from, std::vector<double>& limits, const SwitchOptions& options, Best& best) {
    const double found = criterion(curves, limits, options);
    if (found < best.criterion) { best = {found, limits}; }
    if (static_cast<int>(limits.size()) + 1 >= options.most_protocols) { return; }
    for (size_t i = from; i < candidates.size(); ++i) {
        limits.push_back(candidates[i]);
        search(curves, candidates, i + 1, limits, options, best);
        limits.pop_back();
    }
}

std::vector<double> best_limits(const std::vector<std::vector<Point>>& curves,
                                const SwitchOptions& options) {
    std::set<double> sizes;
    for (const auto& curve : curves) {
        for (const Point& point : curve) { sizes.insert(point.bytes); }
    }
    Best best;
    std::vector<double> limits;
    search(curves, {sizes.begin(), sizes.end()}, 0, limits, options, best);
    return best.limits;
}

/// Drops limits as long as the curve is told as well without; the last one, which parts eager from
/// rendezvous, only on positive evidence (a difference of 2, Kass and Raftery).
std::vector<double> prune(const std::vector<Point>& curve, std::vector<double> limits,
                          const SwitchOptions& options) {
    for (bool dropped = true; dropped && !limits.empty();) {
        Best best{criterion({curve}, limits, options), limits};
        if (limits.size() == 1) { best.criterion -= 2; }
        for (size_t i = 0; i < limits.size(); ++i) {
            std::vector<double> fewer = limits;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
            const double found = criterion({curve}, fewer, options);
            // With too few points for its limits a curve cannot be judged: then any drop is right.
            if (found < best.criterion || std::isinf(best.criterion)) { best = {found, fewer}; }
        }
        dropped = best.limits.size() < limits.size();
        limits = best.limits;
    }
    return limits;
}

} // namespace

std::vector<std::vector<double>> find_switch_points(const std::vector<std::vector<Point>>& curves,
                                                    const SwitchOptions& options) {
    const std::vector<double> together = best_limits(curves, options);
    std::vector<std::vector<double>> of_curves;
    of_curves.reserve(curves.size());
    for (const auto& curve : curves) {
        std::vector<double> limits = prune(curve, together, options);
        const std::vector<double> alone = best_limits({curve}, options);
        // A noisy curve can move the common points to where this one has no jump.
        if (criterion({curve}, alone, options) + strong_evidence <
            criterion({curve}, limits, options)) {
            limits = alone;
        }
        of_curves.push_back(std::move(limits));
    }
    return of_curves;
}

} // namespace nodeaware::tuning
