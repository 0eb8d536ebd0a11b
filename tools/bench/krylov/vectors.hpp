// What solvers do with this rank's part of vectors.
#pragma once

#include "solvers.hpp"

#include <numeric>

namespace bench::krylov {

inline double dot(const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// y += a x
inline void add(double a, const Vector& x, Vector& y) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += a * x[i];
}

// y = x + b y
inline void add_to_scaled(const Vector& x, double b, Vector& y) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[i] + b * y[i];
}

} // namespace bench::krylov
