#pragma once

#include "tools/fit/least_squares.hpp"

#include <vector>

namespace nodeaware::tuning {

struct SwitchOptions {
    int most_protocols = 3;
    int fewest_points = 3; ///< of each protocol on each curve
    /// A line that is within this part of the measured times needs no further protocol.
    double noise = 0.03;
};

/// Where the curves change from one line to the next: for each curve, the largest sizes (bytes) of
/// all its protocols but the last, ascending.
///
/// MPI switches protocols by size, and a jump shows on one path better than on another: the switch
/// points are first sought for all `curves` together (of one memory kind, one curve per locality),
/// as those that minimize the Bayesian information criterion of relative residuals. Then each curve
/// drops those that it has no use for, because implementations differ by locality, and takes its
/// own instead where these describe it far better.
std::vector<std::vector<double>> find_switch_points(const std::vector<std::vector<Point>>& curves,
                                                    const SwitchOptions& options);

/// The parts of a curve up to each limit, and after the last.
std::vector<std::vector<Point>> cut(const std::vector<Point>& curve,
                                    const std::vector<double>& limits);

} // namespace nodeaware::tuning
