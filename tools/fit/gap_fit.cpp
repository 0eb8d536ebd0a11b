#include "tools/fit/gap_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace nodeaware::tuning {

namespace {

using Sample = Measurements::Simultaneous;

constexpr size_t fewest_points = 4;
/// A time beyond this many times the fitted one was disturbed.
constexpr double outlier = 2;
/// Relative accuracy that measured times have at best: differences below tell nothing.
constexpr double noise = 0.01;

/// What is left of the times without the transfer: `few` below `from` processes, above it a line.
struct Fitted {
    double from = 1;
    double few = 0;
    double intercept = 0;
    double gap = 0;
    double squares = 0; ///< of relative residuals
};

double transfer(const Sample& sample, double beta, double inverse_rate) {
    return sample.bytes * std::max(beta, sample.processes * inverse_rate);
}

/// Sums of a weighted least-squares line.
class WeightedLine {
  public:
    void add(double weight, double position, double value) {
        weight_ += weight;
        positions_ += weight * position;
        values_ += weight * value;
        squares_ += weight * position * position;
        products_ += weight * position * value;
    }
    double mean() const { return weight_ > 0 ? values_ / weight_ : 0; }
    double mean_position() const { return weight_ > 0 ? positions_ / weight_ : 0; }
    double slope() const {
        const double along = squares_ - positions_ * mean_position();
        return along > 0 ? (products_ - positions_ * mean()) / along : 0;
    }

  private:
    double weight_ = 0;
    double positions_ = 0;
    double values_ = 0;
    double squares_ = 0;
    double products_ = 0;
};

/// Messages of one protocol.
class Messages {
  public:
    Messages(std::vector<Sample> samples, double beta)
        : samples_(std::move(samples)), beta_(beta) {}

    const std::vector<Sample>& samples() const { return samples_; }

    bool are_enough() const {
        return samples_.size() >= fewest_points && process_counts().size() > 1;
    }

    /// With the gap, or as if there were none.
    Fitted fit(double inverse_rate, bool with_gap) const {
        Fitted best = fit_from(1, inverse_rate, with_gap);
        if (!with_gap) { return best; }
        std::vector<double> counts = process_counts();
        counts.resize(counts.size() - 1); // a line needs two
        double least = criterion(best);
        for (const double from : counts) {
            const Fitted found = fit_from(from, inverse_rate, true);
            // A corner is one more parameter, and has to be a good deal better.
            if (criterion(found) + std::log(static_cast<double>(samples_.size())) < least - 2) {
                least = criterion(found);
                best = found;
            }
        }
        return best;
    }

    double criterion(const Fitted& fitted) const {
        const auto count = static_cast<double>(samples_.size());
        return count * std::log(fitted.squares / count + noise * noise);
    }

    double time(const Sample& sample, const Fitted& fitted, double inverse_rate) const {
        const double start = sample.processes < fitted.from
                                 ? fitted.few
                                 : fitted.intercept + (sample.processes - 1) * fitted.gap;
        return start + transfer(sample, beta_, inverse_rate);
    }

    /// Takes times out that no line explains. True if there were any.
    bool drop_outliers(const Fitted& fitted, double inverse_rate) {
        const size_t before = samples_.size();
        std::erase_if(samples_, [&](const Sample& sample) {
            return sample.seconds > outlier * time(sample, fitted, inverse_rate);
        });
        dropped_ += static_cast<int>(before - samples_.size());
        return samples_.size() < before;
    }

    NodeLimits::OfProtocol describe(const Fitted& fitted, double inverse_rate) const {
        NodeLimits::OfProtocol told{fitted.gap, {}, samples_.front().bytes, 0};
        double mean = 0;
        for (const Sample& sample : samples_) { mean += sample.seconds; }
        mean /= static_cast<double>(samples_.size());
        double unexplained = 0;
        double variance = 0;
        for (const Sample& sample : samples_) {
            const double residual = time(sample, fitted, inverse_rate) - sample.seconds;
            unexplained += residual * residual;
            variance += (sample.seconds - mean) * (sample.seconds - mean);
            told.first_bytes = std::min(told.first_bytes, sample.bytes);
            told.last_bytes = std::max(told.last_bytes, sample.bytes);
        }
        const auto count = static_cast<double>(samples_.size());
        told.line = {fitted.intercept,
                     inverse_rate,
                     variance > 0 ? 1 - unexplained / variance : 1,
                     std::sqrt(fitted.squares / count),
                     std::sqrt(unexplained / count),
                     static_cast<int>(samples_.size()),
                     dropped_};
        return told;
    }

  private:
    std::vector<double> process_counts() const {
        std::set<double> counts;
        for (const Sample& sample : samples_) { counts.insert(sample.processes); }
        return {counts.begin(), counts.end()};
    }

