#include "strategies/forecast.hpp"
#include "strategies/schedule.hpp"

#include <gtest/gtest.h>

namespace nodeaware {

namespace {

constexpr uint64_t unlimited = std::numeric_limits<uint64_t>::max();

/// A network where a message costs 5 ms of its node's link and 20 ns a byte, or, above 1000 bytes,
/// three times 5 ms; memory costs next to nothing.
Costs slow_network() {
    Costs costs;
    costs.protocols = {
        {{100, 5e-3, 20e-9, 5e-3}, {1000, 5e-3, 20e-9, 5e-3}, {unlimited, 15e-3, 20e-9, 15e-3}}};
    costs.node_per_byte = 20e-9;
    costs.copy_per_byte = 1e-12;
    costs.flag = 1e-9;
    return costs;
}

class Pair {
  public:
    Pair(int ranks, uint64_t bytes) : topology_(placement(ranks)) {
        pair_ = {&topology_, 0, 1, {}, {}};
        for (const int source : topology_.ranks_of(0)) {
            for (const int destination : topology_.ranks_of(1)) { add(source, destination, bytes); }
        }
    }
    void add(int source, int destination, uint64_t bytes) {
        pair_.blocks.push_back({source, static_cast<uint32_t>(pair_.messages.size()), 1, bytes});
        pair_.messages.push_back({source, destination, 0, 0, bytes});
    }
    const PairTraffic& traffic() const { return pair_; }
    const Topology& topology() const { return topology_; }

  private:
    static Topology placement(int ranks) {
        std::vector<int> nodes(static_cast<size_t>(ranks), 0);
        nodes.resize(2 * nodes.size(), 1);
        return Topology(nodes);
    }
    Topology topology_;
    PairTraffic pair_;
};

} // namespace

TEST(Forecast, ManySmallMessagesBecomeOne) {
    const Pair pair(4, 8);
    const auto list = forecast(pair.traffic(), slow_network());
    EXPECT_EQ(name_of(list.front()), "three_step");
    // One message of 128 bytes and the header, 2 flags, 2 copies of 32 bytes a rank.
    const double expected = 5e-3 + (128 + sizeof(PieceHeader)) * 20e-9 + 2 * (1e-9 + 32 * 1e-12);
    EXPECT_NEAR(list.front().seconds, expected, 1e-12);
    // 16 messages, whose link is one after the other.
    for (const Candidate& candidate : list) {
        if (name_of(candidate) != "standard") { continue; }
        EXPECT_NEAR(candidate.seconds, 16 * 5e-3 + 128 * 20e-9, 1e-12);
    }
}

TEST(Forecast, PiecesStayBelowAnExpensiveProtocol) {
    const Pair pair(4, 110); // 1760 bytes: two messages of up to 1000 bytes, or one for 15 ms
    const auto list = forecast(pair.traffic(), slow_network());
    EXPECT_EQ(name_of(list.front()), "split");
    EXPECT_EQ(list.front().pieces, 2U);
    EXPECT_EQ(plan_of(pair.traffic(), list.front()).pieces().size(), 2U);
}

// Two messages of 5 ms each in turn, or one of 11 ms: not worth a second message.
TEST(Forecast, FewerMessagesWinWhereTheDifferenceIsSmall) {
    Costs costs = slow_network();
    costs.protocols[2].latency = costs.protocols[2].gap = 11e-3;
    const Pair pair(4, 110);
    const auto list = forecast(pair.traffic(), costs);
    EXPECT_EQ(name_of(list.front()), "three_step");
    EXPECT_GT(list.front().seconds, list.at(1).seconds);
}

TEST(Forecast, LargeMessagesGoStraight) {
    Costs costs = slow_network();
    costs.copy_per_byte = 1e-6; // slow memory
    Pair pair(2, 8);
    pair.add(0, 2, 100000);
    const auto list = forecast(pair.traffic(), costs);
    EXPECT_EQ(name_of(list.front()), "hybrid");
    const Plan plan = plan_of(pair.traffic(), list.front());
    EXPECT_EQ(plan.direct(), std::vector<uint32_t>{4});
    EXPECT_EQ(plan.pieces().size(), 1U);
}

TEST(Forecast, OneMessageIsNotGathered) {
    Pair pair(1, 8);
    EXPECT_EQ(name_of(forecast(pair.traffic(), Costs()).front()), "standard");
}

TEST(Forecast, WhetherGatheringPaysForAllToAll) {
    const Pair pair(16, 8);
    EXPECT_TRUE(gathering_pays(pair.topology(), 8, Costs()));
    EXPECT_FALSE(gathering_pays(pair.topology(), 1 << 20, Costs()));
}

TEST(Forecast, PredictionsOfANodeCountAllItsPairs) {
    const Pair pair(2, 8);
    Parameters parameters;
    parameters.costs = slow_network();
    NodeTraffic traffic;
    traffic.outgoing.push_back(pair.traffic());
    EXPECT_NEAR(predicted_seconds(traffic, nullptr, parameters), 4 * 5e-3 + 32 * 20e-9, 1e-12);
    const double three_step = predicted_seconds(traffic, find_strategy("three_step"), parameters);
    EXPECT_NEAR(three_step, forecast(pair.traffic(), parameters.costs).front().seconds, 1e-12);
}

TEST(Forecast, OfAnAllToAllIsThatOfANodeWhosePairsAreAlike) {
    const Pair pair(2, 5000);
    Parameters parameters;
    parameters.costs = slow_network();
    NodeTraffic traffic;
    traffic.outgoing.push_back(pair.traffic());
    for (const Strategy* strategy : {static_cast<const Strategy*>(nullptr),
                                     find_strategy("standard"), find_strategy("three_step")}) {
        EXPECT_NEAR(predicted_uniform_seconds(pair.topology(), 5000, strategy, parameters),
                    predicted_seconds(traffic, strategy, parameters), 1e-12);
    }
}

} // namespace nodeaware
