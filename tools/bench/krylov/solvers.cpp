#include "solvers.hpp"

#include "two_step.hpp"
#include "vectors.hpp"

#include <array>
#include <cmath>

namespace bench::krylov {
namespace {

// Hestenes and Stiefel; the residual's norm goes with the second sum.
class ConjugateGradients : public Solver {
  public:
    using Solver::Solver;

    double start(const Vector& b) override {
        x.assign(b.size(), 0);
        r_ = b;
        reduce();
        gamma_ = sums_[0];
        p_ = u_;
        return sums_[1];
    }

    double step() override {
        matrix.multiply(p_, s_);
        std::array<double, 1> delta{dot(p_, s_)};
        reductions.sum(delta);
        const double alpha = gamma_ / delta[0];
        add(alpha, p_, x);
        add(-alpha, s_, r_);
        reduce();
        add_to_scaled(u_, sums_[0] / gamma_, p_);
        gamma_ = sums_[0];
        return sums_[1];
    }

  private:
    void reduce() {
        matrix.precondition(r_, u_);
        sums_ = {dot(r_, u_), dot(r_, r_)};
        reductions.sum(sums_);
    }

    Vector r_, u_, p_, s_;
    std::array<double, 2> sums_{};
    double gamma_ = 0;
};

// Both factors of an iteration from (r, u) and (u, A u): Chronopoulos and Gear.
class Factors {
  public:
    void start(double gamma, double delta) {
        gamma_ = gamma;
        alpha_ = gamma / delta;
    }
    void advance(double gamma, double delta) {
        beta_ = gamma / gamma_;
        alpha_ = gamma / (delta - beta_ * gamma / alpha_);
        gamma_ = gamma;
    }
    double alpha() const { return alpha_; }
    double beta() const { return beta_; }

  private:
    double gamma_ = 0;
    double alpha_ = 0;
    double beta_ = 0;
};

class SingleReduction : public Solver {
  public:
    using Solver::Solver;

    double start(const Vector& b) override {
        x.assign(b.size(), 0);
        r_ = b;
        reduce();
        factors_.start(sums_[0], sums_[1]);
        p_ = u_;
        s_ = w_;
        return sums_[2];
    }

    double step() override {
        add(factors_.alpha(), p_, x);
        add(-factors_.alpha(), s_, r_);
        reduce();
        factors_.advance(sums_[0], sums_[1]);
        add_to_scaled(u_, factors_.beta(), p_);
        add_to_scaled(w_, factors_.beta(), s_);
        return sums_[2];
    }

  private:
    void reduce() {
        matrix.precondition(r_, u_);
        matrix.multiply(u_, w_);
        sums_ = {dot(r_, u_), dot(u_, w_), dot(r_, r_)};
        reductions.sum(sums_);
    }

    Vector r_, u_, w_, p_, s_;
    std::array<double, 3> sums_{};
    Factors factors_;
};

// Gropp: one sum during the preconditioner, one during the product.
class Nonblocking : public Solver {
  public:
    using Solver::Solver;

    double start(const Vector& b) override {
        x.assign(b.size(), 0);
        r_ = b;
        matrix.precondition(r_, u_);
        reduce();
        gamma_ = sums_[0];
        p_ = u_;
        s_ = w_;
        return sums_[1];
    }

    double step() override {
        std::array<double, 1> delta{dot(p_, s_)};
        reductions.begin(delta);
        matrix.precondition(s_, q_);
        reductions.finish();
        const double alpha = gamma_ / delta[0];
        add(alpha, p_, x);
        add(-alpha, s_, r_);
        add(-alpha, q_, u_);
        reduce();
        const double beta = sums_[0] / gamma_;
        gamma_ = sums_[0];
        add_to_scaled(u_, beta, p_);
        add_to_scaled(w_, beta, s_);
        return sums_[1];
    }

  private:
    void reduce() {
        sums_ = {dot(r_, u_), dot(r_, r_)};
        reductions.begin(sums_);
        matrix.multiply(u_, w_);
        reductions.finish();
    }

