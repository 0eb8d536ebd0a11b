#include "tools/models/triangular_figure.hpp"
#include "tools/models/triangular_levels.hpp"
#include "tools/models/triangular_schedule.hpp"
#include "tools/triangular/factor.hpp"
#include "tuning_toy_table.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace nodeaware::tuning {
namespace {

using namespace triangular;

/// All places of the triangle, in supernodes of one column.
Supernodes dense(int size) {
    LowerFactor factor;
    factor.size = size;
    factor.begin = {0};
    for (int column = 0; column < size; ++column) {
        for (int row = column; row < size; ++row) {
            factor.rows.push_back(row);
            factor.values.push_back(1);
        }
        factor.begin.push_back(static_cast<int>(factor.rows.size()));
    }
    return supernodes_of(factor, {1, 1});
}

double solve(int size, const ProcessGrid& grid, const std::vector<int>& node_of) {
    const ModelTable table = toy_table();
    const Supernodes supernodes = dense(size);
    const Topology topology(node_of);
    return scheduled_solve(supernodes, distribute(supernodes, grid, TreeKind::binary, topology),
                           topology, TriangularCosts(table));
}

// Of the toy table: an entry 0.2 s (two operations of 0.1; 8 bytes at 100 bytes/s take less), half
// of that on the diagonal; 8 bytes to another node 10.8 s, of which they occupy the link for 0.008.
TEST(TriangularSchedule, AddsUpOneRanksWork) {
    EXPECT_NEAR(solve(1, {1, 1}, {0}), 0.1, 1e-12);
    EXPECT_NEAR(solve(3, {1, 1}, {0}), 3 * 0.1 + 3 * 0.2, 1e-12);
}

TEST(TriangularSchedule, WaitsForMessages) {
    // x goes to the row's rank, which multiplies; or is multiplied where it is, and the sum goes.
    EXPECT_NEAR(solve(2, {2, 1}, {0, 1}), 0.1 + 10.8 + 0.2 + 0.1, 1e-12);
    EXPECT_NEAR(solve(2, {1, 2}, {0, 1}), 0.1 + 0.2 + 10.8 + 0.1, 1e-12);
    const ModelTable table = toy_table();
    const double on_node = TriangularCosts(table).message(8, true);
    EXPECT_LT(on_node, 10);
    EXPECT_NEAR(solve(2, {2, 1}, {0, 0}), 0.1 + on_node + 0.2 + 0.1, 1e-12);
}

TEST(TriangularSchedule, SendsOneMessageOfANodeAfterTheOther) {
    // x(0) to ranks 1 and 2; x(1) of rank 1, after one product, to rank 2, which has row 2.
    const double x1 = 0.1 + 10.8 + 0.2 + 0.1;
    EXPECT_NEAR(solve(3, {3, 1}, {0, 1, 2}), x1 + 10.8 + 0.2 + 0.1, 1e-12);
    ModelTable table = toy_table();
    table.path(Memory::host, Locality::network).gaps = {10.0, 10.0, 10.0};
    const Supernodes supernodes = dense(3);
    const Topology topology(std::vector<int>{0, 0, 1});
    const Distribution distribution = distribute(supernodes, {3, 1}, TreeKind::flat, topology);
    // x(0) goes to rank 2 at once, and x(1), which is known much earlier than the link is free,
    // when that message has left.
    const double occupied = TriangularCosts(table).occupancy(8);
    EXPECT_NEAR(occupied, 10.008, 1e-9);
    EXPECT_NEAR(scheduled_solve(supernodes, distribution, topology, TriangularCosts(table)),
                0.1 + occupied + 10.8 + 0.2 + 0.1, 1e-9);
}

TEST(TriangularSchedule, GainsByTreesOfNodes) {
    ModelTable table = toy_table();
    table.path(Memory::host, Locality::network).gaps = {10.0, 10.0, 10.0};
    const Topology topology(std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3});
    const Supernodes supernodes = dense(64);
    const auto seconds = [&](TreeKind kind) {
        return scheduled_solve(supernodes, distribute(supernodes, {16, 1}, kind, topology),
                               topology, TriangularCosts(table));
    };
    EXPECT_LT(2 * seconds(TreeKind::node), seconds(TreeKind::binary));
}