    Fitted fit_from(double from, double inverse_rate, bool with_gap) const {
        Fitted fitted;
        fitted.from = from;
        WeightedLine few;
        WeightedLine line;
        for (const Sample& sample : samples_) {
            const double weight = 1 / (sample.seconds * sample.seconds);
            const double left = sample.seconds - transfer(sample, beta_, inverse_rate);
            (sample.processes < from ? few : line).add(weight, sample.processes - 1, left);
        }
        fitted.few = few.mean();
        if (with_gap) { fitted.gap = std::max(0.0, line.slope()); }
        fitted.intercept = line.mean() - fitted.gap * line.mean_position();
        for (const Sample& sample : samples_) {
            const double residual = time(sample, fitted, inverse_rate) / sample.seconds - 1;
            fitted.squares += residual * residual;
        }
        return fitted;
    }

    std::vector<Sample> samples_;
    double beta_;
    int dropped_ = 0;
};

struct Group {
    size_t protocol = 0;
    Messages messages;
    bool with_gap = true;
};

double squares(const std::vector<Group>& groups, double inverse_rate) {
    double sum = 0;
    for (const Group& group : groups) {
        sum += group.messages.fit(inverse_rate, group.with_gap).squares;
    }
    return sum;
}

/// The 1/R_N that explains the times best: a scan, because max() makes several minima possible,
/// then golden sections around the best.
double best_inverse_rate(const std::vector<Group>& groups, double largest) {
    constexpr int steps = 240;
    constexpr double range = 1e5;
    const double factor = std::pow(range, 1.0 / steps);
    double best = 0;
    double least = squares(groups, 0);
    for (int i = 0; i <= steps; ++i) {
        const double rate = largest / std::pow(factor, i);
        const double found = squares(groups, rate);
        // A limit that is hardly seen is not claimed.
        if (found < least * (best == 0 ? 0.99 : 1)) {
            least = found;
            best = rate;
        }
    }
    if (best == 0) { return 0; }
    double low = best / factor;
    double high = best * factor;
    constexpr double golden = 0.6180339887498949;
    for (int i = 0; i < 40; ++i) {
        const double first = high - golden * (high - low);
        const double second = low + golden * (high - low);
        if (squares(groups, first) < squares(groups, second)) {
            high = second;
        } else {
            low = first;
        }
    }
    return (low + high) / 2;
}

/// Whether the gap makes the residuals so much smaller that one more parameter is worth it.
bool gap_is_seen(const Group& group, double inverse_rate) {
    const Messages& messages = group.messages;
    const double penalty = std::log(static_cast<double>(messages.samples().size()));
    return messages.criterion(messages.fit(inverse_rate, true)) + penalty <
           messages.criterion(messages.fit(inverse_rate, false)) - 2;
}

std::vector<Group> group_by_protocol(std::span<const Sample> samples, const Path& path) {
    std::array<std::vector<Sample>, 3> parts;
    for (const Sample& sample : samples) {
        parts[static_cast<size_t>(path.protocol_of(sample.bytes))].push_back(sample);
    }
    std::vector<Group> groups;
    for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].empty()) { continue; }
        Group group{i, Messages(std::move(parts[i]), path.by_protocol[i]->beta), true};
        if (group.messages.are_enough()) { groups.push_back(std::move(group)); }
    }
    return groups;
}

} // namespace

NodeLimits fit_node_limits(std::span<const Measurements::Simultaneous> samples, const Path& path) {
    NodeLimits limits;
    if (path.empty()) { return limits; }
    std::vector<Group> groups = group_by_protocol(samples, path);
    if (groups.empty()) { return limits; }
    double largest = 0; // a node is no slower than one of its processes; some room for errors
    for (const Group& group : groups) {
        largest = std::max(largest, 2 * path.by_protocol[group.protocol]->beta);
    }
    constexpr int rounds = 4;
    for (int round = 0; round < rounds; ++round) {
        limits.inverse_rate = best_inverse_rate(groups, largest);
        bool changed = false;
        for (Group& group : groups) {
            const Fitted fitted = group.messages.fit(limits.inverse_rate, group.with_gap);
            changed = group.messages.drop_outliers(fitted, limits.inverse_rate) || changed;
        }
        std::erase_if(groups, [](const Group& group) { return !group.messages.are_enough(); });
        if (!changed) { break; }
    }
    for (Group& group : groups) { group.with_gap = gap_is_seen(group, limits.inverse_rate); }
    limits.inverse_rate = groups.empty() ? 0 : best_inverse_rate(groups, largest);
    for (const Group& group : groups) {
        const Fitted fitted = group.messages.fit(limits.inverse_rate, group.with_gap);
        limits.protocols[group.protocol] = group.messages.describe(fitted, limits.inverse_rate);
    }
    return limits;
}

} // namespace nodeaware::tuning
