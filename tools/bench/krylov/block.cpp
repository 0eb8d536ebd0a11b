#include "block.hpp"

#include <algorithm>

namespace bench::krylov {
namespace {

constexpr double diagonal = 26;

// The cells from `begin` to before `end` in each dimension.
struct Region {
    std::array<int, 3> begin;
    std::array<int, 3> end;

    template <class Function> void for_each(Function function) const {
        for (int i = begin[0]; i < end[0]; ++i) {
            for (int j = begin[1]; j < end[1]; ++j)
                for (int k = begin[2]; k < end[2]; ++k) function(i, j, k);
        }
    }
};

// `outside`: of the halo; else of the cells beside it.
Region region_in(const Direction& direction, int cells, bool outside) {
    Region region{{0, 0, 0}, {cells, cells, cells}};
    const int away = outside ? 1 : 0;
    for (std::size_t d = 0; d < 3; ++d) {
        if (direction[d] < 0) region.begin[d] = -away;
        if (direction[d] > 0) region.begin[d] = cells - 1 + away;
        if (direction[d] != 0) region.end[d] = region.begin[d] + 1;
    }
    return region;
}

} // namespace

PoissonBlock::PoissonBlock(int cells) : cells_(cells) {
    const auto side = static_cast<std::size_t>(cells) + 2;
    values_.assign(side * side * side, 0);
    swept_ = values_;
    const std::vector<Direction> directions = halo_directions(3, true);
    const auto here = static_cast<std::ptrdiff_t>(index(0, 0, 0));
    for (std::size_t i = 0; i < lower_.size(); ++i) {
        const Direction& d = directions[i];
        lower_[i] = static_cast<std::ptrdiff_t>(index(d[0], d[1], d[2])) - here;
    }
}

std::size_t PoissonBlock::size() const {
    const auto cells = static_cast<std::size_t>(cells_);
    return cells * cells * cells;
}

std::size_t PoissonBlock::index(int i, int j, int k) const {
    const auto side = static_cast<std::size_t>(cells_) + 2;
    const auto row = static_cast<std::size_t>(i + 1) * side + static_cast<std::size_t>(j + 1);
    return row * side + static_cast<std::size_t>(k + 1);
}

std::size_t PoissonBlock::row_begin(int i, int j) const {
    const auto cells = static_cast<std::size_t>(cells_);
    return (static_cast<std::size_t>(i) * cells + static_cast<std::size_t>(j)) * cells;
}

void PoissonBlock::load(const Vector& x) {
    for (int i = 0; i < cells_; ++i) {
        for (int j = 0; j < cells_; ++j)
            std::copy_n(&x[row_begin(i, j)], cells_, &values_[index(i, j, 0)]);
    }
}

void PoissonBlock::multiply(Vector& y, bool shell) const {
    y.resize(size());
    const int last = cells_ - 1;
    for (int i = 0; i < cells_; ++i) {
        progress_();
        for (int j = 0; j < cells_; ++j) {
            const bool outer = i == 0 || i == last || j == 0 || j == last;
            if (shell && outer) {
                multiply_row(i, j, 0, cells_, y);
            } else if (shell) {
                multiply_row(i, j, 0, 1, y);
                multiply_row(i, j, last, cells_, y);
            } else if (!outer) {
                multiply_row(i, j, 1, last, y);
            }
        }
    }
}

void PoissonBlock::multiply_row(int i, int j, int from, int to, Vector& y) const {
    double* const row = &y[row_begin(i, j)];
    const double* const cells = &values_[index(i, j, 0)];
    for (int k = from; k < to; ++k) {
        double sum = diagonal * cells[k];
        for (const std::ptrdiff_t offset : lower_) sum -= cells[k + offset] + cells[k - offset];
        row[k] = sum;
    }
}

void PoissonBlock::pack(const Direction& direction, std::span<double> values) const {
    auto to = values.begin();
    region_in(direction, cells_, false).for_each([&](int i, int j, int k) {
        *to++ = values_[index(i, j, k)];
    });
}

void PoissonBlock::unpack(const Direction& direction, std::span<const double> values) {
    auto from = values.begin();
    region_in(direction, cells_, true).for_each([&](int i, int j, int k) {
        values_[index(i, j, k)] = *from++;
    });
}

void PoissonBlock::precondition(const Vector& r, Vector& z) {
    z.resize(size());
    const auto sweep_row = [&](int i, int j, bool forward) {
        double* const cells = &swept_[index(i, j, 0)];
        const std::size_t row = row_begin(i, j);
        for (int step = 0; step < cells_; ++step) {
            const int k = forward ? step : cells_ - 1 - step;
            double sum = forward ? r[row + static_cast<std::size_t>(k)] : 0;
            for (const std::ptrdiff_t offset : lower_)
                sum += forward ? cells[k + offset] : cells[k - offset];
            cells[k] = sum / diagonal + (forward ? 0 : cells[k]);
        }
        if (!forward) std::copy_n(cells, cells_, &z[row]);
    };
    for (int i = 0; i < cells_; ++i) {
        progress_();
        for (int j = 0; j < cells_; ++j) sweep_row(i, j, true);
    }
    for (int i = cells_ - 1; i >= 0; --i) {
        progress_();
        for (int j = cells_ - 1; j >= 0; --j) sweep_row(i, j, false);
    }
}

} // namespace bench::krylov
