#include "strategies/forecast.hpp"
#include "strategies/strategy.hpp"
#include "tests/unit/even_topology.hpp"
#include "tests/unit/published_split.hpp"
#include "tests/unit/random_case.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

// Split as published beside split as it is here, where both ends of a node pair know no more than
// what passes between them; compared by the model.
namespace nodeaware::test {

namespace {

constexpr uint64_t default_cap = 60 << 10;

PairTraffic pair_of(const Topology& topology, int from, int to, uint64_t bytes) {
    const int source = topology.ranks_of(from).front();
    const int destination = topology.ranks_of(to).front();
    return {&topology, from, to, {{source, destination, 0, 0, bytes}}, {{source, 0, 1, bytes}}};
}

/// Every rank sends as much to every rank.
PairTraffic all_to_all(const Topology& topology, int from, int to, uint64_t bytes) {
    PairTraffic pair{&topology, from, to, {}, {}};
    for (const int source : topology.ranks_of(from)) {
        for (const int destination : topology.ranks_of(to)) {
            pair.blocks.push_back({source, static_cast<uint32_t>(pair.messages.size()), 1, bytes});
            pair.messages.push_back({source, destination, 0, 0, bytes});
        }
    }
    return pair;
}

void add_messages(const PairTraffic& pair, const Plan& plan, std::vector<NodeMessage>& messages) {
    for (const Piece& piece : plan.pieces()) {
        messages.push_back({piece.sender, piece.receiver, piece.bytes});
    }
    for (const uint32_t i : plan.direct()) {
        const Message& message = pair.messages[i];
        messages.push_back({message.source, message.destination, message.bytes});
    }
}

std::vector<NodeMessage> by_strategy(const Topology& topology, const Volumes& volumes,
                                     uint64_t cap) {
    std::vector<NodeMessage> messages;
    for (int from = 0; from < volumes.nodes(); ++from) {
        for (int to = 0; to < volumes.nodes(); ++to) {
            if (volumes(from, to) == 0) { continue; }
            const PairTraffic pair = pair_of(topology, from, to, volumes(from, to));
            add_messages(pair, plan_split(pair, {cap, 0, 0, 0, {}}), messages);
        }
    }
    return messages;
}

/// Times of split here over those of split as published, gathered by what was exchanged.
class Comparison {
  public:
    void add(const std::string& what, const Topology& topology, const Volumes& volumes,
             uint64_t cap = default_cap) {
        const Result ours = result_of(topology, by_strategy(topology, volumes, cap));
        const Result published = result_of(topology, as_published(topology, volumes, cap));
        if (published.seconds == 0) { return; }
        const double ratio = ours.seconds / published.seconds;
        Summary& summary = summaries_[what];
        summary.least = std::min(summary.least, ratio);
        summary.most = std::max(summary.most, ratio);
        summary.logarithms += std::log(ratio);
        ++summary.cases;
        summary.bytes = std::max(summary.bytes, static_cast<double>(ours.most_bytes) /
                                                    static_cast<double>(published.most_bytes));
    }
    double most(const std::string& what) const { return summaries_.at(what).most; }
    double least(const std::string& what) const { return summaries_.at(what).least; }
    double mean(const std::string& what) const { return summaries_.at(what).mean(); }
    void print() const {
        for (const auto& [what, summary] : summaries_) {
            std::printf("%-44s time over published: mean %.3f (%.2f to %.2f), bytes of the busiest "
                        "rank up to %.2f, %d cases\n",
                        what.c_str(), summary.mean(), summary.least, summary.most, summary.bytes,
                        summary.cases);
        }
    }

