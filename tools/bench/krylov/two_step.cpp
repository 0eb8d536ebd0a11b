#include "two_step.hpp"

#include "vectors.hpp"

namespace bench::krylov {
namespace {

enum Sum : std::size_t { uu, u_tu, tu_tu, tu_ttu, vv, vu, v_tu, v_tv, tv_tu, rr };

// y = rho (x + a z) + (1 - rho) y
void combine(double rho, const Vector& x, double a, const Vector& z, Vector& y) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = rho * (x[i] + a * z[i]) + (1 - rho) * y[i];
}

} // namespace

double TwoStep::start(const Vector& b) {
    for (Vector& vector : chain_) vector.assign(b.size(), 0);
    for (Vector& vector : before_) vector.assign(b.size(), 0);
    x.assign(b.size(), 0);
    x_before_ = x;
    weight_ = 0;
    chain_[0] = b;
    extend(1, 4);
    return reduce();
}

void TwoStep::extend(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i <= to; ++i) {
        if (i % 2 == 1) matrix.precondition(chain_[i - 1], chain_[i]);
        if (i % 2 == 0) matrix.multiply(chain_[i - 1], chain_[i]);
    }
}

// Two preconditioners and two products while the sum is on its way.
double TwoStep::reduce() {
    const auto& c = chain_;
    const auto& v = before_;
    sums_[uu] = dot(c[0], c[1]);
    sums_[u_tu] = dot(c[1], c[2]);
    sums_[tu_tu] = dot(c[2], c[3]);
    sums_[tu_ttu] = dot(c[3], c[4]);
    sums_[vv] = dot(v[0], v[1]);
    sums_[vu] = dot(v[1], c[0]);
    sums_[v_tu] = dot(v[1], c[2]);
    sums_[v_tv] = dot(v[1], v[2]);
    sums_[tv_tu] = dot(v[3], c[2]);
    sums_[rr] = dot(c[0], c[0]);
    reductions.begin(sums_);
    extend(5, 8);
    reductions.finish();
    return sums_[rr];
}

TwoStep::Step TwoStep::first_step(double gamma) const {
    const double a = gamma / sums_[u_tu];
    return {a, weight_ == 0 ? 1 : 1 / (1 - a * gamma / weight_)};
}

TwoStep::Step TwoStep::second_step(double gamma, const Step& first) {
    // The next u is k u + l T u + m v.
    const double k = first.rho;
    const double l = -first.rho * first.a;
    const double m = 1 - first.rho;
    const auto& s = sums_;
    const double next_gamma = k * k * s[uu] + l * l * s[tu_tu] + m * m * s[vv] +
                              2 * (k * l * s[u_tu] + k * m * s[vu] + l * m * s[v_tu]);
    const double next_delta = k * k * s[u_tu] + l * l * s[tu_ttu] + m * m * s[v_tv] +
                              2 * (k * l * s[tu_tu] + k * m * s[v_tu] + l * m * s[tv_tu]);
    const double a = next_gamma / next_delta;
    const double rho = 1 / (1 - a * next_gamma / (first.a * gamma * first.rho));
    weight_ = a * next_gamma * rho;
    return {a, rho};
}

double TwoStep::step() {
    const double gamma = sums_[uu];
    const Step first = first_step(gamma);
    const Step second = second_step(gamma, first);
    // What was before becomes what comes after; two vectors of the chain are used up each time.
    combine(first.rho, x, first.a, chain_[1], x_before_);
    for (std::size_t i = 0; i < before_.size(); ++i)
        combine(first.rho, chain_[i], -first.a, chain_[i + 2], before_[i]);
    combine(second.rho, x_before_, second.a, before_[1], x);
    for (std::size_t i = 0; i + 2 < before_.size(); ++i)
        combine(second.rho, before_[i], -second.a, before_[i + 2], chain_[i]);
    return reduce();
}

} // namespace bench::krylov
