// Conjugate gradients with a preconditioner in five forms that reduce differently (Eller, Hoefler
// and Gropp, section 3.1). They know nothing of MPI.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bench::krylov {

using Vector = std::vector<double>; // this rank's part

// A and M of A x = b, both symmetric and positive definite; M approximates the inverse of A.
class Operator {
  public:
    virtual ~Operator() = default;
    virtual std::size_t size() const = 0;
    virtual void multiply(const Vector& x, Vector& y) = 0;     // y = A x
    virtual void precondition(const Vector& r, Vector& z) = 0; // z = M r
};

// Sums over all ranks, counted.
class Reductions {
  public:
    struct Calls {
        std::int64_t blocking = 0;
        std::int64_t nonblocking = 0;
    };

    virtual ~Reductions() = default;
    void sum(std::span<double> values) {
        ++calls_.blocking;
        do_sum(values);
    }
    // One at a time; `values` are to be left alone until finish() returns.
    void begin(std::span<double> values) {
        ++calls_.nonblocking;
        do_begin(values);
    }
    virtual void finish() = 0;
    const Calls& calls() const { return calls_; }

  private:
    virtual void do_sum(std::span<double> values) = 0;
    virtual void do_begin(std::span<double> values) = 0;

    Calls calls_;
};

class Solver {
  public:
    Solver(Operator& a, Reductions& sums) : matrix(a), reductions(sums) {}
    virtual ~Solver() = default;
    Solver(const Solver&) = delete;
    Solver& operator=(const Solver&) = delete;

    // All that comes before the first iteration, from x = 0. Returns the square of the residual's
    // norm.
    virtual double start(const Vector& b) = 0;
    // Some iterations; the same.
    virtual double step() = 0;
    virtual int iterations_per_step() const { return 1; }
    const Vector& solution() const { return x; }

  protected:
    Operator& matrix;
    Reductions& reductions;
    Vector x;
};

std::vector<std::string> solver_names();
// One of these names.
std::unique_ptr<Solver> make_solver(const std::string& name, Operator& matrix,
                                    Reductions& reductions);

struct Limits {
    double tolerance; // of the residual's norm, relative to that of b
    int iterations;
};

struct Solution {
    int iterations = 0;
    bool is_converged = false;
    double seconds = 0;      // all iterations took, without the start
    Reductions::Calls calls; // in them
};

// `clock` tells seconds.
Solution solve(Solver& solver, const Reductions& reductions, const Vector& b, const Limits& limits,
               double (*clock)());

// |b - A x| / |b|. More than the solver believes where rounding errors have added up.
double relative_residual(Operator& matrix, Reductions& reductions, const Vector& b,
                         const Vector& x);

} // namespace bench::krylov