  private:
    struct Summary {
        double least = 1e300;
        double most = 0;
        double logarithms = 0;
        double bytes = 0;
        int cases = 0;
        double mean() const { return std::exp(logarithms / cases); }
    };
    std::map<std::string, Summary> summaries_;
};

/// A number between low and high, all orders of magnitude alike.
double draw_magnitude(Random& random, double low, double high) {
    const double part = static_cast<double>(draw(random, 0, 1000000)) / 1e6;
    return low * std::pow(high / low, part);
}

Volumes random_volumes(Random& random, int nodes, double bytes) {
    return {nodes, [&](int, int) {
                return draw(random, 0, 1) == 0
                           ? 0
                           : static_cast<uint64_t>(draw_magnitude(random, bytes / 30, bytes * 30));
            }};
}

/// Who needs what in a product of the matrix with a block of vectors, rows dealt out evenly.
class Matrix {
  public:
    explicit Matrix(const std::string& path) {
        std::ifstream file(path);
        std::string line;
        bool has_sizes = false;
        while (std::getline(file, line)) {
            if (line.empty() || line[0] == '%') { continue; }
            std::istringstream numbers(line);
            int row = 0;
            int column = 0;
            numbers >> row >> column;
            if (!has_sizes) {
                rows_ = row;
                has_sizes = true;
                continue;
            }
            entries_.emplace_back(row - 1, column - 1);
            entries_.emplace_back(column - 1, row - 1); // symmetric
        }
    }
    bool empty() const { return entries_.empty(); }
    Volumes volumes(const Topology& topology, uint64_t bytes_per_entry) const {
        std::set<std::pair<int, int>> needed; // rank, column
        const auto owner = [&](int row) { return row * topology.ranks() / rows_; };
        for (const auto& [row, column] : entries_) { needed.emplace(owner(row), column); }
        std::map<std::pair<int, int>, uint64_t> bytes;
        for (const auto& [rank, column] : needed) {
            bytes[{topology.node_of(owner(column)), topology.node_of(rank)}] += bytes_per_entry;
        }
        return {topology.nodes(), [&](int from, int to) { return bytes[{from, to}]; }};
    }

