#pragma once

#include "tools/fit/fit.hpp"

#include <string>
#include <vector>

namespace nodeaware::tool {

/// One parameter of two tables; NAN where the fitted one lacks it.
struct Compared {
    std::string key;
    double published = 0;
    double fitted = 0;
    double difference() const { return fitted / published - 1; }
};

struct Comparison {
    std::string name; ///< of the table
    std::vector<Compared> rows;
};

/// On stderr.
void print_warnings(const tuning::FitResult& result);

/// Prints the lines of a fit with their residuals, as text or as JSON with the table.
void print_fit(const tuning::FitResult& result, bool as_json, const Comparison& comparison);

/// "usable", or "noisy: repeat" and what is.
std::string verdict_of(const tuning::FitResult& result);

/// For fingerprints: 2026-01-31.
std::string today();

} // namespace nodeaware::tool
