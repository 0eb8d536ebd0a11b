#include "strategies/strategy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace nodeaware {

namespace {

/// Traffic from node `from` to node `to` of a block-placed cluster: every rank sends `bytes` to
/// every rank there.
PairTraffic uniform_pair(const Topology& topology, int from, int to, uint64_t bytes) {
    PairTraffic pair{&topology, from, to, {}, {}};
    for (const int source : topology.ranks_of(from)) {
        for (const int destination : topology.ranks_of(to)) {
            const auto number = static_cast<uint32_t>(pair.messages.size());
            pair.messages.push_back({source, destination, number, number, bytes});
            pair.blocks.push_back({source, number, 1, bytes});
        }
    }
    return pair;
}

Topology cluster(std::initializer_list<int> ranks_on_nodes) {
    std::vector<int> names;
    int node = 0;
    for (const int ranks : ranks_on_nodes) {
        names.insert(names.end(), static_cast<size_t>(ranks), node++);
    }
    return Topology(names);
}

Parameters parameters(uint64_t cap, uint64_t direct) { return {cap, direct, 1000, 1 << 20, {}}; }

} // namespace

TEST(Standard, SendsEveryMessageDirectly) {
    const Topology topology = cluster({2, 3});
    const Plan plan = plan_standard(uniform_pair(topology, 0, 1, 8), parameters(100, 0));
    EXPECT_EQ(plan.direct().size(), 6U);
    EXPECT_TRUE(plan.pieces().empty());
}

TEST(TwoStep, SendsOneMessageFromEachRankToItsPartner) {
    const Topology topology = cluster({4, 3});
    const Plan plan = plan_two_step(uniform_pair(topology, 0, 1, 8), parameters(100, 0));
    ASSERT_EQ(plan.pieces().size(), 4U);
    for (int i = 0; i < 4; ++i) {
        const Piece& piece = plan.pieces()[static_cast<size_t>(i)];
        EXPECT_EQ(piece.sender, i);
        EXPECT_EQ(piece.receiver, 4 + i % 3);
        EXPECT_EQ(piece.bytes, 24U);
    }
}

TEST(ThreeStep, SendsOneMessageForANodePair) {
    const Topology topology = cluster({4, 3});
    const Plan plan = plan_three_step(uniform_pair(topology, 1, 0, 8), parameters(10, 0));
    ASSERT_EQ(plan.pieces().size(), 1U);
    EXPECT_EQ(plan.pieces()[0].bytes, 96U);
    EXPECT_EQ(plan.segments_of(plan.pieces()[0]).size(), 12U);
}

TEST(ThreeStep, DealsNodePairsOutOverTheRanks) {
    const Topology topology = cluster({3, 3, 3, 3});
    std::set<int> senders;
    std::set<int> receivers;
    for (int other = 1; other < 4; ++other) {
        senders.insert(plan_three_step(uniform_pair(topology, 0, other, 8), {}).pieces()[0].sender);
        receivers.insert(
            plan_three_step(uniform_pair(topology, other, 0, 8), {}).pieces()[0].receiver);
    }
    EXPECT_EQ(senders.size(), 3U);
    EXPECT_EQ(receivers.size(), 3U);
}

TEST(Split, FormsPiecesUpToTheCap) {
    const Topology topology = cluster({4, 4});
    const Plan plan = plan_split(uniform_pair(topology, 0, 1, 10), parameters(50, 0)); // 160 bytes
    ASSERT_EQ(plan.pieces().size(), 4U);
    std::set<int> senders;
    std::set<int> receivers;
    for (const Piece& piece : plan.pieces()) {
        EXPECT_LE(piece.bytes, 50U);
        senders.insert(piece.sender);
        receivers.insert(piece.receiver);
    }
    EXPECT_EQ(senders.size(), 4U);
    EXPECT_EQ(receivers.size(), 4U);
}

TEST(Split, RaisesTheCapRatherThanSendMorePiecesThanRanks) {
    const Topology topology = cluster({4, 4});
    const Plan plan =
        plan_split(uniform_pair(topology, 0, 1, 1000), parameters(50, 0)); // 16000 bytes
    ASSERT_EQ(plan.pieces().size(), 4U);
    for (const Piece& piece : plan.pieces()) { EXPECT_EQ(piece.bytes, 4000U); }
}

TEST(Split, OneMessageBelowTheCap) {
    const Topology topology = cluster({4, 4});
    EXPECT_EQ(plan_split(uniform_pair(topology, 0, 1, 10), parameters(160, 0)).pieces().size(), 1U);
}

TEST(Split, SendersAreDealtFromTheLastRankAndReceiversFromTheFirst) {
    const Topology topology = cluster({4, 4});
    const Plan plan = plan_split(uniform_pair(topology, 0, 1, 10), parameters(50, 0));
    EXPECT_EQ(plan.pieces().front().sender, 3);
    EXPECT_EQ(plan.pieces().front().receiver, 4);
    EXPECT_EQ(plan.pieces().back().sender, 0);
    EXPECT_EQ(plan.pieces().back().receiver, 7);
}

TEST(Hybrid, SendsLargeMessagesDirectlyAndGathersTheOthers) {
    const Topology topology = cluster({2, 2});
    PairTraffic pair = uniform_pair(topology, 0, 1, 10);
    pair.messages[1].bytes = pair.blocks[1].bytes = 500;
    const Plan plan = plan_hybrid(pair, parameters(1000, 100));
    ASSERT_EQ(plan.direct().size(), 1U);
    EXPECT_EQ(plan.direct()[0], 1U);
    ASSERT_EQ(plan.pieces().size(), 1U);
    EXPECT_EQ(plan.pieces()[0].bytes, 30U);
}

TEST(Hybrid, ALoneMessageHasNothingToBeGatheredWith) {
    const Topology topology = cluster({1, 1});
    const Plan plan = plan_hybrid(uniform_pair(topology, 0, 1, 10), parameters(1000, 100));
    EXPECT_EQ(plan.direct().size(), 1U);
    EXPECT_TRUE(plan.pieces().empty());
}

TEST(Hybrid, ALargeBlockForSeveralRanksCrossesOnce) {
    const Topology topology = cluster({2, 2});
    PairTraffic pair = uniform_pair(topology, 0, 1, 500);
    pair.blocks = {{0, 0, 2, 500}, {1, 2, 2, 500}};
    const Plan plan = plan_hybrid(pair, parameters(2000, 100));
    EXPECT_TRUE(plan.direct().empty());
    ASSERT_EQ(plan.pieces().size(), 1U);
    EXPECT_EQ(plan.pieces()[0].bytes, 1000U);
}

TEST(Plan, PiecesCanBeCutToALimit) {
    const Topology topology = cluster({2, 2});
    const PairTraffic pair = uniform_pair(topology, 0, 1, 10);
    const Plan plan = plan_three_step(pair, {}).with_pieces_up_to(7);
    uint64_t total = 0;
    for (const Piece& piece : plan.pieces()) {
        EXPECT_LE(piece.bytes, 7U);
        EXPECT_GT(piece.bytes, 0U);
        total += piece.bytes;
    }
    EXPECT_EQ(total, 40U);
    EXPECT_EQ(plan.pieces().size(), 6U);
}

TEST(Strategies, AreFoundByName) {
    for (const Strategy& strategy : strategies()) {
        EXPECT_EQ(find_strategy(strategy.name), &strategy);
        EXPECT_FALSE(strategy.doc.empty());
    }
    EXPECT_EQ(find_strategy("four_step"), nullptr);
}

} // namespace nodeaware
