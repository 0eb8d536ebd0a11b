// A triangular system whose solution is known, and how far off a computed one is.
#pragma once

#include "tools/triangular/factor.hpp"

#include <vector>

namespace triangular {

struct System {
    LowerFactor factor;
    std::vector<double> right_side;
};

// Of a solution that all know, in which no two neighbours are alike.
System system_of(LowerFactor factor);

// |b - L x| / |b|
double relative_residual(const System& system, const std::vector<double>& x);

} // namespace triangular
