#include "strategies/topology.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace nodeaware {

TEST(Topology, NumbersNodesByTheirFirstRank) {
    const std::vector<int> names = {7, 7, 3, 7, 3};
    const Topology topology(names);
    EXPECT_EQ(topology.ranks(), 5);
    EXPECT_EQ(topology.nodes(), 2);
    EXPECT_EQ(topology.node_of(0), 0);
    EXPECT_EQ(topology.node_of(4), 1);
    EXPECT_EQ(topology.ranks_of(0), (std::vector<int>{0, 1, 3}));
    EXPECT_EQ(topology.local_of(3), 2);
    EXPECT_EQ(topology.local_of(4), 1);
    EXPECT_EQ(topology.most_ranks_on_a_node(), 3);
}

TEST(Topology, CyclicPlacement) {
    const std::vector<int> names = {0, 1, 2, 0, 1, 2, 0};
    const Topology topology(names);
    EXPECT_EQ(topology.ranks_of(0), (std::vector<int>{0, 3, 6}));
    EXPECT_EQ(topology.ranks_on(2), 2);
    EXPECT_EQ(topology.local_of(5), 1);
}

TEST(Topology, Empty) {
    const Topology topology;
    EXPECT_EQ(topology.ranks(), 0);
    EXPECT_EQ(topology.nodes(), 0);
}

} // namespace nodeaware
