#pragma once

#include "tools/fit/measurement_files.hpp"

#include <optional>
#include <span>

namespace nodeaware::tuning {

/// Seconds that each further copy of a stream adds beside its bytes: the `next` of
/// T(n, s) = T(1, s) + (n - 1) (next + beta s), by least squares of residuals relative to T(n, s).
/// `series` are the copies of one kind, `beta` is of those that are waited for one by one; sizes
/// that these lack tell nothing. Nothing where no process gave its stream more than one; else at
/// least 0, and at most what a copy takes beside its bytes by itself.
std::optional<double> fit_next_copy(std::span<const Measurements::Copies* const> series,
                                    double beta);

} // namespace nodeaware::tuning
