#include "runtime/collectives/gathering_feedback.hpp"

#include <gtest/gtest.h>

namespace nodeaware {

namespace {

/// A program that exchanges again and again: what an operation takes either way.
struct Program {
    double gathered;
    double straight;
    double gain;
    GatheringFeedback feedback = {};
    double time = 0;
    uint64_t straight_calls = 0;

    bool run(uint64_t calls) {
        bool gathers = true;
        for (uint64_t i = 0; i < calls; ++i) {
            gathers = feedback.begin(time, gain);
            if (!gathers) { ++straight_calls; }
            time += gathers ? gathered : straight;
        }
        return gathers;
    }
};

} // namespace

TEST(GatheringFeedback, WhatGainsGoesOnAndTrialsCostLittle) {
    Program program{1, 11, 16};
    EXPECT_TRUE(program.run(10000));
    EXPECT_GT(program.straight_calls, 0U);
    EXPECT_LT(program.time, 1.05 * 10000);
}

TEST(GatheringFeedback, NothingIsTriedBeforeItIsCheap) {
    Program program{1, 100, 100};
    program.run(4000);
    EXPECT_EQ(program.straight_calls, 0U);
}

TEST(GatheringFeedback, WhatTakesLongerGoesStraight) {
    Program program{1.5, 1, 1};
    EXPECT_FALSE(program.run(200));
    EXPECT_LT(program.time, 1.5 * 64 + 1.05 * 136);
}

TEST(GatheringFeedback, ItIsTriedAgain) {
    Program program{1.5, 1, 1};
    ASSERT_FALSE(program.run(200));
    program.gathered = 0.5; // another phase
    EXPECT_TRUE(program.run(2000));
}

TEST(GatheringFeedback, SmallDifferencesChangeNothing) {
    Program program{1, 0.95, 1};
    EXPECT_TRUE(program.run(5000));
}

TEST(GatheringFeedback, PausesOfTheProgramAreNotTakenForTheOperations) {
    Program program{1, 2, 2};
    for (int i = 0; i < 100; ++i) {
        program.run(10);
        program.time += 1000;
    }
    EXPECT_TRUE(program.run(1));
}

} // namespace nodeaware