    Vector r_, u_, w_, p_, s_, q_; // u = M r, w = A u, s = A p, q = M s
    std::array<double, 2> sums_{};
    double gamma_ = 0;
};

// Ghysels and Vanroose: one sum during both.
class Pipelined : public Solver {
  public:
    using Solver::Solver;

    double start(const Vector& b) override {
        x.assign(b.size(), 0);
        r_ = b;
        matrix.precondition(r_, u_);
        matrix.multiply(u_, w_);
        reduce();
        factors_.start(sums_[0], sums_[1]);
        p_ = u_;
        s_ = w_;
        q_ = m_;
        z_ = n_;
        return sums_[2];
    }

    double step() override {
        const double alpha = factors_.alpha();
        add(alpha, p_, x);
        add(-alpha, s_, r_);
        add(-alpha, q_, u_);
        add(-alpha, z_, w_);
        reduce();
        factors_.advance(sums_[0], sums_[1]);
        const double beta = factors_.beta();
        add_to_scaled(u_, beta, p_);
        add_to_scaled(w_, beta, s_);
        add_to_scaled(m_, beta, q_);
        add_to_scaled(n_, beta, z_);
        return sums_[2];
    }

  private:
    void reduce() {
        sums_ = {dot(r_, u_), dot(u_, w_), dot(r_, r_)};
        reductions.begin(sums_);
        matrix.precondition(w_, m_);
        matrix.multiply(m_, n_);
        reductions.finish();
    }

    Vector r_, u_, w_, m_, n_; // u = M r, w = A u, m = M w, n = A m
    Vector p_, s_, q_, z_;     // s = A p, q = M s, z = A q
    std::array<double, 3> sums_{};
    Factors factors_;
};

template <class Kind> std::unique_ptr<Solver> make(Operator& matrix, Reductions& reductions) {
    return std::make_unique<Kind>(matrix, reductions);
}

struct SolverKind {
    const char* name;
    std::unique_ptr<Solver> (*make)(Operator& matrix, Reductions& reductions);
};

constexpr std::array solver_kinds{
    SolverKind{"cg", make<ConjugateGradients>}, SolverKind{"sapcg", make<SingleReduction>},
    SolverKind{"nbpcg", make<Nonblocking>}, SolverKind{"pipecg", make<Pipelined>},
    SolverKind{"pipe2cg", make<TwoStep>}};

} // namespace

std::vector<std::string> solver_names() {
    std::vector<std::string> names;
    names.reserve(solver_kinds.size());
    for (const SolverKind& kind : solver_kinds) names.emplace_back(kind.name);
    return names;
}

std::unique_ptr<Solver> make_solver(const std::string& name, Operator& matrix,
                                    Reductions& reductions) {
    for (const SolverKind& kind : solver_kinds)
        if (name == kind.name) return kind.make(matrix, reductions);
    return nullptr;
}

Solution solve(Solver& solver, const Reductions& reductions, const Vector& b, const Limits& limits,
               double (*clock)()) {
    Solution solution;
    double square = solver.start(b); // of the norm of b, as x = 0
    // The residual of the recurrences and the true one differ in the last digits.
    const double goal = square * std::pow(0.99 * limits.tolerance, 2);
    const Reductions::Calls before = reductions.calls();
    const double begin = clock();
    const int more = solver.iterations_per_step();
    while (square > goal && solution.iterations + more <= limits.iterations) {
        square = solver.step();
        solution.iterations += more;
    }
    solution.seconds = clock() - begin;
    solution.is_converged = square <= goal;
    solution.calls = {reductions.calls().blocking - before.blocking,
                      reductions.calls().nonblocking - before.nonblocking};
    return solution;
}

double relative_residual(Operator& matrix, Reductions& reductions, const Vector& b,
                         const Vector& x) {
    Vector r(b.size());
    matrix.multiply(x, r);
    add(-1, b, r);
    std::array<double, 2> squares{dot(r, r), dot(b, b)};
    reductions.sum(squares);
    return std::sqrt(squares[0] / squares[1]);
}

} // namespace bench::krylov
