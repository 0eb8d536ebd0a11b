#include "tools/bench/krylov/block.hpp"
#include "tools/bench/krylov/halo.hpp"
#include "tools/bench/krylov/vectors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

namespace bench::krylov {
namespace {

struct Work {
    int products = 0;
    int preconditioners = 0;
    bool operator==(const Work&) const = default;
};

// The whole problem on one rank.
class OneBlock : public Operator {
  public:
    explicit OneBlock(int cells) : block_(cells) {}

    std::size_t size() const override { return block_.size(); }
    void multiply(const Vector& x, Vector& y) override {
        ++work.products;
        block_.load(x);
        block_.multiply_interior(y);
        block_.multiply_shell(y);
    }
    void precondition(const Vector& r, Vector& z) override {
        ++work.preconditioners;
        block_.precondition(r, z);
    }

    Work work;

  private:
    PoissonBlock block_;
};

// Sums of one rank, which nobody can read before they are finished. Knows what was done meanwhile.
class LateReductions : public Reductions {
  public:
    explicit LateReductions(const OneBlock& matrix) : matrix_(matrix) {}

    void finish() override {
        std::copy(sums_.begin(), sums_.end(), pending_.begin());
        overlapped = {matrix_.work.products - begun_.products,
                      matrix_.work.preconditioners - begun_.preconditioners};
    }

    Work overlapped; // with the last sum

  private:
    void do_sum(std::span<double>) override {}
    void do_begin(std::span<double> values) override {
        pending_ = values;
        sums_.assign(values.begin(), values.end());
        std::fill(values.begin(), values.end(), std::numeric_limits<double>::quiet_NaN());
        begun_ = matrix_.work;
    }

    const OneBlock& matrix_;
    std::span<double> pending_;
    Vector sums_;
    Work begun_;
};

Vector random_vector(std::size_t size, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> values(-1, 1);
    Vector vector(size);
    for (double& value : vector) value = values(generator);
    return vector;
}

double no_time() { return 0; }

struct Solved {
    Solution solution;
    Vector x;
    double residual;
    Work overlapped;
};

Solved solve_by(const std::string& name, const Vector& b, int cells, Limits limits) {
    OneBlock matrix(cells);
    LateReductions reductions(matrix);
    const std::unique_ptr<Solver> solver = make_solver(name, matrix, reductions);
    const Solution solution = solve(*solver, reductions, b, limits, no_time);
    const double residual = relative_residual(matrix, reductions, b, solver->solution());
    return {solution, solver->solution(), residual, reductions.overlapped};
}

} // namespace

TEST(Halo, FacesEdgesAndCorners) {
    std::map<int, int> sizes;
    for (const HaloMessage& message : halo_messages(5, 3, true)) ++sizes[message.values];
    EXPECT_EQ(sizes, (std::map<int, int>{{25, 6}, {5, 12}, {1, 8}}));
    sizes.clear();
    for (const HaloMessage& message : halo_messages(5, 3, false)) ++sizes[message.values];
    EXPECT_EQ(sizes, (std::map<int, int>{{25, 6}}));
    sizes.clear();
    for (const HaloMessage& message : halo_messages(5, 2, true)) ++sizes[message.values];
    EXPECT_EQ(sizes, (std::map<int, int>{{5, 4}, {1, 4}}));
    ASSERT_EQ(halo_messages(5, 1, true).size(), 2U);
    EXPECT_EQ(halo_messages(5, 1, true)[0].values, 1);
}

TEST(Halo, OppositeDirectionsMirrorEachOther) {
    for (const int dimensions : {1, 2, 3}) {
        const std::vector<Direction> all = halo_directions(dimensions, true);
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (std::size_t d = 0; d < 3; ++d) EXPECT_EQ(all[i][d], -all[all.size() - 1 - i][d]);
        }
    }
}

TEST(PoissonBlock, RowsHave27Points) {
    OneBlock matrix(3);
    Vector x(27, 0);
    Vector y;
    x[13] = 1; // the middle, which all others have for a neighbour
    matrix.multiply(x, y);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], i == 13 ? 26 : -1);
    matrix.multiply(Vector(27, 1), y);
    EXPECT_EQ(y[0], 26 - 7); // a corner
    EXPECT_EQ(y[13], 0);
}

TEST(PoissonBlock, MatrixAndPreconditionerAreSymmetricAndPositive) {
    OneBlock matrix(4);
    const Vector a = random_vector(matrix.size(), 1);
    const Vector b = random_vector(matrix.size(), 2);
    Vector of_a;
    Vector of_b;
    matrix.multiply(a, of_a);
    matrix.multiply(b, of_b);
    EXPECT_NEAR(dot(of_a, b), dot(a, of_b), 1e-11);
    EXPECT_GT(dot(of_a, a), 0);
    matrix.precondition(a, of_a);
    matrix.precondition(b, of_b);
    EXPECT_NEAR(dot(of_a, b), dot(a, of_b), 1e-13);
    EXPECT_GT(dot(of_a, a), 0);
}

