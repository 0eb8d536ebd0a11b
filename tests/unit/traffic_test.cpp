#include "strategies/traffic.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace nodeaware {

namespace {

/// Two nodes of two ranks: 0 and 1, 2 and 3.
class Traffic : public testing::Test {
  protected:
    NodeTraffic gather(int node, Sharing sharing = Sharing::sender) const {
        std::vector<const RankTraffic*> pointers;
        for (const int rank : topology.ranks_of(node)) {
            pointers.push_back(&lists[static_cast<size_t>(rank)]);
        }
        return gather_traffic(topology, node, pointers, sharing);
    }

    Topology topology{std::vector<int>{0, 0, 1, 1}};
    std::vector<RankTraffic> lists = std::vector<RankTraffic>(4);
};

} // namespace

TEST_F(Traffic, BothNodesSeeThePairAlike) {
    lists[0].outgoing = {{3, 0, 10}, {2, 1, 20}, {3, 2, 30}};
    lists[1].outgoing = {{2, 0, 5}};
    lists[2].incoming = {{1, 5}, {0, 20}};
    lists[3].incoming = {{0, 10}, {0, 30}};
    const NodeTraffic sender = gather(0);
    const NodeTraffic receiver = gather(1);
    ASSERT_EQ(sender.outgoing.size(), 1U);
    ASSERT_EQ(receiver.incoming.size(), 1U);
    EXPECT_TRUE(sender.incoming.empty());
    const PairTraffic& sent = sender.outgoing[0];
    const PairTraffic& expected = receiver.incoming[0];
    EXPECT_EQ(sent.fingerprint(), expected.fingerprint());
    EXPECT_EQ(sent.bytes(), 65U);
    ASSERT_EQ(sent.messages.size(), 4U);
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(sent.messages[i].source, expected.messages[i].source);
        EXPECT_EQ(sent.messages[i].destination, expected.messages[i].destination);
        EXPECT_EQ(sent.messages[i].bytes, expected.messages[i].bytes);
    }
    // Sorted by source and destination; the two messages from 0 to 3 keep their order.
    EXPECT_EQ(sent.messages[0].bytes, 20U);
    EXPECT_EQ(sent.messages[1].bytes, 10U);
    EXPECT_EQ(sent.messages[2].bytes, 30U);
    EXPECT_EQ(sent.messages[2].item, 2U);
    EXPECT_EQ(expected.messages[2].item, 1U);
}

TEST_F(Traffic, ADifferentSizeHasADifferentFingerprint) {
    lists[0].outgoing = {{2, 0, 10}};
    lists[2].incoming = {{0, 11}};
    EXPECT_NE(gather(0).outgoing[0].fingerprint(), gather(1).incoming[0].fingerprint());
}

TEST_F(Traffic, AllgatherBlocksHaveSeveralDestinations) {
    lists[1].outgoing = {{3, 0, 8}, {2, 0, 8}, {3, 0, 8}};
    lists[0].outgoing = {{2, 0, 4}};
    const NodeTraffic traffic = gather(0, Sharing::both);
    ASSERT_EQ(traffic.outgoing.size(), 1U);
    const PairTraffic& pair = traffic.outgoing[0];
    ASSERT_EQ(pair.blocks.size(), 2U);
    EXPECT_EQ(pair.blocks[0].source, 0);
    EXPECT_EQ(pair.blocks[1].messages, 3U);
    EXPECT_EQ(pair.bytes(), 12U);
}

TEST_F(Traffic, LocalMessagesAreMatchedInOrder) {
    lists[0].outgoing = {{1, 0, 8}, {1, 1, 16}, {0, 2, 4}};
    lists[1].incoming = {{0, 8}, {0, 16}};
    lists[0].incoming = {{0, 4}};
    const NodeTraffic traffic = gather(0);
    EXPECT_TRUE(traffic.truncated.empty());
    ASSERT_EQ(traffic.local.size(), 3U);
    EXPECT_EQ(traffic.local[0].source_item, 2U); // to itself
    EXPECT_EQ(traffic.local[1].bytes, 8U);
    EXPECT_EQ(traffic.local[2].destination_item, 1U);
}

TEST_F(Traffic, LocalMismatchesAreSeen) {
    lists[0].outgoing = {{1, 0, 8}};
    lists[1].incoming = {{0, 4}};
    NodeTraffic traffic = gather(0);
    EXPECT_EQ(traffic.truncated, std::vector<int>{1});
    ASSERT_EQ(traffic.local.size(), 1U);
    EXPECT_EQ(traffic.local[0].bytes, 4U);

    lists[1].incoming.clear(); // a message that nobody expects
    traffic = gather(0);
    EXPECT_EQ(traffic.truncated, std::vector<int>{1});
    EXPECT_TRUE(traffic.local.empty());

    lists[0].outgoing.clear(); // a message that nobody sends
    lists[1].incoming = {{0, 4}};
    EXPECT_EQ(gather(0).truncated, std::vector<int>{1});
}

TEST_F(Traffic, LessThanExpectedIsNoError) {
    lists[0].outgoing = {{1, 0, 4}};
    lists[1].incoming = {{0, 8}};
    const NodeTraffic traffic = gather(0);
    EXPECT_TRUE(traffic.truncated.empty());
    EXPECT_EQ(traffic.local[0].bytes, 4U);
}

} // namespace nodeaware
