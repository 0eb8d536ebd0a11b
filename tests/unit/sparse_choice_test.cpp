#include "strategies/sparse_block.hpp"
#include "strategies/sparse_choice.hpp"
#include "tests/unit/even_topology.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace nodeaware::sparse {

TEST(SparseChoice, BlocksOfANodeAreCheapAndGoWithoutAsking) {
    const Costs costs;
    for (const int nodes : {2, 16, 200}) {
        uint64_t last = std::numeric_limits<uint64_t>::max();
        for (const int on_a_node : {1, 2, 4, 16, 40, 128}) {
            const uint64_t bytes = block_bytes(even_topology(nodes, on_a_node), costs);
            EXPECT_EQ(bytes % header_bytes, 0U);
            EXPECT_GE(bytes, 64U);
            EXPECT_LE(bytes, 4096U);
            EXPECT_LE(bytes, last);
            last = bytes;
            if (bytes == 64) { continue; }
            EXPECT_LE(bytes * static_cast<uint64_t>(on_a_node), costs.eager().limit);
        }
        EXPECT_EQ(last, 64U);
    }
    // One message, and half of its latency for the bytes.
    const Costs& common = costs;
    const auto alone = static_cast<double>(block_bytes(even_topology(2, 4), common));
    EXPECT_NEAR(4 * alone * common.eager().per_byte, common.eager().latency / 2,
                4.0 * header_bytes * common.eager().per_byte);
}

TEST(SparseChoice, MachinesWithoutBandwidthLimits) {
    Costs costs;
    costs.node_per_byte = 0;
    costs.protocols[1] = {1 << 20, 1e-6, 0, 0};
    EXPECT_EQ(block_bytes(even_topology(4, 4), costs), 4096U);
    costs.protocols[1] = {0, 5e-3, 1e-9, 0};
    EXPECT_EQ(block_bytes(even_topology(4, 4), costs), 64U);
}

TEST(SparseChoice, PairsOfNodesWhereTheyAreFew) {
    const Costs costs;
    for (const int ranks : {2, 4, 40}) {
        EXPECT_TRUE(node_pairs_pay(even_topology(2, ranks), costs)) << ranks;
        EXPECT_TRUE(node_pairs_pay(even_topology(8, ranks), costs)) << ranks;
        EXPECT_FALSE(node_pairs_pay(even_topology(1024, ranks), costs)) << ranks;
    }
    EXPECT_TRUE(node_pairs_pay(even_topology(64, 40), costs));
}

TEST(SparseChoice, MoreNodesTakeLonger) {
    const Costs costs;
    double last = 0;
    for (const int nodes : {2, 4, 16, 64, 256}) {
        const double seconds = node_pairs_seconds(even_topology(nodes, 16), costs);
        EXPECT_GT(seconds, last) << nodes;
        last = seconds;
    }
    const auto nonblocking = [&](int nodes, int messages) {
        return nonblocking_seconds(even_topology(nodes, 4), costs, {.messages = messages});
    };
    EXPECT_LT(nonblocking(4, 2), nonblocking(4, 3));
    EXPECT_LT(nonblocking(4, 2), nonblocking(64, 2));
}

namespace {

/// Of round numbers: a message of a node of four takes 20 ms and 1 us a byte.
Costs round_costs() {
    Costs costs;
    for (ProtocolCosts& protocol : costs.protocols) {
        protocol.latency = 4e-3;
        protocol.per_byte = 1e-6;
        protocol.gap = 5e-3;
    }
    costs.protocols[1].limit = 1 << 16;
    costs.node_per_byte = 2e-7;
    costs.copy_per_byte = 1e-6;
    costs.flag = 1e-3;
    return costs;
}

} // namespace

TEST(SparseChoice, MethodsOfThePaper) {
    const Costs costs = round_costs();
    const Topology topology = even_topology(4, 4);
    constexpr double near = 1e-9;
    // Three messages, and two rounds of 16 numbers between nodes and two within.
    EXPECT_NEAR(personalized_seconds(topology, costs, {3, 100}),
                3 * 20.1e-3 + 2 * 20.064e-3 + 2 * 1.064e-3, near);
    // Three messages and their answers, and rounds in which 1, 2, 4 and 4 ranks of a node send.
    EXPECT_NEAR(nonblocking_seconds(topology, costs, {3, 100}), 3 * 20.1e-3 + 3 * 20e-3 + 55e-3,
                near);
    // The six messages for three nodes as three; four numbers twice; handed on to three ranks.
    EXPECT_NEAR(locality_seconds(topology, costs, {6, 100}),
                3 * 20.2e-3 + 3 * 20e-3 + 55e-3 + 2 * 1.016e-3 + 3e-3 + 0.6e-3, near);
    const Topology node = even_topology(1, 4);
    EXPECT_NEAR(nonblocking_seconds(node, costs, {}), 2e-3, near);
    EXPECT_NEAR(locality_seconds(node, costs, {}), 2e-3 + 2 * 1.016e-3, near);
}

