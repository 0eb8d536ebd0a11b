#include "tools/nodeaware/calibration_repeats.hpp"

#include <algorithm>
#include <cmath>

namespace nodeaware::tool {

namespace {

constexpr int fewest_repeats = 3;
/// Seconds below which a single time may be that of a wake-up.
constexpr double short_time = 2e-3;
constexpr int iterations_at_first = 16;
/// Times that still fall are measured again, up to so many times as often as was asked for.
constexpr int most_repeats_per_repeat = 10;
/// Times that do not fall any more are right.
constexpr int passes_without_gain = 4;

/// Enough iterations that neither the clock nor the start matters.
std::vector<int> iterations_for(const std::vector<double>& seconds) {
    constexpr double sample = 1e-3;
    constexpr double most = 500;
    std::vector<int> iterations;
    iterations.reserve(seconds.size());
    for (const double each : seconds) {
        iterations.push_back(
            static_cast<int>(std::clamp(sample / std::max(each, 1e-9), 1.0, most)));
    }
    return iterations;
}

} // namespace

std::vector<double> Repeats::measure(const std::string& name, std::vector<Case>& cases,
                                     double share, const Round& round) {
    const double begin = seconds_now();
    const double limit = share * settings_.time_limit;
    planned_ = std::max(0.0, planned_ - share);
    end_ = begin + limit;
    std::vector<double> best = first_pass(name, cases, limit, round);
    const std::vector<int> iterations = iterations_for(best);
    int without_gain = 0;
    for (int repeat = 1; repeat < most_repeats_per_repeat * settings_.repeats; ++repeat) {
        double gain = 0;
        for (size_t i = 0; i < cases.size(); ++i) {
            show(name, repeat, i, cases.size());
            const double seconds = round(cases[i], iterations[i]);
            if (seconds <= 0) { continue; }
            gain += std::max(0.0, 1 - seconds / best[i]) / static_cast<double>(cases.size());
            best[i] = std::min(best[i], seconds);
        }
        // Only the rank with the watch has gains.
        constexpr double worth_going_on = 0.002;
        without_gain = job_.most(gain) < worth_going_on ? without_gain + 1 : 0;
        const double spent = job_.most(seconds_now() - begin);
        const double pass = spent / (repeat + 1);
        if (spent + pass > limit && repeat + 1 >= fewest_repeats) { break; }
        if (repeat + 1 >= settings_.repeats && without_gain > 0) { break; }
        if (without_gain >= passes_without_gain) { break; }
    }
    check(MPI_Allreduce(MPI_IN_PLACE, best.data(), static_cast<int>(best.size()), MPI_DOUBLE,
                        MPI_MIN, job_.comm()),
          "MPI_Allreduce");
    end_ = 0;
    return best;
}

/// Once to open connections and once timed; what is short, once more.
std::vector<double> Repeats::first_pass(const std::string& name, std::vector<Case>& cases,
                                        double limit, const Round& round) {
    std::vector<double> best;
    size_t most_bytes = cases.back().bytes;
    double spent = 0;
    for (size_t i = 0; i < cases.size() && cases[i].bytes <= most_bytes; ++i) {
        show(name, 0, i, cases.size());
        round(cases[i], 1);
        best.push_back(job_.most(round(cases[i], 1)));
        if (best.back() < short_time) {
            best.back() = job_.most(round(cases[i], iterations_at_first));
        }
        constexpr int ways = 2;
        spent += ways * best.back();
        // A few repeats of all sizes so far have to fit into the limit.
        if (spent * fewest_repeats > limit) { most_bytes = cases[i].bytes; }
    }
    cases.resize(best.size());
    return best;
}

void Repeats::show(const std::string& name, int repeat, size_t done, size_t all) {
    if (job_.rank() != 0) { return; }
    const double left = planned_ * settings_.time_limit + std::max(0.0, end_ - seconds_now());
    job_.progress().show("calibrate: " + name + ", pass " + std::to_string(repeat + 1) + ", " +
                         std::to_string(100 * done / all) + " %, " +
                         (left > 0 ? "up to " + std::to_string(std::lround(std::ceil(left))) + " s"
                                   : "some seconds") +
                         " left");
}

} // namespace nodeaware::tool
