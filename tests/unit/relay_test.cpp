#include "strategies/forecast.hpp"
#include "strategies/piece_layout.hpp"
#include "strategies/relay.hpp"
#include "strategies/schedule.hpp"
#include "tests/unit/even_topology.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

namespace nodeaware {

namespace {

/// A message costs `alpha` seconds, the rank that sends it or its whole node; a byte 20 ns.
Costs costs_of(double alpha, bool is_of_node) {
    Costs costs;
    for (ProtocolCosts& protocol : costs.protocols) {
        protocol.latency = alpha;
        protocol.gap = is_of_node ? alpha : 0;
        protocol.per_byte = 2e-8;
    }
    costs.node_per_byte = 2e-8;
    costs.copy_per_byte = 0;
    costs.flag = 0;
    return costs;
}

/// All hops of a bundle, by the carriers that have it.
void follow(const std::vector<Carrier>& carriers, int distance, int radix) {
    int behind = 0;
    int32_t before = Bundle::none;
    uint32_t entry = 0;
    bool has_ended = false;
    for (size_t i = 0; i < carriers.size(); ++i) {
        for (uint32_t b = 0; b < carriers[i].bundles.size(); ++b) {
            const Bundle& bundle = carriers[i].bundles[b];
            if (bundle.distance != distance) { continue; }
            EXPECT_FALSE(has_ended);
            EXPECT_EQ(bundle.behind, behind);
            EXPECT_EQ(bundle.before, before);
            EXPECT_EQ(bundle.entry, entry);
            behind += carriers[i].hop;
            has_ended = bundle.ends;
            EXPECT_EQ(has_ended, behind == distance) << distance << " by " << radix;
            before = static_cast<int32_t>(i);
            entry = b;
        }
    }
    EXPECT_EQ(behind, distance);
}

TEST(Relay, EveryBundleGetsWhereItGoes) {
    for (int nodes = 1; nodes <= 40; ++nodes) {
        for (int radix = 2; radix <= 41; ++radix) {
            const std::vector<Carrier> carriers = carriers_of(nodes, radix);
            for (int distance = 1; distance < nodes; ++distance) {
                follow(carriers, distance, radix);
            }
            const RelayCounts counts = relay_counts(nodes, radix);
            size_t bundles = 0;
            for (const Carrier& carrier : carriers) { bundles += carrier.bundles.size(); }
            EXPECT_EQ(counts.messages, carriers.size());
            EXPECT_EQ(counts.bundles, bundles);
            const double rounds = std::ceil(std::log(nodes) / std::log(radix) - 1e-9);
            EXPECT_LE(static_cast<double>(carriers.size()), (radix - 1) * rounds);
        }
    }
    EXPECT_EQ(relay_counts(8, 2).messages, 3U);
    EXPECT_EQ(relay_counts(8, 2).bundles, 12U);
    EXPECT_EQ(relay_counts(16, 4).messages, 6U);
    EXPECT_EQ(relay_counts(5, 5).messages, 4U);
}

TEST(Relay, CarriersPassOnWhatTheyHave) {
    std::array<std::byte, 256> first{};
    std::array<std::byte, 256> second{};
    const std::array<CarrierEntry, 2> table = {{{48, 3, 7}, {51, 2, 8}}};
    carriers::open(first.data(), table, 53);
    for (size_t i = 48; i < 53; ++i) { first[i] = static_cast<std::byte>(i); }
    EXPECT_TRUE(carriers::is_sound(first.data(), 2, 53));
    EXPECT_FALSE(carriers::is_sound(first.data(), 2, 52));
    EXPECT_FALSE(carriers::is_sound(first.data(), 3, 256));
    const std::array<CarrierEntry, 3> own = {{{64, 1, 5}, {}, {}}};
    carriers::open(second.data(), own, 65);
    const std::array<PassedEntry, 2> passed = {{{0, 2}, {1, 1}}};
    carriers::pass_on(first.data(), second.data(), passed, 70);
    EXPECT_EQ(carriers::header_of(second.data()).bytes, 70U);
    EXPECT_EQ(carriers::entry_of(second.data(), 2).offset, 65U);
    EXPECT_EQ(carriers::entry_of(second.data(), 2).fingerprint, 7U);
    EXPECT_EQ(carriers::entry_of(second.data(), 1).offset, 68U);
    EXPECT_EQ(second[65], std::byte{48});
    EXPECT_EQ(second[69], std::byte{52});
}

TEST(Relay, WhatHasNoRoomOrDidNotComeIsLost) {
    std::array<std::byte, 256> first{};
    std::array<std::byte, 256> second{};
    const std::array<CarrierEntry, 1> table = {{{32, 9, 7}}};
    carriers::open(first.data(), table, 41);
    const std::array<CarrierEntry, 1> own{};
    const std::array<PassedEntry, 1> passed = {{{0, 0}}};
    carriers::open(second.data(), own, 32);
    carriers::pass_on(first.data(), second.data(), passed, 40); // one byte too few
    EXPECT_EQ(carriers::entry_of(second.data(), 0).fingerprint, carriers::lost);
    EXPECT_EQ(carriers::header_of(second.data()).bytes, 32U);
    carriers::spoil(first.data(), 1);
    carriers::open(second.data(), own, 32);
    carriers::pass_on(first.data(), second.data(), passed, 256);
    EXPECT_EQ(carriers::entry_of(second.data(), 0).fingerprint, carriers::lost);
    EXPECT_TRUE(carriers::is_sound(second.data(), 1, 32));
}

TEST(Relay, TablesBeyondTheirCarrierAreNotSound) {
    std::array<std::byte, 64> carrier{};
    const std::array<CarrierEntry, 1> table = {{{32, 0xffffffff, 7}}};
    carriers::open(carrier.data(), table, 64);
    EXPECT_FALSE(carriers::is_sound(carrier.data(), 1, 64));
    carriers::set_header(carrier.data(), {0, 1, 8}); // shorter than its table
    EXPECT_FALSE(carriers::is_sound(carrier.data(), 1, 64));
}

TEST(Relay, PartsAreTheWholeCarrier) {
    for (const uint64_t bytes : {uint64_t{1}, uint64_t{10}, uint64_t{64}, ~uint64_t{0}}) {
        for (uint32_t most = 1; most <= 4; ++most) {
            const carriers::Cut cut{bytes, most};
            for (uint64_t length = 0; length < 300; ++length) {
                uint64_t end = 0;
                bool is_cut = false;
                for (uint32_t i = 0; i < cut.parts(length); ++i) {
                    const carriers::Part part = cut.part(length, i);
                    EXPECT_EQ(part.begin, std::min(end, length));
                    is_cut = is_cut || (i > 0 && !part.is_empty());
                    end = part.end;
                }
                EXPECT_EQ(end, length);
                EXPECT_EQ(is_cut, length > bytes && (length - 1) / bytes < most);
                // Who has room for more cuts it alike.
                EXPECT_TRUE(cut.part(length, cut.parts(length)).is_empty());
            }
        }
    }
}

TEST(Relay, CarriesWhatCostsLessThanItsMessage) {
    Parameters parameters;
    parameters.arena_bytes = uint64_t{1} << 30;
    parameters.costs = costs_of(5e-3, true);
    const Topology topology = even_topology(8, 4);
    // 12 hops for 7 bundles: 5/7 of a bundle more, which may take the 5 ms of a message.
    EXPECT_EQ(Relay(topology, parameters).limit(), 350000U);
    parameters.radix = 8; // no bundle is passed on
    EXPECT_GT(Relay(topology, parameters).limit(), uint64_t{1} << 20);
    EXPECT_FALSE(Relay(even_topology(2, 4), parameters).is_used());
    parameters.radix = 0;
    EXPECT_FALSE(Relay(topology, parameters).is_used());
}

TEST(Relay, HasRoomForAllThatMayCome) {
    for (const int nodes : {3, 4, 7, 8, 31}) {
        const Topology topology = even_topology(nodes, 2);
        Parameters parameters;
        parameters.costs = costs_of(1, true);
        for (parameters.radix = 2; parameters.radix < nodes; ++parameters.radix) {
            for (uint64_t arena = smallest_arena(topology); arena < 10000000;
                 arena = arena * 3 / 2) {
                parameters.arena_bytes = arena;
                const Relay relay(topology, parameters);
                if (!relay.is_used()) { continue; }
                uint64_t sum = 0;
                for (const Carrier& carrier : carriers_of(nodes, parameters.radix)) {
                    sum += aligned_slot(relay.capacity(carrier.bundles.size()));
                }
                EXPECT_LE(sum, Relay::share(wire_share(arena)));
            }
        }
    }
}

TEST(Relay, RadixIsThatOfTheMachine) {
    const Topology topology = even_topology(16, 2);
    EXPECT_EQ(best_radix(topology, 32, costs_of(5e-3, true)), 2); // 4 messages
    // Where ranks pay for themselves, two of them send at a time.
    EXPECT_EQ(best_radix(topology, 32, costs_of(5e-3, false)), 3);
    EXPECT_EQ(best_radix(even_topology(2, 4), 32, costs_of(5e-3, true)), 0);
    EXPECT_NEAR(relay_seconds(topology, 2, true, 32, costs_of(5e-3, true)), 4 * 5e-3, 1e-4);
}

/// Tables may say that MPI sends nothing at once.
TEST(Relay, AnyTableWillDo) {
    const Topology topology = even_topology(16, 2);
    for (const uint64_t limit : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
        for (const double latency : {0.0, 1e-6, 1.0}) {
            Costs costs = costs_of(1e-6, true);
            costs.protocols[1].limit = limit;
            costs.protocols[1].latency = latency;
            const int radix = best_radix(topology, 1000, costs);
            EXPECT_GE(radix, 2);
            EXPECT_TRUE(std::isfinite(relay_seconds(topology, radix, true, 1000, costs)));
            Parameters parameters;
            parameters.arena_bytes = 1 << 20;
            parameters.costs = costs;
            EXPECT_GE(Relay(topology, parameters).cut(100).bytes, carriers::table_end(100));
        }
    }
}

TEST(Relay, PredictionsTakeTheBestRadixWhereNoneIsGiven) {
    const Topology topology = even_topology(16, 2);
    Parameters parameters;
    parameters.arena_bytes = uint64_t{1} << 30;
    parameters.costs = costs_of(5e-3, false);
    NodeTraffic traffic{0, {}, {}, {}, false, {}, {}};
    for (int node = 1; node < 16; ++node) {
        PairTraffic pair = uniform_pair(topology, 8);
        pair.destination_node = node;
        traffic.outgoing.push_back(std::move(pair));
    }
    const auto seconds = [&](int radix) {
        parameters.radix = radix;
        return predicted_seconds(traffic, find_strategy("radix"), parameters);
    };
    EXPECT_DOUBLE_EQ(seconds(0), seconds(3));
    EXPECT_LT(seconds(0), seconds(2));
}

TEST(Relay, LargePairsGoAsTheModelSays) {
    const Topology topology = even_topology(8, 4);
    Parameters parameters;
    parameters.arena_bytes = uint64_t{1} << 30;
    parameters.costs = costs_of(5e-3, true);
    EXPECT_TRUE(
        plan_radix(uniform_pair(topology, 21875), parameters).is_relayed()); // 350000 in all
    const Plan plan = plan_radix(uniform_pair(topology, 21876), parameters);
    EXPECT_FALSE(plan.is_relayed());
    EXPECT_FALSE(plan.pieces().empty() && plan.direct().empty());
}

} // namespace

} // namespace nodeaware