// Figure 5: columns are better than both, and these than rows, which one thread sends sums of.
TEST(TriangularLevels, HaveTheShapeOfThePaper) {
    if (!has_factorization()) { GTEST_SKIP() << "built without Eigen"; }
    const Supernodes supernodes = supernodes_of(cholesky(poisson({24, 24, 24}), "grid"), {});
    const SolvingGpus gpus;
    const auto seconds = [&](int rows, int columns) {
        return solve_by_levels(supernodes, {rows, columns}, gpus).total();
    };
    EXPECT_LT(seconds(6, 1), seconds(3, 2));
    EXPECT_LT(seconds(3, 2), seconds(1, 6));
    EXPECT_LT(seconds(1, 1), seconds(1, 6)); // "the single GPU outperforms"
    // Between nodes messages are slower, and so is the solve, for all that it has more GPUs.
    EXPECT_LT(seconds(6, 1), seconds(12, 1));
}

TEST(TriangularLevels, ShareBandwidthWithinBounds) {
    const Supernodes one = dense(1);
    const LevelTimes times = solve_by_levels(one, {1, 1}, {});
    EXPECT_DOUBLE_EQ(times.computation, 8 / 5.2e9); // one block has no more than that
    EXPECT_EQ(times.communication, 0);
    SolvingGpus slow;
    slow.bandwidth = 1;
    EXPECT_DOUBLE_EQ(solve_by_levels(one, {1, 1}, slow).computation, 8 / 1.3e9);
}

TEST(TriangularLevels, CountOneMessageOfTwo) {
    SolvingGpus gpus;
    const Supernodes two = dense(2);
    EXPECT_DOUBLE_EQ(solve_by_levels(two, {2, 1}, gpus).communication, 1024 / gpus.on_socket);
    EXPECT_DOUBLE_EQ(solve_by_levels(two, {1, 2}, gpus).communication, 9 * 1024 / gpus.on_socket);
    gpus.per_node = 1;
    EXPECT_DOUBLE_EQ(solve_by_levels(two, {1, 2}, gpus).communication, 1024 / gpus.between_nodes);
    gpus.per_node = 4;
    // To four others, two of them on another node: log2(5) messages of the slowest.
    EXPECT_DOUBLE_EQ(solve_by_levels(dense(6), {6, 1}, gpus).communication,
                     std::log2(5) * 1024 / gpus.between_nodes);
}

TEST(TriangularCurves, AreOverProcesses) {
    ModelTable table = toy_table();
    TriangularInput input;
    input.factor.size = 2;
    input.factor.begin = {0, 2, 3};
    input.factor.rows = {0, 1, 1};
    input.factor.values = {1, 1, 1};
    input.name = "two";
    EXPECT_THROW(triangular_curves(table, 0, input), TableError);
    input.processes_per_node = 3;
    input.nodes = 2;
    const CurveTable curves = triangular_curves(table, 0, input);
    ASSERT_EQ(curves.rows.size(), 4U);
    EXPECT_EQ(curves.rows.back().at, 6);
    EXPECT_EQ(curves.curves.size(), 3U);
    input.nodes = 4096;
    EXPECT_THROW(triangular_curves(table, 0, input), std::invalid_argument);
    EXPECT_EQ(triangular_curves(table, 5, input).rows.size(), 6U);
    const CurveTable parts = triangular_curves(table, 7, input);
    for (const CurveTable::Row& row : parts.rows) {
        EXPECT_DOUBLE_EQ(*row.seconds[0] + *row.seconds[1], *row.seconds[2]);
    }
}

} // namespace
} // namespace nodeaware::tuning
