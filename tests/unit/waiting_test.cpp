#include "runtime/progress/crowding.hpp"
#include "runtime/progress/patience.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nodeaware {

namespace {

using Kind = Rest::Kind;

std::vector<Rest> rests(Patience& patience, int rounds, bool only_bell, bool crowded) {
    std::vector<Rest> result;
    result.reserve(static_cast<size_t>(rounds));
    for (int i = 0; i < rounds; ++i) { result.push_back(patience.next(only_bell, crowded)); }
    return result;
}

TEST(Patience, WhoWaitsForTheBellSpinsThenYieldsThenSleeps) {
    Patience patience;
    const std::vector<Rest> all =
        rests(patience, backoff::spins + backoff::yields + 1, true, false);
    EXPECT_EQ(all.front().kind, Kind::spin);
    EXPECT_EQ(all[backoff::spins - 1].kind, Kind::spin);
    EXPECT_EQ(all[backoff::spins].kind, Kind::yield);
    EXPECT_EQ(all.back().kind, Kind::sleep);
}

TEST(Patience, WhoWaitsForMpiNapsInTheEnd) {
    Patience patience;
    EXPECT_EQ(rests(patience, backoff::spins + backoff::yields + 1, false, false).back().kind,
              Kind::nap);
}

TEST(Patience, ACrowdedCoreIsLeftAtOnce) {
    Patience patience;
    EXPECT_EQ(patience.next(true, true).kind, Kind::sleep);
    patience.begin();
    EXPECT_EQ(patience.next(false, true).kind, Kind::yield);
}

TEST(Patience, TheFirstSleepIsShortWhereverItComes) {
    Patience patience;
    rests(patience, 500, true, false);
    const uint32_t first = patience.next(true, true).microseconds;
    EXPECT_EQ(first, 200U);
    EXPECT_EQ(patience.next(true, true).microseconds, 2 * first);
    patience.begin();
    EXPECT_EQ(patience.next(true, true).microseconds, first);
}

/// A check lets MPI yield a dozen times: many to a wait would be what it waits for.
TEST(Patience, ChecksAreRareButCome) {
    Patience patience;
    uint64_t slept = 0;
    std::vector<uint64_t> checks;
    for (const Rest& rest : rests(patience, 64, true, true)) {
        if (rest.checks) { checks.push_back(slept); }
        slept += rest.microseconds;
    }
    ASSERT_EQ(checks.size(), 4U);
    EXPECT_GT(checks.front(), 100'000U);
    for (size_t i = 1; i < checks.size(); ++i) {
        EXPECT_GT(checks[i] - checks[i - 1], 100'000U);
        EXPECT_LT(checks[i] - checks[i - 1], 300'000U);
    }
    patience.begin();
    int rounds = 0;
    while (!patience.next(false, true).checks) { ++rounds; }
    EXPECT_EQ(rounds, 1023);
}

TEST(Looks, WhoHasLeftTheCoreLooksAgain) {
    Looks looks;
    long switches = 0;
    // An MPI that yields by itself when it finds nothing: whoever calls it need not.
    for (int i = 0; i < 10; ++i) { EXPECT_FALSE(looks.are_enough(++switches)); }
    // Then it finds something, and tells of it one look later.
    EXPECT_FALSE(looks.are_enough(switches));
}

TEST(Looks, WhereMpiKeepsTheCoreItIsLeftAtTheSecondInVain) {
    Looks looks;
    long switches = 7;
    looks.begin_again(switches);
    EXPECT_FALSE(looks.are_enough(switches));
    EXPECT_TRUE(looks.are_enough(switches));
    looks.begin_again(++switches);
    EXPECT_FALSE(looks.are_enough(switches));
    EXPECT_TRUE(looks.are_enough(switches));
}

/// Times of a thread that has `share` of a core.
struct ScriptedTimes {
    static inline Crowding::Times now{0, 0};
    static inline double share = 1;
    static Crowding::Times ask() { return now; }
    static void pass(double seconds) {
        now.passed += seconds;
        now.run += share * seconds;
    }
};

class CrowdingTest : public ::testing::Test {
  protected:
    /// Returns the round in which it turned out to be crowded, or -1.
    static int spin(Crowding& crowding, int rounds, double seconds_a_round) {
        crowding.begin_wait();
        for (int round = 0; round < rounds; ++round) {
            if (crowding.is_crowded()) { return round; }
            ScriptedTimes::pass(seconds_a_round);
            crowding.spin(static_cast<uint32_t>(round));
        }
        return -1;
    }
    void SetUp() override { ScriptedTimes::share = 1; }
};

TEST_F(CrowdingTest, MoreRanksThanCoresAreKnown) {
    EXPECT_TRUE(Crowding(true).is_crowded());
    EXPECT_FALSE(Crowding(false).is_crowded());
}

TEST_F(CrowdingTest, WhoHasItsCoreSpins) {
    Crowding crowding(false, ScriptedTimes::ask);
    EXPECT_EQ(spin(crowding, 2000, 300e-6), -1);
}

TEST_F(CrowdingTest, InterruptsAreNoCrowd) {
    Crowding crowding(false, ScriptedTimes::ask);
    ScriptedTimes::share = 0.2;
    EXPECT_EQ(spin(crowding, 16, 5e-6), -1);
    ScriptedTimes::share = 0.9;
    EXPECT_EQ(spin(crowding, 2000, 20e-6), -1);
}

TEST_F(CrowdingTest, WhoIsKeptFromRunningNotices) {
    Crowding crowding(false, ScriptedTimes::ask);
    ScriptedTimes::share = 0.1;
    EXPECT_EQ(spin(crowding, 2000, 300e-6), 9); // long before a call of some milliseconds is over
}

TEST_F(CrowdingTest, WhatHoldsStillHoldsLonger) {
    Crowding crowding(false, ScriptedTimes::ask);
    ScriptedTimes::share = 0.1;
    uint64_t spun = 0;
    constexpr uint64_t waits = 10000;
    for (uint64_t i = 0; i < waits; ++i) {
        if (spin(crowding, 2000, 300e-6) > 0) { ++spun; }
    }
    EXPECT_LT(spun, 20U);
    EXPECT_GE(spun, 10U); // it asks again all the same
}

TEST_F(CrowdingTest, ChanceIsForgotten) {
    Crowding crowding(false, ScriptedTimes::ask);
    for (int i = 0; i < 3; ++i) {
        ScriptedTimes::share = 0.1;
        EXPECT_GT(spin(crowding, 2000, 300e-6), 0);
        ScriptedTimes::share = 1;
        int waits = 0;
        while (spin(crowding, 2000, 1e-6) == 0) { ++waits; }
        EXPECT_LE(waits, 4);
    }
}

} // namespace

} // namespace nodeaware
