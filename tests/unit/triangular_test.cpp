#include "tools/triangular/dissection.hpp"
#include "tools/triangular/distribution.hpp"
#include "tools/triangular/factor.hpp"
#include "tools/triangular/indices.hpp"
#include "tools/triangular/supernodes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>

namespace triangular {
namespace {

Graph random_graph(std::mt19937& random, int vertices, int edges) {
    std::vector<std::set<int>> neighbours(at(vertices));
    for (int i = 0; i < edges; ++i) {
        const int a = static_cast<int>(random() % at(vertices));
        const int b = static_cast<int>(random() % at(vertices));
        if (a == b) continue;
        neighbours[at(a)].insert(b);
        neighbours[at(b)].insert(a);
    }
    Graph graph;
    for (const auto& one : neighbours) graph.emplace_back(one.begin(), one.end());
    return graph;
}

Graph grid_graph(int side) {
    Graph graph(at(side * side));
    for (int v = 0; v < side * side; ++v) {
        if (v % side > 0) graph[at(v)].push_back(v - 1);
        if (v % side + 1 < side) graph[at(v)].push_back(v + 1);
        if (v >= side) graph[at(v)].push_back(v - side);
        if (v + side < side * side) graph[at(v)].push_back(v + side);
    }
    return graph;
}

// The places of the factor below the diagonal, by elimination as it is defined: of each column
// those of later rows, by places in the order.
std::vector<std::set<int>> eliminate(const Graph& graph, const std::vector<int>& order) {
    std::vector<int> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[at(order[i])] = static_cast<int>(i);
    std::vector<std::set<int>> below(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (const int w : graph[at(order[i])]) {
            if (place[at(w)] > static_cast<int>(i)) below[i].insert(place[at(w)]);
        }
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (below[i].empty()) continue;
        const int first = *below[i].begin();
        below[at(first)].insert(std::next(below[i].begin()), below[i].end());
    }
    return below;
}

std::size_t entries(const std::vector<std::set<int>>& below) {
    std::size_t sum = 0;
    for (const auto& column : below) sum += column.size();
    return sum;
}

bool is_permutation_of_all(std::vector<int> order) {
    std::sort(order.begin(), order.end());
    std::vector<int> all(order.size());
    std::iota(all.begin(), all.end(), 0);
    return order == all;
}

LowerFactor factor_of(const std::vector<std::set<int>>& below, std::mt19937& random) {
    LowerFactor factor;
    factor.size = static_cast<int>(below.size());
    factor.begin.push_back(0);
    const auto value = [&] { return static_cast<double>(random() % 100 + 1); };
    for (std::size_t column = 0; column < below.size(); ++column) {
        factor.rows.push_back(static_cast<int>(column));
        factor.values.push_back(value());
        for (const int row : below[column]) {
            factor.rows.push_back(row);
            factor.values.push_back(value());
        }
        factor.begin.push_back(static_cast<int>(factor.rows.size()));
    }
    return factor;
}

LowerFactor random_factor(std::mt19937& random, int vertices, int edges) {
    const Graph graph = random_graph(random, vertices, edges);
    const std::vector<int> dissected = nested_dissection(graph);
    std::vector<int> order;
    for (const int place : postorder(elimination_tree(graph, dissected)))
        order.push_back(dissected[at(place)]);
    return factor_of(eliminate(graph, order), random);
}

TEST(Dissection, OrdersAllVerticesOnce) {
    std::mt19937 random(7);
    for (int i = 0; i < 300; ++i) {
        const int vertices = static_cast<int>(random() % 200);
        const Graph graph = vertices == 0
                                ? Graph{}
                                : random_graph(random, vertices, static_cast<int>(random() % 600));
        EXPECT_TRUE(is_permutation_of_all(nested_dissection(graph))) << i;
    }
    EXPECT_EQ(nested_dissection({{}}), std::vector<int>{0});
}

TEST(Dissection, FillsInLessThanTheNaturalOrder) {
    const Graph graph = grid_graph(40);
    std::vector<int> natural(graph.size());
    std::iota(natural.begin(), natural.end(), 0);
    const std::size_t dissected = entries(eliminate(graph, nested_dissection(graph)));
    EXPECT_LT(2 * dissected, entries(eliminate(graph, natural)));
}

TEST(Dissection, KnowsTheEliminationTree) {
    std::mt19937 random(11);
    for (int i = 0; i < 200; ++i) {
        const int vertices = 1 + static_cast<int>(random() % 60);
        const Graph graph = random_graph(random, vertices, static_cast<int>(random() % 150));
        std::vector<int> order(at(vertices));
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        const auto below = eliminate(graph, order);
        const std::vector<int> parents = elimination_tree(graph, order);
        for (std::size_t column = 0; column < below.size(); ++column) {
            EXPECT_EQ(parents[column], below[column].empty() ? -1 : *below[column].begin());
        }
        const auto all = static_cast<std::int64_t>(entries(below) + below.size());
        EXPECT_EQ(count_factor(graph, order, all), all);
        EXPECT_GT(count_factor(graph, order, all - 1), all - 1);
        const std::vector<int> places = postorder(parents);
        ASSERT_TRUE(is_permutation_of_all(places));
        std::vector<int> position(places.size());
        for (std::size_t p = 0; p < places.size(); ++p)
            position[at(places[p])] = static_cast<int>(p);
        for (std::size_t v = 0; v < parents.size(); ++v) {
            if (parents[v] >= 0) { EXPECT_LT(position[v], position[at(parents[v])]); }
        }
    }
}

TEST(Supernodes, HoldAllOfTheFactor) {
    std::mt19937 random(3);
    for (int i = 0; i < 200; ++i) {
        const LowerFactor factor = random_factor(random, 1 + static_cast<int>(random() % 120),
                                                 static_cast<int>(random() % 300));
        const SupernodeLimits limits{1 + static_cast<int>(random() % 12),
                                     1 + static_cast<int>(random() % 20)};
        const Supernodes supernodes = supernodes_of(factor, limits);
        std::map<std::pair<int, int>, double> found;
        const auto take = [&](int row, int column, double value) {
            if (value != 0) { EXPECT_TRUE(found.insert({{row, column}, value}).second); }
        };
        for (int k = 0; k < supernodes.count(); ++k) {
            const int first = supernodes.first[at(k)];
            const int width = supernodes.width(k);
            EXPECT_LE(width, limits.widest);
            for (int j = 0; j < width * width; ++j)
                take(first + j % width, first + j / width, supernodes.diagonals[at(k)][at(j)]);
        }
        std::pair<int, int> last = {-1, -1};
        for (const Block& block : supernodes.blocks) {
            EXPECT_LT(last, std::pair(block.column, block.row));
            EXPECT_LT(block.column, block.row);
            EXPECT_TRUE(std::is_sorted(block.rows.begin(), block.rows.end()));
            last = {block.column, block.row};
            std::size_t j = 0;
            for (int column = 0; column < supernodes.width(block.column); ++column) {
                for (const int row : block.rows) {
                    take(supernodes.first[at(block.row)] + row,
                         supernodes.first[at(block.column)] + column, block.values[j++]);
                }
            }
        }
        std::map<std::pair<int, int>, double> expected;
        for (int column = 0; column < factor.size; ++column) {
            for (int j = factor.begin[at(column)]; j < factor.begin[at(column) + 1]; ++j)
                expected[{factor.rows[at(j)], column}] = factor.values[at(j)];
        }
        EXPECT_EQ(found, expected);
    }
}

TEST(Supernodes, OfDenseColumnsAreAsWideAsTheyMay) {
    std::mt19937 random(1);
    std::vector<std::set<int>> below(10);
    for (int column = 0; column < 10; ++column) {
        for (int row = column + 1; row < 10; ++row) below[at(column)].insert(row);
    }
    const LowerFactor dense = factor_of(below, random);
    EXPECT_EQ(supernodes_of(dense, {4, 1}).first, (std::vector<int>{0, 1, 5, 9, 10}));
    EXPECT_EQ(supernodes_of(dense, {64, 16}).first, (std::vector<int>{0, 10}));
}

nodeaware::Topology random_topology(std::mt19937& random, int ranks) {
    std::vector<int> node_of;
    for (int rank = 0; rank < ranks; ++rank) node_of.push_back(static_cast<int>(random() % 4));
    return nodeaware::Topology(node_of);
}

TEST(TreesOfRanks, ReachEachMemberOnceFromOneReachedBefore) {
    std::mt19937 random(5);
    for (int i = 0; i < 500; ++i) {
        const int ranks = 1 + static_cast<int>(random() % 20);
        const nodeaware::Topology topology = random_topology(random, ranks);
        std::vector<int> members(at(ranks));
        std::iota(members.begin(), members.end(), 0);
        std::shuffle(members.begin(), members.end(), random);
        members.resize(1 + random() % members.size());
        std::set<int> nodes;
        for (const int rank : members) nodes.insert(topology.node_of(rank));
        for (const TreeKind kind : {TreeKind::flat, TreeKind::binary, TreeKind::node}) {
            const std::vector<Edge> edges = tree_edges(kind, members, topology);
            std::map<int, int> parents;
            std::map<int, int> children;
            std::size_t crossings = 0;
            for (const Edge& edge : edges) {
                EXPECT_TRUE(parents.insert({edge.child, edge.parent}).second);
                ++children[edge.parent];
                crossings += topology.node_of(edge.parent) != topology.node_of(edge.child) ? 1 : 0;
            }
            EXPECT_EQ(edges.size(), members.size() - 1);
            for (int rank : members) { // up to the root, without going round
                for (std::size_t steps = 0; rank != members.front(); ++steps) {
                    ASSERT_LT(steps, members.size());
                    ASSERT_TRUE(parents.contains(rank));
                    rank = parents[rank];
                }
            }
            if (kind == TreeKind::node) { EXPECT_EQ(crossings, nodes.size() - 1); }
            for (const auto& [rank, count] : children) {
                EXPECT_LE(count, kind == TreeKind::flat ? ranks : kind == TreeKind::binary ? 2 : 4);
            }
        }
    }
}

TEST(Distribution, BroadcastsDownColumnsAndReducesAlongRows) {
    std::mt19937 random(9);
    const LowerFactor factor = random_factor(random, 150, 400);
    const Supernodes supernodes = supernodes_of(factor, {8, 4});
    const nodeaware::Topology topology(std::vector<int>{0, 0, 1, 1, 2, 2});
    for (const ProcessGrid& grid : {ProcessGrid{6, 1}, ProcessGrid{3, 2}, ProcessGrid{1, 6}}) {
        const Distribution distribution = distribute(supernodes, grid, TreeKind::binary, topology);
        std::set<std::pair<int, int>> receivers;
        std::set<std::pair<int, int>> senders;
        for (const Block& block : supernodes.blocks) {
            const int owner = grid.owner(block.row, block.column);
            if (owner != grid.owner(block.column, block.column))
                receivers.insert({block.column, owner});
            if (owner != grid.owner(block.row, block.row)) senders.insert({block.row, owner});
        }
        const MessageCounts counts = count_messages(distribution, topology);
        EXPECT_EQ(counts.all, static_cast<std::int64_t>(receivers.size() + senders.size()));
        EXPECT_LT(counts.between_nodes, counts.all);
        if (grid.columns == 1) { EXPECT_TRUE(senders.empty()); }
        if (grid.rows == 1) { EXPECT_TRUE(receivers.empty()); }
        const auto by_nodes =
            count_messages(distribute(supernodes, grid, TreeKind::node, topology), topology);
        EXPECT_EQ(by_nodes.all, counts.all);
        EXPECT_LE(by_nodes.between_nodes, counts.between_nodes);
    }
}

TEST(Distribution, HasTheUsualGrids) {
    const auto texts = [](int ranks) {
        std::vector<std::string> result;
        for (const ProcessGrid& grid : usual_grids(ranks)) result.push_back(grid.text());
        return result;
    };
    EXPECT_EQ(texts(1), (std::vector<std::string>{"1x1"}));
    EXPECT_EQ(texts(7), (std::vector<std::string>{"7x1", "1x7"}));
    EXPECT_EQ(texts(8), (std::vector<std::string>{"8x1", "4x2", "1x8"}));
    EXPECT_EQ(texts(16), (std::vector<std::string>{"16x1", "4x4", "1x16"}));
}

// L L^T below the diagonal: its values, without places that only filled in.
std::vector<double> products(const LowerFactor& factor) {
    std::map<std::pair<int, int>, double> sums;
    for (int column = 0; column < factor.size; ++column) {
        for (int i = factor.begin[at(column)]; i < factor.begin[at(column) + 1]; ++i) {
            for (int j = factor.begin[at(column)]; j < i; ++j) {
                sums[{factor.rows[at(i)], factor.rows[at(j)]}] +=
                    factor.values[at(i)] * factor.values[at(j)];
            }
        }
    }
    std::vector<double> values;
    for (const auto& [place, value] : sums) {
        if (std::abs(value) > 1e-9) { values.push_back(value); }
    }
    std::sort(values.begin(), values.end());
    return values;
}

TEST(Factor, IsOfTheSymmetricPart) {
    if (!has_factorization()) GTEST_SKIP() << "built without Eigen";
    std::mt19937 random(13);
    for (int i = 0; i < 20; ++i) {
        bench::Matrix matrix;
        matrix.rows = matrix.columns = 40;
        matrix.has_values = i % 2 == 0;
        std::map<std::pair<int, int>, double> expected; // of (A + A^T) / 2 below the diagonal
        for (int entry = 0; entry < 150; ++entry) {
            const auto row = static_cast<int>(random() % 40);
            const auto column = static_cast<int>(random() % 40);
            const auto value = static_cast<double>(random() % 10 + 1);
            matrix.entries.push_back({row, column, value});
            if (row != column) {
                expected[{std::max(row, column), std::min(row, column)}] +=
                    (matrix.has_values ? value : -1) / 2;
            }
        }
        std::vector<double> values;
        for (const auto& [place, value] : expected) values.push_back(value);
        std::sort(values.begin(), values.end());
        const LowerFactor factor = cholesky(matrix, "a matrix");
        const std::vector<double> found = products(factor);
        ASSERT_EQ(found.size(), values.size());
        for (std::size_t j = 0; j < values.size(); ++j) EXPECT_NEAR(found[j], values[j], 1e-9);
        for (int column = 0; column < factor.size; ++column) {
            const int first = factor.begin[at(column)];
            EXPECT_EQ(factor.rows[at(first)], column);
            EXPECT_GT(factor.values[at(first)], 0);
        }
    }
}

TEST(Factor, NamesWhatIsWrong) {
    bench::Matrix matrix;
    matrix.rows = 2;
    matrix.columns = 3;
    EXPECT_THROW(cholesky(matrix, "two.mtx"), std::invalid_argument);
    EXPECT_EQ(parse_extents("3x4x5"), (std::array<int, 3>{3, 4, 5}));
    EXPECT_EQ(parse_extents("3x4"), (std::array<int, 3>{3, 4, 1}));
    for (const char* text : {"", "x", "3x", "0x2", "3x4x5x6", "3y4", "4096x4096x4096", "3 4"})
        EXPECT_THROW(parse_extents(text), std::invalid_argument) << text;
}

TEST(Factor, TimesItsTransposeIsTheMatrix) {
    if (!has_factorization()) GTEST_SKIP() << "built without Eigen";
    const LowerFactor factor = cholesky(poisson({6, 5, 4}), "grid");
    std::vector<std::map<int, double>> rows(at(factor.size));
    for (int column = 0; column < factor.size; ++column) {
        for (int i = factor.begin[at(column)]; i < factor.begin[at(column) + 1]; ++i)
            rows[at(factor.rows[at(i)])][column] = factor.values[at(i)];
    }
    int edges = 0;
    for (int i = 0; i < factor.size; ++i) {
        for (int j = 0; j <= i; ++j) {
            double value = 0;
            for (const auto& [column, entry] : rows[at(i)]) {
                const auto other = rows[at(j)].find(column);
                if (other != rows[at(j)].end()) value += entry * other->second;
            }
            if (i == j) {
                EXPECT_NEAR(value, 6, 1e-12);
            } else if (value < -0.5) {
                EXPECT_NEAR(value, -1, 1e-12);
                ++edges;
            } else {
                EXPECT_NEAR(value, 0, 1e-12);
            }
        }
    }
    EXPECT_EQ(edges, 5 * 5 * 4 + 6 * 4 * 4 + 6 * 5 * 3);
}

} // namespace
} // namespace triangular
