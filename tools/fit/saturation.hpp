#pragma once

#include "tools/fit/measurement_files.hpp"
#include "tuning/model_table.hpp"

#include <optional>
#include <span>

namespace nodeaware::tuning {

/// How the time of messages that k processes of a node send at the same time grows with k, as the
/// exponent of a power of k: 0 where each process has a rate of its own, so that the rate of the
/// node grows with k, and 1 where they share R_N, which is then what they show. Of messages of one
/// size by half of the most processes on, without the start and the gaps that `path` has; the
/// median over those sizes whose bytes take one process longer than their start (of the largest
/// where there are none). Nothing where no size has several numbers of processes.
std::optional<double> growth_with_processes(std::span<const Measurements::Simultaneous> samples,
                                            const Path& path);

/// Growth from which on R_N is measured: it is reached by some 0.6 of the most processes.
constexpr double growth_of_limit = 0.75;

} // namespace nodeaware::tuning
