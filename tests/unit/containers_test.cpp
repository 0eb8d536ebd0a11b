#include "strategies/containers.hpp"
#include "strategies/forecast.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace nodeaware::containers {

namespace {

constexpr int ranks = 4; // of each of two nodes
constexpr double message = 5e-3;
constexpr Kind kinds[] = {Kind::point_to_point, Kind::nonblocking};

/// A network where only the number of messages counts, and MPI sends so many bytes at once.
Parameters slow_network(uint64_t at_once = 65536) {
    Parameters parameters;
    parameters.arena_bytes = 64 << 20;
    parameters.costs.protocols = {{{100, message, 0, message},
                                   {at_once, message, 0, message},
                                   {std::numeric_limits<uint64_t>::max(), message, 0, message}}};
    parameters.costs.node_per_byte = 0;
    parameters.costs.copy_per_byte = 1e-15;
    parameters.costs.flag = 0;
    return parameters;
}

class Node {
  public:
    Node() {
        static const Topology topology(std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1});
        pair_.topology = &topology;
        pair_.destination_node = 1;
    }
    explicit Node(uint64_t bytes) : Node() {
        for (int i = 0; i < ranks * ranks; ++i) { add(i / ranks, ranks + i % ranks, bytes); }
    }
    Node& add(int source, int destination, uint64_t bytes) {
        pair_.blocks.push_back({source, static_cast<uint32_t>(pair_.messages.size()), 1, bytes});
        pair_.messages.push_back({source, destination, 0, 0, bytes});
        return *this;
    }
    /// Messages that it is thought to send.
    long messages(Kind kind, const Parameters& parameters = slow_network()) const {
        NodeTraffic traffic;
        traffic.outgoing.push_back(pair_);
        const Cells cells = cells_of(parameters.arena_bytes, 1, 100);
        return std::lround(predicted_seconds(traffic, kind, cells, parameters) / message);
    }

  private:
    PairTraffic pair_;
};

} // namespace

TEST(Containers, CellsAreAsLargeAsMemoryAllows) {
    EXPECT_EQ(cells_of(64 << 20, 3, 100).bytes, 32768U);
    EXPECT_EQ(cells_of(64 << 20, 3, 100).collected, 32640U);
    EXPECT_EQ(cells_of(64 << 20, 3, 100).most_bytes(), 8160U);
    EXPECT_EQ(cells_of(64 << 20, 1023, 100).bytes, 8192U);
    EXPECT_EQ(cells_of(8 * 2112, 1, 100).bytes, 0U);
    EXPECT_EQ(cells_of(8 * 2176, 1, 100).bytes, 2176U);
    EXPECT_EQ(cells_of(64 << 20, 0, 100).bytes, 0U);
}

TEST(Containers, SmallMessagesBecomeOne) {
    for (const Kind kind : kinds) { EXPECT_EQ(Node(8).messages(kind), 1); }
}

TEST(Containers, WhatDoesNotFitIsInAnother) {
    for (const Kind kind : kinds) { EXPECT_EQ(Node(4096).messages(kind), 3); } // 7, 7, 2
}

TEST(Containers, LargeMessagesGoAsByMpiOrAsOneForEachRank) {
    EXPECT_EQ(Node(8192).messages(Kind::point_to_point), ranks * ranks);
    EXPECT_EQ(Node(8192).messages(Kind::nonblocking), ranks);
    Parameters parameters = slow_network();
    parameters.costs.copy_per_byte = message / 2 / 8000; // no more is worth a copy
    EXPECT_EQ(Node(8192).messages(Kind::nonblocking, parameters), ranks * ranks);
}

TEST(Containers, LargeOnesDoNotTravelWithSmallOnes) {
    const Node node = Node(8).add(0, ranks, 10000).add(1, ranks, 20000).add(1, ranks + 1, 20000);
    EXPECT_EQ(node.messages(Kind::point_to_point), 1 + 3);
    EXPECT_EQ(node.messages(Kind::nonblocking), 1 + 2);
}

TEST(Containers, OneMessageIsNotGathered) {
    EXPECT_EQ(Node().add(0, ranks, 8).messages(Kind::point_to_point), 1);
    EXPECT_EQ(Node().add(0, ranks, 8).add(1, ranks, 9000).messages(Kind::point_to_point), 2);
}

TEST(Containers, WithoutMemoryMessagesGoAsByMpi) {
    Parameters parameters = slow_network();
    parameters.arena_bytes = 10000;
    EXPECT_EQ(Node(8).messages(Kind::point_to_point, parameters), ranks * ranks);
    EXPECT_EQ(Node(8).messages(Kind::nonblocking, parameters), ranks);
}

TEST(Containers, WhatMpiDoesNotSendAtOnceIsCut) {
    const Node node(1500); // 24640 bytes with what stands in front
    EXPECT_EQ(node.messages(Kind::point_to_point), 1);
    EXPECT_EQ(node.messages(Kind::point_to_point, slow_network(20000)), 2);
    EXPECT_EQ(node.messages(Kind::point_to_point, slow_network(1000)), 1); // parts neither
}

} // namespace nodeaware::containers
