#include "tools/triangular/system.hpp"

#include "tools/triangular/indices.hpp"

#include <cmath>
#include <cstdint>
#include <utility>

namespace triangular {
namespace {

// to += scale L x
void add_product(const LowerFactor& factor, const std::vector<double>& x, double scale,
                 std::vector<double>& to) {
    for (int column = 0; column < factor.size; ++column) {
        for (int i = factor.begin[at(column)]; i < factor.begin[at(column + 1)]; ++i)
            to[at(factor.rows[at(i)])] += scale * factor.values[at(i)] * x[at(column)];
    }
}

double norm(const std::vector<double>& values) {
    double squared = 0;
    for (const double value : values) squared += value * value;
    return std::sqrt(squared);
}

} // namespace

System system_of(LowerFactor factor) {
    std::vector<double> x;
    x.reserve(at(factor.size));
    for (int i = 0; i < factor.size; ++i)
        x.push_back(static_cast<double>((std::int64_t{73} * i + 11) % 97 + 1) / 97);
    System system{std::move(factor), std::vector<double>(x.size(), 0)};
    add_product(system.factor, x, 1, system.right_side);
    return system;
}

double relative_residual(const System& system, const std::vector<double>& x) {
    std::vector<double> rest = system.right_side;
    add_product(system.factor, x, -1, rest);
    return norm(rest) / norm(system.right_side);
}

} // namespace triangular
