// A rank's part of the 27-point Poisson matrix: 26 in the diagonal, -1 for each neighbour, nothing
// beyond the grid's ends.
#pragma once

#include "solvers.hpp"
#include "tools/bench/directions.hpp"

#include <array>
#include <functional>
#include <span>

namespace bench::krylov {

// A cube of `cells` cells in each dimension with a halo around it, which is 0 until it is unpacked.
// Vectors have its cells alone, the third dimension running fastest.
class PoissonBlock {
  public:
    explicit PoissonBlock(int cells);

    std::size_t size() const;
    // `call` now and then during what takes time.
    void set_progress(std::function<void()> call) { progress_ = std::move(call); }

    // y = A x: first load(x), then the cells that need no halo, and with the halo the others.
    void load(const Vector& x);
    void multiply_interior(Vector& y) const { multiply(y, false); }
    void multiply_shell(Vector& y) const { multiply(y, true); }

    // What the neighbour in that direction needs of what was loaded, and what it has sent.
    void pack(const Direction& direction, std::span<double> values) const;
    void unpack(const Direction& direction, std::span<const double> values);

    // z = M r: a symmetric Gauss-Seidel sweep over this block alone, M^-1 = (D + L) D^-1 (D + U).
    void precondition(const Vector& r, Vector& z);

  private:
    std::size_t index(int i, int j, int k) const; // from -1, the halo, to cells
    std::size_t row_begin(int i, int j) const;    // of vectors
    void multiply(Vector& y, bool shell) const;
    void multiply_row(int i, int j, int from, int to, Vector& y) const;

    int cells_;
    std::array<std::ptrdiff_t, 13> lower_{}; // from a cell to its neighbours before it
    Vector values_;
    Vector swept_; // its halo stays 0
    std::function<void()> progress_ = [] {};
};

} // namespace bench::krylov