  private:
    int rows_ = 0;
    std::vector<std::pair<int, int>> entries_;
};

constexpr std::array node_counts = {2, 4, 8, 16};
constexpr std::array rank_counts = {4, 16, 40};
constexpr std::array sizes = {1e3, 1e4, 1e5, 1e6, 1e7}; // bytes between two nodes

} // namespace

TEST(PublishedSplit, IsAlgorithm1) {
    const Topology topology = even_topology(3, 2);
    // Node 0 gets 100 bytes from node 1 and 300 from node 2: more than 2 of 90, so the cap is 200.
    const Volumes volumes(3, [](int from, int to) -> uint64_t {
        if (to != 0) { return 0; }
        return from == 1 ? 100 : 300;
    });
    const auto raised = as_published(topology, volumes, 90);
    ASSERT_EQ(raised.size(), 3U);
    const auto is = [](const NodeMessage& message, int sender, int receiver, uint64_t bytes) {
        return message.sender == sender && message.receiver == receiver && message.bytes == bytes;
    };
    EXPECT_TRUE(is(raised[0], 5, 0, 200)); // the largest from the last rank to the first
    EXPECT_TRUE(is(raised[1], 3, 1, 100));
    EXPECT_TRUE(is(raised[2], 4, 0, 100));
    // Below the cap every node's data go in a single message.
    EXPECT_EQ(as_published(topology, volumes, 301).size(), 2U);
    // 400 bytes are not more than 2 of 250: the cap stays.
    EXPECT_EQ(as_published(topology, volumes, 250).size(), 3U);
}

// Where all that enters a node is no more than the cap for each of its ranks, and there are at
// least as many ranks as other nodes: neither way gives a rank a second message if all pairs are
// alike.
TEST(SplitComparison, TheSameForAlikePairsWithRoomForAll) {
    for (const int nodes : node_counts) {
        for (const int ranks : rank_counts) {
            if (ranks < nodes - 1) { continue; }
            const Topology topology = even_topology(nodes, ranks);
            for (int pieces = 1; pieces <= ranks / (nodes - 1); ++pieces) {
                const uint64_t bytes = default_cap * static_cast<uint64_t>(pieces);
                const Volumes volumes(nodes, [&](int, int) { return bytes; });
                const Result ours =
                    result_of(topology, by_strategy(topology, volumes, default_cap));
                const Result published =
                    result_of(topology, as_published(topology, volumes, default_cap));
                EXPECT_EQ(ours.most_messages, 1U) << nodes << " " << ranks << " " << pieces;
                EXPECT_EQ(ours.most_bytes, published.most_bytes);
                EXPECT_DOUBLE_EQ(ours.seconds, published.seconds);
            }
        }
    }
}

// The bounds are those that strategies/split.cpp states.
TEST(SplitComparison, PatternsOfNodes) {
    Comparison comparison;
    Random random(1);
    for (const int nodes : node_counts) {
        for (const int ranks : rank_counts) {
            const Topology topology = even_topology(nodes, ranks);
            const std::string few = ranks >= nodes - 1 ? "" : ", fewer ranks than other nodes";
            for (const double size : sizes) {
                const auto bytes = static_cast<uint64_t>(size);
                comparison.add("alike" + few, topology, {nodes, [&](int, int) { return bytes; }});
                comparison.add("neighbours" + few, topology,
                               {nodes, [&](int from, int to) {
                                    const int step = (to - from + nodes) % nodes;
                                    return step == 1 || step == nodes - 1 ? bytes : 0;
                                }});
                comparison.add(
                    "one node gets most" + few, topology,
                    {nodes, [&](int, int to) { return to == 0 ? 20 * bytes : bytes / 10; }});
                comparison.add("one large pair each" + few, topology,
                               {nodes, [&](int from, int to) {
                                    return (to + 1) % nodes == from ? 20 * bytes : bytes / 50;
                                }});
                for (int i = 0; i < 20; ++i) {
                    comparison.add("random" + few, topology, random_volumes(random, nodes, size));
                }
            }
        }
    }
    comparison.print();
    for (const char* what :
         {"alike", "neighbours", "one node gets most", "one large pair each", "random"}) {
        EXPECT_LE(comparison.mean(what), 1.05) << what;
        EXPECT_LE(comparison.most(what), 1.75) << what;
        const std::string few = std::string(what) + ", fewer ranks than other nodes";
        EXPECT_LE(comparison.mean(few), 1.15) << what;
        EXPECT_LE(comparison.most(few), 2) << what;
    }
}

// In an MPI_Alltoall all pairs are alike and every rank knows it, so both ends hold the numbers of
// algorithm 1. The strategy `model`, which takes all pairs for alike, makes use of that (and of
// what it saves not to copy, so here copies into and out of shared memory count).
TEST(SplitComparison, ModelOfAnAllToAll) {
    const Costs costs;
    for (const int nodes : node_counts) {
        for (const int ranks : rank_counts) {
            const Topology topology = even_topology(nodes, ranks);
            const auto copying = [&](double bytes_between_nodes) {
                return 2 * bytes_between_nodes * (nodes - 1) / ranks * costs.copy_per_byte;
            };
            for (const double size : sizes) {
                const auto all = static_cast<uint64_t>(ranks) * static_cast<uint64_t>(ranks);
                const uint64_t bytes = static_cast<uint64_t>(size) / all + 1;
                const Volumes volumes(nodes, [&](int, int) { return bytes * all; });
                std::vector<NodeMessage> messages;
                double gathered = 0;
                for (int from = 0; from < nodes; ++from) {
                    for (int to = 0; to < nodes; ++to) {
                        if (from == to) { continue; }
                        const PairTraffic pair = all_to_all(topology, from, to, bytes);
                        const Plan plan = plan_model(pair, {0, 0, 0, 0, {}});
                        add_messages(pair, plan, messages);
                        gathered = plan.pieces().empty() ? 0 : static_cast<double>(bytes * all);
                    }
                }
                const double model = result_of(topology, messages).seconds + copying(gathered);
                const double published =
                    result_of(topology, as_published(topology, volumes, default_cap)).seconds +
                    copying(static_cast<double>(bytes * all));
                EXPECT_LE(model, trusted_difference * published)
                    << nodes << " nodes, " << ranks << " ranks, " << size << " bytes";
            }
        }
    }
}

TEST(SplitComparison, ProductsWithAMatrix) {
    const Matrix matrix(NODEAWARE_TEST_MATRIX);
    ASSERT_FALSE(matrix.empty());
    Comparison comparison;
    for (const auto& [nodes, ranks] : {std::pair(4, 4), {4, 16}, {8, 8}, {16, 4}, {16, 16}}) {
        const Topology topology = even_topology(nodes, ranks);
        for (const uint64_t vectors : {1, 32, 1024, 16384}) { // 8 bytes each
            comparison.add("can_1072", topology, matrix.volumes(topology, 8 * vectors));
        }
    }
    comparison.print();
    EXPECT_LE(comparison.mean("can_1072"), 1.1);
    EXPECT_LE(comparison.most("can_1072"), 1.5);
}

} // namespace nodeaware::test
