// What is chosen where memory is a device's: staged or straight, together or one by one.

#include "strategies/forecast.hpp"
#include "strategies/schedule.hpp"

#include <gtest/gtest.h>

namespace nodeaware {

namespace {

constexpr uint64_t unlimited = std::numeric_limits<uint64_t>::max();
constexpr uint64_t large = DeviceCosts::copied_together + 1;

/// Messages of 1 s and 1 us a byte; a copy takes 10 s, a further one 4 s, and 2 us a byte to the
/// host, 3 us to the device; straight messages take 2 s and 5 us a byte. The rest costs nothing.
Costs round_costs() {
    Costs costs;
    costs.protocols.fill({unlimited, 1, 1e-6, 0});
    costs.node_per_byte = costs.copy_per_byte = costs.flag = 0;
    costs.devices.to_host = {10, 4, 2e-6};
    costs.devices.to_device = {10, 4, 3e-6};
    costs.devices.protocols.fill({unlimited, 2, 5e-6, 0});
    return costs;
}

class Pair {
  public:
    explicit Pair(int ranks, int nodes = 2) : topology_(placement(ranks, nodes)) {
        pair_ = {&topology_, 0, 1, {}, {}};
    }
    Pair(const Pair&) = delete; // the traffic points to the topology
    Pair& operator=(const Pair&) = delete;
    ~Pair() = default;

    Pair& add(int source, int destination, uint64_t bytes) {
        pair_.blocks.push_back({source, static_cast<uint32_t>(pair_.messages.size()), 1, bytes});
        pair_.messages.push_back({source, destination, 0, 0, bytes});
        return *this;
    }
    Pair& add_all(uint64_t bytes) {
        for (const int source : topology_.ranks_of(0)) {
            for (const int destination : topology_.ranks_of(1)) { add(source, destination, bytes); }
        }
        return *this;
    }
    const PairTraffic& traffic() const { return pair_; }

    double seconds(const char* strategy, const Costs& costs) const {
        Parameters parameters;
        parameters.message_cap = 1 << 20;
        parameters.costs = costs;
        NodeTraffic traffic;
        traffic.outgoing.push_back(pair_);
        return predicted_seconds(traffic, strategy == nullptr ? nullptr : find_strategy(strategy),
                                 parameters);
    }
    std::string chosen(const Costs& costs) const { return name_of(forecast(pair_, costs).front()); }

