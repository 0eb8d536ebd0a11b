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
        return nonblocking_seconds(even_topology(nodes, 4), costs, messages);
    };
    EXPECT_LT(nonblocking(4, 2), nonblocking(4, 3));
    EXPECT_LT(nonblocking(4, 2), nonblocking(64, 2));
}

} // namespace nodeaware::sparse
