// Conjugate gradients of which two iterations need one sum.
#pragma once

#include "solvers.hpp"

#include <array>

namespace bench::krylov {

// In three terms, with T = M A and the inner product <a, b> = (a, M^-1 b):
//
//     u' = rho (u - a T u) + (1 - rho) v,  a = <u, u> / <u, T u>,  1 / rho = 1 - a <u, u> / (a <u,
//     u> rho before)
//
// for u = M r, the one before, v, and the one after, u'. <u', u'> and <u', T u'> of the second
// iteration follow from inner products of u, T u, T^2 u, v and T v, which need nothing but the
// vectors there are when the sum begins.
class TwoStep : public Solver {
  public:
    using Solver::Solver;

    double start(const Vector& b) override;
    double step() override;
    int iterations_per_step() const override { return 2; }

  private:
    struct Step {
        double a;
        double rho;
    };

    void extend(std::size_t from, std::size_t to);
    double reduce();
    Step first_step(double gamma) const;
    Step second_step(double gamma, const Step& first);

    // r, M r, A M r, M A M r, ...: of the last iteration, and of the one before.
    std::array<Vector, 9> chain_;
    std::array<Vector, 7> before_;
    Vector x_before_;
    std::array<double, 10> sums_{};
    double weight_ = 0; // a <u, u> rho of the last iteration; 0: there was none
};

} // namespace bench::krylov