  private:
    static Topology placement(int ranks, int nodes) {
        std::vector<int> of_ranks;
        for (int node = 0; node < nodes; ++node) {
            of_ranks.insert(of_ranks.end(), static_cast<size_t>(ranks), node);
        }
        return Topology(of_ranks);
    }
    Topology topology_;
    PairTraffic pair_;
};

} // namespace

TEST(DeviceForecast, WithoutDevicesTheirCostsDoNotCount) {
    Costs costs = round_costs();
    Pair pair(4);
    pair.add_all(1000).add(0, 4, large);
    const double before = pair.seconds("three_step", costs);
    costs.devices.to_host.latency = costs.devices.to_device.per_byte = 1e6;
    EXPECT_DOUBLE_EQ(pair.seconds("three_step", costs), before);
}

TEST(DeviceForecast, SmallMessagesOfARankAreCopiedTogether) {
    Pair pair(2);
    pair.add_all(1000);
    const Costs costs = round_costs();
    // Off the device and onto it one copy of 2000 bytes for each rank, whatever the messages are.
    const double copies = 10 + 2000 * 2e-6 + 10 + 2000 * 3e-6;
    for (const bool is_aware : {false, true}) {
        for (const char* strategy : {"standard", "three_step", "two_step", "split"}) {
            EXPECT_NEAR(pair.seconds(strategy, costs.with_devices(is_aware)),
                        pair.seconds(strategy, costs) + copies, 1e-9)
                << strategy;
        }
    }
}

TEST(DeviceForecast, LargeOnesAreCopiedWhileOthersTravelUnlessTheyGoStraight) {
    Pair pair(1);
    pair.add(0, 1, large).add(0, 1, large).add(0, 1, 100);
    const Costs costs = round_costs();
    const double bytes = 2.0 * large + 100;
    const double small = 2 * 10 + 100 * (2e-6 + 3e-6);
    const double first = 4 + large * 2e-6;
    const double last = 4 + large * 3e-6;
    // The slowest is the copying to the device; the other large one.
    EXPECT_NEAR(pair.seconds("standard", costs.with_devices(false)), small + first + last + last,
                1e-9);
    const double straight = 2 * 2 + 2.0 * large * 5e-6;
    EXPECT_NEAR(pair.seconds("standard", costs.with_devices(true)),
                straight + 1 + 100 * 1e-6 + small, 1e-9);
    // In one piece: the same copies to the arena, though MPI is aware.
    EXPECT_NEAR(pair.seconds("three_step", costs.with_devices(true)), small + first + last + last,
                1e-9);
    Costs slow = costs;
    slow.protocols.fill({unlimited, 1, 1e-3, 0});
    const double network = 1 + (bytes + sizeof(PieceHeader)) * 1e-3;
    EXPECT_NEAR(pair.seconds("three_step", slow.with_devices(true)), small + first + network + last,
                1e-9);
}

TEST(DeviceForecast, WhatIsCopiedToTheArenaIsNotCopiedThereAgain) {
    Costs costs = round_costs();
    costs.copy_per_byte = 1; // more than all else
    Pair pair(1);
    pair.add(0, 1, large);
    EXPECT_LT(pair.seconds("three_step", costs.with_devices(false)), 30);
    EXPECT_GT(pair.seconds("three_step", costs), static_cast<double>(large));
}

TEST(DeviceForecast, CallsThatAreLeftToMpi) {
    Pair pair(2);
    pair.add_all(large);
    const Costs costs = round_costs();
    const double bytes = 2.0 * large;
    // It does not know devices: one copy of all on either side.
    EXPECT_NEAR(pair.seconds(nullptr, costs.with_devices(false)),
                2 + bytes * 1e-6 + 20 + bytes * (2e-6 + 3e-6), 1e-9);
    EXPECT_NEAR(pair.seconds(nullptr, costs.with_devices(true)), 2 * 2 + bytes * 5e-6, 1e-9);
    EXPECT_NEAR(pair.seconds(nullptr, costs), 2 + bytes * 1e-6, 1e-9);
}

TEST(DeviceForecast, ABlockForSeveralIsCopiedOffOnce) {
    Pair pair(2);
    PairTraffic shared = pair.traffic();
    shared.messages = {{0, 2, 0, 0, 1000}, {0, 3, 1, 0, 1000}};
    shared.blocks = {{0, 0, 2, 1000}};
    Parameters parameters;
    NodeTraffic traffic;
    traffic.outgoing.push_back(shared);
    const auto seconds = [&](const Costs& costs) {
        parameters.costs = costs;
        return predicted_seconds(traffic, find_strategy("three_step"), parameters);
    };
    const Costs costs = round_costs();
    EXPECT_NEAR(seconds(costs.with_devices(false)) - seconds(costs),
                10 + 1000 * 2e-6 + 10 + 1000 * 3e-6, 1e-9);
}

TEST(DeviceForecast, OtherNodesWantCopiesToo) {
    Pair pair(1, 4); // three others, all like the pair
    pair.add(0, 1, 1000).add(0, 1, large);
    const Costs costs = round_costs();
    // The small ones of all nodes are one copy, each large one is another.
    EXPECT_NEAR(pair.seconds("standard", costs.with_devices(false)) * 3,
                2 * 10 + 3 * 1000.0 * (2e-6 + 3e-6) + 2 * 4 + large * (2e-6 + 3e-6) +
                    2 * (4 + large * 3e-6), // more than the network takes
                1e-9);
}

TEST(DeviceForecast, ManySmallOnesAreStagedTogether) {
    Pair pair(4);
    pair.add_all(8);
    for (const bool is_aware : {false, true}) {
        const Costs costs = Costs().with_devices(is_aware);
        EXPECT_EQ(pair.chosen(costs), "three_step") << is_aware;
        EXPECT_LT(pair.seconds("model", costs), pair.seconds(nullptr, costs)) << is_aware;
    }
}

TEST(DeviceForecast, FewLargeOnesGoStraightIfMpiIsAware) {
    // Straight ones at the rate of the network; its host messages are dear to begin, so that host
    // memory is gathered.
    Costs costs;
    for (ProtocolCosts& protocol : costs.protocols) { protocol.latency = protocol.gap = 2e-4; }
    costs.copy_per_byte = 1e-12;
    costs.devices.protocols = costs.protocols;
    costs.devices.to_host = costs.devices.to_device = {1e-3, 1e-3, 1e-9};
    Pair pair(2);
    pair.add(0, 2, 1 << 20).add(1, 3, 1 << 20);
    EXPECT_EQ(pair.chosen(costs.with_devices(true)), "standard");
    Pair many(2);
    for (int i = 0; i < 8; ++i) { many.add(i % 2, 2 + i % 2, large); }
    EXPECT_EQ(many.chosen(costs), "three_step");
    EXPECT_EQ(many.chosen(costs.with_devices(true)), "standard");
    // The small ones beside them are gathered.
    many.add_all(100);
    EXPECT_EQ(many.chosen(costs.with_devices(true)), "hybrid");
    EXPECT_EQ(plan_of(many.traffic(), forecast(many.traffic(), costs.with_devices(true)).front())
                  .direct()
                  .size(),
              8U);
}

TEST(DeviceForecast, SlowStraightMessagesAreAvoided) {
    Costs costs; // as on Lassen, but straight messages are of 100 MB/s
    for (ProtocolCosts& protocol : costs.devices.protocols) { protocol.per_byte = 1e-8; }
    Pair pair(2);
    pair.add(0, 2, 1 << 20).add(1, 3, 1 << 20);
    EXPECT_NE(pair.chosen(costs.with_devices(true)), "standard");
    const Plan plan =
        plan_of(pair.traffic(), forecast(pair.traffic(), costs.with_devices(true)).front());
    EXPECT_TRUE(plan.direct().empty());
}

} // namespace nodeaware
