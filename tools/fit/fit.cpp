#include "tools/fit/fit.hpp"

#include "tools/fit/copy_fit.hpp"
#include "tools/fit/gap_fit.hpp"
#include "tools/fit/saturation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace nodeaware::tuning {

namespace {

/// The least time at each size: what disturbs a measurement makes it longer.
std::vector<Point> least(const std::vector<const std::vector<Point>*>& series) {
    std::map<double, double> best;
    for (const auto* points : series) {
        for (const Point& point : *points) {
            const auto [entry, fresh] = best.try_emplace(point.bytes, point.seconds);
            if (!fresh) { entry->second = std::min(entry->second, point.seconds); }
        }
    }
    std::vector<Point> curve;
    curve.reserve(best.size());
    for (const auto& [bytes, seconds] : best) { curve.push_back({bytes, seconds}); }
    return curve;
}

std::string number(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

std::string key_of(const Copy& copy) {
    std::string key = "copies." + std::string(name_of(copy.direction)) + ".";
    if (copy.host != HostMemory::pinned) { key += std::string(name_of(copy.host)) + "."; }
    if (!copy.same_socket) { key += "other_socket."; }
    return key + std::to_string(copy.processes);
}

class Fitter {
  public:
    Fitter(const Measurements& measurements, const FitOptions& options)
        : measured_(measurements), options_(options) {}

    FitResult run() {
        for (const Memory memory : memories) { paths(memory); }
        for (const Memory memory : memories) { node_limits(memory); }
        copies();
        shared_memory();
        if (result_.lines.empty()) { throw TableError("there are no measurements to fit"); }
        return std::move(result_);
    }

  private:
    void warn(const std::string& key, const std::string& what) {
        result_.warnings.push_back(key + ": " + what);
    }

    /// The same where the numbers are not to be relied on.
    void doubt(const std::string& key, const std::string& what) {
        warn(key, what);
        auto& keys = result_.doubtful;
        if (keys.empty() || keys.back() != key) { keys.push_back(key); }
    }

    /// Fits one line and notes it and what is odd about it.
    LineFit noted(const std::string& key, const std::vector<Point>& points) {
        const LineFit fitted = fit_line_robust(points, options_.weighting);
        result_.lines.push_back({key, fitted, points.front().bytes, points.back().bytes});
        if (fitted.points < options_.switches.fewest_points) {
            warn(key, "only " + std::to_string(fitted.points) + " points");
        }
        if (fitted.outliers > 0) {
            warn(key, std::to_string(fitted.outliers) + " outliers left out");
        }
        if (fitted.rms_relative > 0.1 && fitted.r_squared < 0.99) {
            doubt(key, "noisy: residuals are " + number(100 * fitted.rms_relative) +
                           " % of the times, R^2 is " + number(fitted.r_squared));
        }
        return fitted;
    }

    /// The line as parameters that can be.
    Postal line(const std::string& key, const std::vector<Point>& points) {
        const LineFit fitted = noted(key, points);
        Postal postal{fitted.alpha, fitted.beta};
        if (postal.alpha < 0) {
            doubt(key, "implausible: alpha is " + number(postal.alpha) +
                           " s; a line through the origin is used");
            postal = {0, fit_slope(points, options_.weighting)};
        } else if (postal.beta < 0) {
            doubt(key,
                  "implausible: beta is " + number(postal.beta) + " s/byte; a constant is used");
            double mean = 0;
            for (const Point& point : points) { mean += point.seconds; }
            postal = {mean / static_cast<double>(points.size()), 0};
        }
        return postal;
    }

    void paths(Memory memory) {
        std::vector<Locality> present;
        std::vector<std::vector<Point>> curves;
        for (const Locality locality : localities) {
            std::vector<const std::vector<Point>*> series;
            for (const auto& pair : measured_.pairs) {
                if (pair.memory == memory && pair.locality == locality) {
                    series.push_back(&pair.points);
                }
            }
            std::vector<Point> curve = least(series);
            if (curve.empty()) { continue; }
            present.push_back(locality);
            curves.push_back(std::move(curve));
        }
        if (curves.empty()) { return; }
        const auto& known = options_.limits[static_cast<size_t>(memory)];
        const auto limits = known ? std::vector<std::vector<double>>(curves.size(), *known)
                                  : find_switch_points(curves, options_.switches);
        for (size_t i = 0; i < curves.size(); ++i) {
            path(memory, present[i], curves[i], limits[i]);
        }
    }

    /// Up to three protocols; two are eager and rendezvous, a single one stands for all sizes.
    void path(Memory memory, Locality locality, const std::vector<Point>& curve,
              const std::vector<double>& limits) {
        const std::string key =
            "paths." + std::string(name_of(memory)) + "." + std::string(name_of(locality)) + ".";
        const auto parts = cut(curve, limits);
        Path& path = result_.table.path(memory, locality);
        for (size_t i = 0; i < parts.size() && i < protocols.size(); ++i) {
            const size_t which = protocols.size() - std::min(parts.size(), protocols.size()) + i;
            if (parts[i].empty()) {
                warn(key + std::string(name_of(protocols[which])), "no points");
                continue;
            }
            path.by_protocol[which] = line(key + std::string(name_of(protocols[which])), parts[i]);
            if (which == 0) { path.short_limit = limits[i]; }
            if (which == 1) { path.eager_limit = limits[i]; }
        }
    }

    /// Processes of one socket, or, where these are too few to tell anything, all.
    double most_injecting(Memory memory) const {
        if (options_.most_injecting > 0) { return options_.most_injecting; }
        double most = 0;
        for (const auto& sample : measured_.simultaneous) {
            if (sample.memory == memory) { most = std::max(most, sample.processes); }
        }
        return most / 2 >= options_.fewest_injecting ? most / 2 : most;
    }

    void node_limits(Memory memory) {
        Path& path = result_.table.path(memory, Locality::network);
        if (path.empty()) { return; }
        const double most = most_injecting(memory);
        std::vector<Measurements::Simultaneous> samples;
        for (const auto& sample : measured_.simultaneous) {
            if (sample.memory == memory && sample.processes <= most) { samples.push_back(sample); }
        }
        if (samples.empty()) { return; }
        const NodeLimits limits = fit_node_limits(samples, path);
        const std::string key = "paths." + std::string(name_of(memory)) + ".network.";
        for (const Protocol protocol : protocols) {
            const auto& found = limits.protocols[static_cast<size_t>(protocol)];
            if (!found) { continue; }
            const std::string name = key + std::string(name_of(protocol)) + ".gap";
            note_gap(name, *found);
            const double alpha = path.by_protocol[static_cast<size_t>(protocol)]->alpha;
            if (found->gap > alpha) {
                doubt(name, "implausible: " + number(found->gap) +
                                " s is more than alpha; alpha is used");
            }
            path.gaps[static_cast<size_t>(protocol)] = std::min(found->gap, alpha);
        }
        const std::string injection_key = "injection." + std::string(name_of(memory));
        if (const std::string why = why_not_injection(samples, path); !why.empty()) {
            return not_measured(injection_key, why);
        }
        if (injection(memory, samples)) { return; }
        if (limits.inverse_rate == 0) {
            return not_measured(injection_key, "the times show no limit of the node");
        }
        result_.table.inverse_injection_rate[static_cast<size_t>(memory)] = limits.inverse_rate;
        // Of all protocols together; the largest messages show it best.
        const auto last = std::find_if(limits.protocols.rbegin(), limits.protocols.rend(),
                                       [](const auto& found) { return found.has_value(); });
        result_.lines.push_back(
            {injection_key, (*last)->line, (*last)->first_bytes, (*last)->last_bytes, {}});
    }

    void note_gap(const std::string& key, const NodeLimits::OfProtocol& found) {
        if (found.gap == 0) { return; }
        result_.lines.push_back({key, found.line, found.first_bytes, found.last_bytes, found.gap});
        if (found.line.rms_relative > 0.1 && found.line.r_squared < 0.99) {
            doubt(key, "noisy: residuals are " + number(100 * found.line.rms_relative) +
                           " % of the times");
        }
    }

    void not_measured(const std::string& key, const std::string& why) {
        warn(key, "not measured: " + why);
        result_.not_measured.push_back({key, why});
    }

    /// Why the samples do not tell R_N; empty: they do.
    static std::string why_not_injection(const std::vector<Measurements::Simultaneous>& samples,
                                         const Path& path) {
        const auto growth = growth_with_processes(samples, path);
        if (!growth) { return "there are no messages by several numbers of processes"; }
        if (*growth >= growth_of_limit) { return ""; }
        double most = 0;
        for (const auto& sample : samples) { most = std::max(most, sample.processes); }
        return "up to " + number(most) + " processes the rate of the node grows with their number";
    }

    /// 1/R_N from many processes. False if there are too few.
    bool injection(Memory memory, const std::vector<Measurements::Simultaneous>& samples) {
        const Path& path = result_.table.path(memory, Locality::network);
        std::vector<Point> points;
        for (const auto& sample : samples) {
            if (sample.processes < options_.fewest_injecting || sample.bytes <= path.eager_limit) {
                continue;
            }
            const auto protocol = static_cast<size_t>(path.protocol_of(sample.bytes));
            const double gaps = (sample.processes - 1) * path.gaps[protocol].value_or(0);
            if (sample.seconds > gaps) {
                points.push_back({sample.processes * sample.bytes, sample.seconds - gaps});
            }
        }
        // Without protocols to go by, or with few processes, there is nothing to be seen.
        if (points.size() < 4) { return false; }
        std::sort(points.begin(), points.end(),
                  [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
        const std::string key = "injection." + std::string(name_of(memory));
        // Only the slope is wanted: what the intercept stands for differs with the processes.
        const double inverse = noted(key, points).beta;
        if (inverse <= 0) {
            doubt(key, "implausible: more bytes take less time");
            return true;
        }
        result_.table.inverse_injection_rate[static_cast<size_t>(memory)] = inverse;
        return true;
    }

    void copies() {
        std::map<std::tuple<HostMemory, Direction, bool, int>,
                 std::vector<const Measurements::Copies*>>
            kinds;
        for (const auto& copies : measured_.copies) {
            kinds[{copies.host, copies.direction, !copies.same_socket, copies.processes}].push_back(
                &copies);
        }
        for (const auto& [kind, series] : kinds) {
            const auto& [host, direction, other_socket, processes] = kind;
            copies_of_kind({direction, !other_socket, processes, {}, host, {}}, series);
        }
    }

    void copies_of_kind(Copy copy, const std::vector<const Measurements::Copies*>& series) {
        std::vector<const std::vector<Point>*> single;
        for (const auto* copies : series) {
            if (copies->in_a_row == 1) { single.push_back(&copies->points); }
        }
        std::vector<Point> curve = least(single);
        if (curve.empty()) { return; }
        const std::string key = key_of(copy);
        if (copy.processes > 1) { curve = last_regime(key, curve); }
        copy.postal = line(key, curve);
        copy.next = fit_next_copy(series, copy.postal.beta);
        result_.lines.back().next = copy.next;
        result_.table.copies.push_back(copy);
    }

    /// One rate for all sizes beyond the caches nearest to a core. That the rate is not the same
    /// for all of them is no noise, but the other caches.
    LineFit copy_rate(const std::string& key, const std::vector<Point>& curve) {
        constexpr double small = 1 << 16;
        constexpr size_t enough = 4;
        std::vector<Point> large;
        for (const Point& point : curve) {
            if (point.bytes >= small) { large.push_back(point); }
        }
        if (large.size() < enough) { return noted(key, curve); }
        const LineFit line = fit_line_through_origin(large, Weighting::relative);
        result_.lines.push_back({key, line, large.front().bytes, large.back().bytes, {}});
        return line;
    }

    void shared_memory() {
        std::vector<double> flags = measured_.flag_latencies;
        if (measured_.shared_copies.empty() || flags.empty()) { return; }
        const std::string key = "shared_memory.copy";
        const LineFit copy = copy_rate(key, least({&measured_.shared_copies}));
        if (copy.beta <= 0) {
            doubt(key, "implausible: more bytes take less time");
            return;
        }
        const auto middle = flags.begin() + static_cast<std::ptrdiff_t>(flags.size() / 2);
        std::nth_element(flags.begin(), middle, flags.end());
        result_.table.shared_memory = {1 / copy.beta, *middle};
    }

    std::vector<Point> last_regime(const std::string& key, const std::vector<Point>& curve) {
        const auto limits = find_switch_points({curve}, options_.switches).front();
        if (limits.empty()) { return curve; }
        warn(key, "copies up to " + number(limits.back()) +
                      " bytes follow another line and are left out");
        return cut(curve, limits).back();
    }

    const Measurements& measured_;
    const FitOptions& options_;
    FitResult result_;
};

} // namespace

FitResult fit(const Measurements& measurements, const FitOptions& options) {
    return Fitter(measurements, options).run();
}

std::vector<Parameter> parameters_of(const ModelTable& table) {
    std::vector<Parameter> all;
    for (const Memory memory : memories) {
        for (const Locality locality : localities) {
            for (const Protocol protocol : protocols) {
                const auto& postal =
                    table.path(memory, locality).by_protocol[static_cast<size_t>(protocol)];
                if (!postal) { continue; }
                const std::string key = "paths." + std::string(name_of(memory)) + "." +
                                        std::string(name_of(locality)) + "." +
                                        std::string(name_of(protocol));
                all.push_back({key + ".alpha", postal->alpha});
                all.push_back({key + ".beta", postal->beta});
                const auto& gap = table.path(memory, locality).gaps[static_cast<size_t>(protocol)];
                if (gap) { all.push_back({key + ".gap", *gap}); }
            }
        }
    }
    for (const Memory memory : memories) {
        const double inverse = table.inverse_injection_rate[static_cast<size_t>(memory)];
        if (inverse > 0) {
            all.push_back(
                {"injection." + std::string(name_of(memory)) + ".seconds_per_byte", inverse});
        }
    }
    for (const Copy& copy : table.copies) {
        const std::string key = key_of(copy);
        all.push_back({key + ".alpha", copy.postal.alpha});
        all.push_back({key + ".beta", copy.postal.beta});
        if (copy.next) { all.push_back({key + ".next", *copy.next}); }
    }
    return all;
}

} // namespace nodeaware::tuning
