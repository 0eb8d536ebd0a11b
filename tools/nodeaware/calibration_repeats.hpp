#pragma once

#include "tools/nodeaware/calibration_benchmarks.hpp"

#include <functional>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// What is measured at once: messages or copies of `bytes` by `count` processes, or `count` in a
/// row.
struct Case {
    int count = 1;
    size_t bytes = 0;
    int in_a_row = 1; ///< copies of each process, for which it waits together
};

/// Does it `iterations` times; seconds of one time on the rank that holds the watch, 0 on others.
using Round = std::function<double(const Case&, int iterations)>;

/// Repeats benchmarks as often as the settings allow. Throws MpiError.
class Repeats {
  public:
    Repeats(CalibrationJob& job, const CalibrationSettings& settings)
        : job_(job), settings_(settings) {}

    /// Further benchmarks are to come that share so much of the time limit.
    void plan(double share) { planned_ += share; }
    /// The least times of all cases, whose sizes ascend, within `share` of the time limit. Cases
    /// that take too long are dropped. Collective, the same result on all ranks.
    std::vector<double> measure(const std::string& name, std::vector<Case>& cases, double share,
                                const Round& round);
    /// What is measured, and how long all that is planned may still take, on the line of progress.
    void show(const std::string& name, int repeat, size_t done, size_t all);

  private:
    std::vector<double> first_pass(const std::string& name, std::vector<Case>& cases, double limit,
                                   const Round& round);

    CalibrationJob& job_;
    const CalibrationSettings& settings_;
    double planned_ = 0; ///< shares of the benchmarks that have not begun
    double end_ = 0;     ///< of the time of the one that has; 0: none
};

} // namespace nodeaware::tool
