#include "runtime/point_to_point/comparison_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace nodeaware {

namespace {

using Decision = ComparisonPolicy::Decision;
using Measured = ComparisonPolicy::Measured;

constexpr double half = 0.5; // of the messages are saved

Measured measured(double ratio, double error, bool is_of_whole_periods) {
    return BatchLearner::Comparison{ratio, error, is_of_whole_periods};
}

/// Seen only before the handover.
Measured early(double ratio) { return measured(ratio, 0.3 * ratio, false); }
const Measured unsure = measured(0.99, 0.1, true);
const Measured faster = measured(0.5, 0.05, true);
const Measured slower = measured(1.2, 0.05, true);

/// Periods by the library in which it compares; the comparisons tell `after`.
std::vector<int> comparisons(ComparisonPolicy& policy, int periods, const Measured& before,
                             const Measured& after, double saved_share = half) {
    std::vector<int> found;
    for (int i = 1; i <= periods; ++i) {
        const Measured& known = found.empty() ? before : after;
        if (policy.end_period(known, saved_share) != Decision::compare) { continue; }
        found.push_back(i);
        policy.begin();
        EXPECT_EQ(policy.end(after), Decision::go_on);
    }
    return found;
}

/// Of what all batches take, in the end.
double lost_share(int compared, int periods, double ratio) {
    const double by_mpi =
        compared * (ComparisonPolicy::to_settle + ComparisonPolicy::period_to_compare);
    const double by_library = periods * double(ComparisonPolicy::period);
    return by_mpi * (1 / ratio - 1) / by_library;
}

} // namespace

TEST(ComparisonPolicy, ComparesAtLeastOnceUnlessItSurelyGains) {
    for (const Measured& before : {Measured(), early(0.1), early(0.9), early(1.1), unsure}) {
        ComparisonPolicy policy;
        EXPECT_EQ(comparisons(policy, 100, before, faster).size(), 1U);
        EXPECT_TRUE(policy.was_faster());
    }
    ComparisonPolicy sure;
    EXPECT_TRUE(comparisons(sure, 1000, faster, faster).empty());
}

TEST(ComparisonPolicy, TheMoreItSeemsToGainTheLaterItCompares) {
    int last = 4; // what was seen by MPI may come again
    for (const double ratio : {0.95, 0.6, 0.4, 0.3, 0.2}) {
        ComparisonPolicy policy;
        const int first = comparisons(policy, 100, early(ratio), faster).at(0);
        EXPECT_GE(first, last) << ratio;
        EXPECT_LE(lost_share(1, first, ratio), 0.15) << ratio;
        last = first;
        ComparisonPolicy unseen; // what is saved tells, where nothing else does
        EXPECT_EQ(comparisons(unseen, 100, {}, faster, 1 - ratio).at(0), first);
    }
    EXPECT_GE(last, 32);
    ComparisonPolicy loses;
    EXPECT_EQ(comparisons(loses, 100, early(4), faster).at(0), 1);
}

TEST(ComparisonPolicy, WhatIsNotDecidedIsComparedEverMoreSeldom) {
    for (const Measured& after : {unsure, Measured()}) {
        ComparisonPolicy policy;
        constexpr int periods = 4000;
        const std::vector<int> found = comparisons(policy, periods, after, after);
        ASSERT_GE(found.size(), 4U);
        EXPECT_LE(found.size(), 12U);
        int last = 0;
        for (size_t i = 1; i < found.size(); ++i) {
            const int gap = found[i] - found[i - 1];
            EXPECT_GE(gap, std::min(2 * last, 1024));
            last = gap;
        }
        EXPECT_LE(lost_share(static_cast<int>(found.size()), periods, half), 0.01);
    }
}

TEST(ComparisonPolicy, WhatIsSlowerIsGivenBackOnceItWasCompared) {
    ComparisonPolicy policy;
    EXPECT_EQ(policy.end_period(slower, half), Decision::compare); // not by what was before
    policy.begin();
    EXPECT_EQ(policy.end(slower), Decision::give_back);
    EXPECT_FALSE(policy.was_faster());

    ComparisonPolicy later;
    later.begin();
    EXPECT_EQ(later.end(faster), Decision::go_on);
    EXPECT_TRUE(later.was_faster());
    EXPECT_EQ(later.end_period(faster, half), Decision::go_on);
    EXPECT_EQ(later.end_period(slower, half), Decision::give_back); // it has become so
    EXPECT_FALSE(later.was_faster());
}

TEST(ComparisonPolicy, JoinsOthersUnlessThatCostsMuch) {
    ComparisonPolicy policy;
    EXPECT_FALSE(policy.joins(faster, half));
    EXPECT_TRUE(policy.joins(unsure, half));
    EXPECT_TRUE(policy.joins(slower, half));
    EXPECT_TRUE(policy.joins(early(1), half));
    EXPECT_TRUE(policy.joins({}, 0.05));
    EXPECT_FALSE(policy.joins({}, 0.9));
    // Sooner than it would compare by itself, but not at once.
    const Measured gains = early(0.25);
    EXPECT_FALSE(policy.joins(gains, half));
    int periods = 0;
    while (!policy.joins(gains, half)) {
        ASSERT_EQ(policy.end_period(gains, half), Decision::go_on);
        ++periods;
    }
    int by_itself = periods;
    while (policy.end_period(gains, half) == Decision::go_on) { ++by_itself; }
    EXPECT_GE(periods, 4);
    EXPECT_LE(2 * periods, by_itself);
    policy.begin(); // it has just taken part
    EXPECT_FALSE(policy.joins(gains, half));
}

} // namespace nodeaware