// Eight blocks with halos multiply like the one that they make together.
TEST(PoissonBlock, BlocksWithHalosAreOneMatrix) {
    constexpr int cells = 3;
    const std::array<int, 3> grid{2, 2, 2};
    OneBlock whole(2 * cells);
    const Vector x = random_vector(whole.size(), 3);
    Vector expected;
    whole.multiply(x, expected);
    const auto place_in_whole = [&](int rank, int cell) {
        const std::array<int, 3> block = place_on_grid(rank, grid);
        const std::array<int, 3> in_block = place_on_grid(cell, {cells, cells, cells});
        int place = 0;
        for (std::size_t d = 0; d < 3; ++d)
            place = place * 2 * cells + block[d] * cells + in_block[d];
        return static_cast<std::size_t>(place);
    };
    std::vector<PoissonBlock> blocks(8, PoissonBlock(cells));
    for (int rank = 0; rank < 8; ++rank) {
        Vector own;
        for (int cell = 0; cell < cells * cells * cells; ++cell)
            own.push_back(x[place_in_whole(rank, cell)]);
        blocks[static_cast<std::size_t>(rank)].load(own);
    }
    for (int rank = 0; rank < 8; ++rank) {
        for (const HaloMessage& message : halo_messages(cells, 3, true)) {
            const int neighbour = grid_neighbour(rank, grid, message.direction, false);
            if (neighbour < 0) continue;
            Direction back = message.direction;
            for (int& step : back) step = -step;
            Vector values(static_cast<std::size_t>(message.values));
            blocks[static_cast<std::size_t>(neighbour)].pack(back, values);
            blocks[static_cast<std::size_t>(rank)].unpack(message.direction, values);
        }
    }
    for (int rank = 0; rank < 8; ++rank) {
        Vector y;
        blocks[static_cast<std::size_t>(rank)].multiply_interior(y);
        blocks[static_cast<std::size_t>(rank)].multiply_shell(y);
        for (int cell = 0; cell < cells * cells * cells; ++cell) {
            EXPECT_NEAR(y[static_cast<std::size_t>(cell)], expected[place_in_whole(rank, cell)],
                        1e-13);
        }
    }
}

TEST(Solvers, AgreeOnOneRank) {
    constexpr int cells = 12;
    const Vector b = random_vector(std::size_t{cells} * cells * cells, 4);
    const Solved reference = solve_by("cg", b, cells, {1e-8, 500});
    EXPECT_GT(reference.solution.iterations, 5);
    for (const std::string& name : solver_names()) {
        SCOPED_TRACE(name);
        const Solved solved = solve_by(name, b, cells, {1e-8, 500});
        EXPECT_TRUE(solved.solution.is_converged);
        EXPECT_LE(solved.residual, 1e-8);
        EXPECT_LE(std::abs(solved.solution.iterations - reference.solution.iterations), 2);
        for (std::size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(solved.x[i], reference.x[i], 1e-8);
    }
}

// The iterates are those of conjugate gradients, one by one.
TEST(Solvers, AgreeAfterTheSameIterations) {
    constexpr int cells = 10;
    const Vector b = random_vector(std::size_t{cells} * cells * cells, 5);
    for (const int iterations : {2, 4, 6, 10}) {
        const Solved reference = solve_by("cg", b, cells, {0, iterations});
        for (const std::string& name : solver_names()) {
            SCOPED_TRACE(name);
            const Solved solved = solve_by(name, b, cells, {0, iterations});
            EXPECT_EQ(solved.solution.iterations, iterations);
            EXPECT_NEAR(solved.residual / reference.residual, 1, 1e-6);
        }
    }
}

TEST(Solvers, SumAsOftenAsTheyShould) {
    struct Expected {
        double blocking, nonblocking;
        Work overlapped; // with the last sum of an iteration: products, preconditioners
    };
    const std::map<std::string, Expected> all{{"cg", {2, 0, {0, 0}}},
                                              {"sapcg", {1, 0, {0, 0}}},
                                              {"nbpcg", {0, 2, {1, 0}}},
                                              {"pipecg", {0, 1, {1, 1}}},
                                              {"pipe2cg", {0, 0.5, {2, 2}}}};
    const Vector b = random_vector(512, 6);
    ASSERT_EQ(solver_names().size(), all.size());
    for (const std::string& name : solver_names()) {
        SCOPED_TRACE(name);
        const Solved solved = solve_by(name, b, 8, {0, 8});
        const Expected& expected = all.at(name);
        EXPECT_EQ(double(solved.solution.calls.blocking) / 8, expected.blocking);
        EXPECT_EQ(double(solved.solution.calls.nonblocking) / 8, expected.nonblocking);
        EXPECT_EQ(solved.overlapped, expected.overlapped);
    }
}

TEST(Solvers, EndAtTheLimitBeforeTheyConverge) {
    const Vector b = random_vector(512, 7);
    for (const std::string& name : solver_names()) {
        const Solved solved = solve_by(name, b, 8, {1e-8, 3});
        EXPECT_FALSE(solved.solution.is_converged);
        EXPECT_EQ(solved.solution.iterations, name == "pipe2cg" ? 2 : 3);
        EXPECT_GT(solved.residual, 1e-8);
    }
}

} // namespace bench::krylov