TEST(SparseChoice, WhatBlocksHaveNoRoomFor) {
    const Costs costs = round_costs();
    const Topology topology = even_topology(4, 4);
    constexpr double near = 1e-9;
    // 15 ms by the number of messages, half of which four blocks take that have 1 us a byte.
    ASSERT_EQ(block_bytes(topology, costs), 1872U);
    const double blocks = 15e-3 + 1872 * (4e-6 + 16e-6) + 2e-3;
    EXPECT_NEAR(node_pairs_seconds(topology, costs, {}), blocks, near);
    EXPECT_NEAR(node_pairs_seconds(topology, costs, {3, 100}), blocks, near);
    // 4000 bytes of each rank for each node.
    const double large = 15e-3 + 4000 * 4e-6 + 2 * (12e-3 + 1e-3);
    EXPECT_NEAR(node_pairs_seconds(topology, costs, {3, 4000}), blocks + large, near);
    // Lists of 1000 entries, two bytes each.
    const double lists = 15e-3 + 2000 * (4e-6 + 16e-6) + 2e-3;
    const double many = 15e-3 + 1000 * 4e-6 + 2 * (3e-3 + 1e-3);
    EXPECT_NEAR(node_pairs_seconds(topology, costs, {3000, 1}), blocks + lists + many, near);
}

TEST(SparseChoice, NodesRelayBlocksWhereMessagesAreDear) {
    Costs costs = round_costs();
    costs.node_per_byte = costs.copy_per_byte = 1e-9;
    for (ProtocolCosts& protocol : costs.protocols) { protocol.per_byte = 1e-9; }
    const Topology topology = even_topology(4, 4);
    // Two messages of a node instead of three.
    Blocks blocks = blocks_for(topology, costs);
    EXPECT_EQ(blocks.radix, 2);
    EXPECT_EQ(blocks.bytes, 4096U);
    EXPECT_LT(node_pairs_seconds(topology, costs), 14e-3);
    EXPECT_EQ(blocks_for(even_topology(2, 4), costs).radix, 0);
    EXPECT_EQ(blocks_for(topology, costs, 4096).radix, 0) << "no room";
    EXPECT_EQ(blocks_for(topology, round_costs()).radix, 0) << "bytes are dearer";
    // The blocks of eight ranks, with what tells of them, without asking.
    costs.protocols[1].limit = 1 << 14;
    costs.protocols[2].latency = costs.protocols[2].gap = 25e-3;
    blocks = blocks_for(topology, costs);
    EXPECT_EQ(blocks.radix, 2);
    EXPECT_LT(blocks.bytes * 8, 16384U);
    EXPECT_GT(blocks.bytes * 8, 16384U - 256);
    // Not for less than a quarter.
    EXPECT_GE(blocks_for(even_topology(17, 4), costs).bytes, 4080U / 4);
}

// What the paper's text says: 450 messages of a process on 64 nodes of 32, which are 15 when they
// are gathered; nothing to gain where each sends one, and sums that grow with the ranks.
TEST(SparseChoice, SaysWhatThePaperDoes) {
    const Costs costs;
    const Topology large = even_topology(64, 32);
    const Pattern many{450, 100, 15};
    EXPECT_EQ(reached_nodes(large, many), 15);
    EXPECT_EQ(reached_nodes(large, {450, 100}), 63);
    EXPECT_EQ(reached_nodes(large, {5, 100}), 5);
    EXPECT_LT(locality_seconds(large, costs, many), nonblocking_seconds(large, costs, many));
    EXPECT_LT(locality_seconds(large, costs, many), personalized_seconds(large, costs, many));
    EXPECT_GT(locality_seconds(large, costs, {1, 100}),
              nonblocking_seconds(large, costs, {1, 100}));
    const auto ratio = [&](int nodes) {
        const Topology topology = even_topology(nodes, 32);
        return personalized_seconds(topology, costs, {10, 100}) /
               nonblocking_seconds(topology, costs, {10, 100});
    };
    EXPECT_LT(ratio(2), 1);
    EXPECT_GT(ratio(512), 1);
}

} // namespace nodeaware::sparse
