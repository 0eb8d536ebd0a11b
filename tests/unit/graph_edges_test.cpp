#include "strategies/graph_edges.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace nodeaware::graph {

namespace {

constexpr int ranks = 300;
constexpr int sender = 200;

std::vector<std::byte> told(const std::vector<Edge>& edges) {
    std::vector<std::byte> bytes;
    for (const Edge& edge : edges) { append_edge(bytes, edge, sender); }
    return bytes;
}

} // namespace

TEST(GraphEdges, AreReadAsTheyWereWritten) {
    std::vector<Edge> edges;
    for (const int other : {0, 1, 31, 32, 127, sender, 299, Edge::nobody}) {
        for (const bool leaves : {false, true}) {
            edges.push_back({other, leaves, false, 0});
            for (const int weight : {0, 1, -1, 63, -64, 64, std::numeric_limits<int>::max(),
                                     std::numeric_limits<int>::min()}) {
                edges.push_back({other, leaves, true, weight});
            }
        }
    }
    const auto read = read_edges(told(edges), sender, ranks);
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, edges);
    EXPECT_TRUE(read_edges({}, sender, ranks)->empty());
}

TEST(GraphEdges, OfTheSenderAreShort) {
    EXPECT_EQ(told({{sender, false, false, 0}}).size(), 1U);
    EXPECT_EQ(told({{sender, true, true, -64}}).size(), 2U);
    EXPECT_EQ(told({{299, true, false, 0}}).size(), 2U);
}

TEST(GraphEdges, WhatIsCutOrNamesNobodyIsNoList) {
    const auto bytes = told({{299, true, true, 70000}});
    for (size_t size = 1; size < bytes.size(); ++size) {
        // Without its weight it is none, for it says that it has one.
        EXPECT_FALSE(read_edges(std::span(bytes).first(size), sender, ranks)) << size;
    }
    EXPECT_TRUE(read_edges(bytes, sender, ranks));
    EXPECT_FALSE(read_edges(bytes, sender, 299));
    const std::vector<std::byte> endless(20, std::byte{0xff});
    EXPECT_FALSE(read_edges(endless, sender, ranks));
}

TEST(GraphEdges, WeightsThatNoIntHoldsAreNone) {
    auto bytes = told({{sender, true, true, std::numeric_limits<int>::min()}});
    bytes.back() = std::byte{0x1f}; // its highest digit
    EXPECT_FALSE(read_edges(bytes, sender, ranks));
}

} // namespace nodeaware::graph
