#include "runtime/point_to_point/batch_learner.hpp"
#include "strategies/batches.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <thread>
#include <vector>

namespace nodeaware {

namespace {

using batches::Batch;
using batches::Container;
using batches::NodeBatches;
using batches::Stream;

constexpr uint64_t no_limit = 1 << 20;

/// Rank r is on node r / 4, the ranks that send are on another.
std::vector<Container> containers_of(const NodeBatches& node, uint64_t most_bytes = no_limit) {
    std::vector<int> nodes;
    for (int rank = 0; rank < 200; ++rank) { nodes.push_back(rank / 4); }
    return batches::containers_of(node, Topology(nodes), most_bytes);
}

TEST(Batches, MessagesOfOneBatchToOneNodeTravelTogether) {
    const NodeBatches node = {{{{{4, 0, 8}, {8, 0, 8}}, 9}}, {{{{4, 1, 16}, {6, 0, 8}}, 9}}};
    const auto containers = containers_of(node);
    ASSERT_EQ(containers.size(), 1U);
    EXPECT_EQ(containers[0].node, 1);
    ASSERT_EQ(containers[0].members.size(), 3U);
    EXPECT_EQ(containers[0].members[0].local, 0);
    EXPECT_EQ(containers[0].members[2].stream, (Stream{6, 0, 8}));
    EXPECT_EQ(batches::saved_messages(containers), 2U);
}

TEST(Batches, LargeMessagesAreNotExpectedThere) {
    const Stream large{4, 0, 1000};
    const Stream small{4, 1, 10};
    const NodeBatches node = {{{{large, small}, 2}, {{small}, 2}}, {{{large}, 2}, {{small}, 2}}};
    const auto containers = containers_of(node, 100);
    ASSERT_EQ(containers.size(), 1U); // small ones of both ranks in batch 1
    EXPECT_EQ(containers[0].batch, 1U);
    EXPECT_EQ(containers_of(node).size(), 2U);
}

TEST(Batches, AStreamThatABatchHasTwiceCountsTwice) {
    const NodeBatches node = {{{{{4, 0, 8}, {4, 0, 8}}, 50}}, {{{{4, 1, 8}}, 50}}};
    const auto containers = containers_of(node);
    ASSERT_EQ(containers.size(), 1U);
    EXPECT_EQ(containers[0].members.size(), 3U);
}

/// `ranks` ranks, each with a message of `bytes` to each of `destinations` other nodes.
NodeBatches uniform(int ranks, int destinations, uint64_t bytes, uint64_t repetitions) {
    Batch batch;
    for (int i = 0; i < destinations; ++i) { batch.streams.push_back({4 * i, 0, bytes}); }
    batch.repetitions = repetitions;
    return NodeBatches(static_cast<size_t>(ranks), {batch});
}

TEST(BatchForecast, FollowsTheEquation) {
    Costs costs;
    costs.protocols = {
        {{100, 1, 0.5, 0}, {1000, 2, 0.5, 0}, {std::numeric_limits<uint64_t>::max(), 3, 0.5, 0}}};
    costs.node_per_byte = 0;
    costs.copy_per_byte = 0.25;
    costs.flag = 7;
    const NodeBatches node = uniform(2, 4, 60, 10);
    const auto forecast = batches::forecast(node, containers_of(node), costs);
    // Four messages of 60 bytes from each rank.
    EXPECT_DOUBLE_EQ(forecast.by_mpi, 10 * (4 * 1 + 4 * 60 * 0.5));
    // Four of 120 bytes from both, three copies.
    EXPECT_DOUBLE_EQ(forecast.gathered, 10 * (2 * 2 + 2 * 120 * 0.5 + 3 * 240 * 0.25 + 7));
    costs.protocols[0].gap = 5;
    EXPECT_DOUBLE_EQ(batches::forecast(node, {}, costs).by_mpi, 10 * (8 * 5 + 4 * 60 * 0.5));
    costs.node_per_byte = 100;
    EXPECT_DOUBLE_EQ(batches::forecast(node, {}, costs).by_mpi, 10 * (8 * 5 + 8 * 60 * 100.0));
}

TEST(BatchForecast, CopiesWhatIsWorthIt) {
    Costs costs;
    costs.protocols = {
        {{100, 1, 0.5, 0}, {1000, 2, 0.5, 0}, {std::numeric_limits<uint64_t>::max(), 3, 0.5, 0}}};
    costs.copy_per_byte = 1e-3;
    EXPECT_EQ(batches::bytes_worth_a_copy(costs), 1000U); // as MPI does
    costs.copy_per_byte = 1e-4;
    EXPECT_EQ(batches::bytes_worth_a_copy(costs), 5000U); // an envelope takes as long
    costs.copy_per_byte = 1e-9;
    EXPECT_EQ(batches::bytes_worth_a_copy(costs), uint64_t{1} << 18);
}

TEST(BatchForecast, GatheringPaysForSmallMessagesOfManyRanksOnly) {
    const Costs costs;
    const auto pays = [&](const NodeBatches& node, uint64_t most_bytes) {
        const auto forecast = batches::forecast(node, containers_of(node, most_bytes), costs);
        return forecast.gathered < forecast.by_mpi;
    };
    EXPECT_TRUE(pays(uniform(16, 40, 100, 5), no_limit));
    EXPECT_FALSE(pays(uniform(16, 2, 200000, 5), no_limit));
    // Nothing in containers, envelopes for all.
    EXPECT_FALSE(pays(uniform(16, 2, 200000, 5), 1000));
    EXPECT_FALSE(pays(uniform(1, 40, 100, 5), no_limit));
}

/// A rank posts the streams and completes them.
void run(BatchLearner& learner, const std::vector<Stream>& streams, double begin, double end) {
    for (const Stream& stream : streams) {
        learner.post(begin);
        learner.send(stream);
    }
    learner.complete((begin + end) / 2);
    learner.complete(end);
}

TEST(BatchLearner, FindsWhatRepeatsInWhateverOrder) {
    const std::vector<Stream> one = {{4, 0, 8}, {5, 0, 8}};
    const std::vector<Stream> other = {{5, 0, 8}, {4, 0, 8}};
    BatchLearner learner;
    for (int i = 0; i < 4; ++i) { run(learner, i % 2 == 0 ? one : other, 1 + i, 1.5 + i); }
    learner.post(9); // ends the fourth
    EXPECT_EQ(learner.recent(), 4U);
    ASSERT_NE(learner.last(), nullptr);
    EXPECT_EQ(learner.last()->streams, one);
    EXPECT_EQ(learner.last()->repetitions, 4U);
    EXPECT_DOUBLE_EQ(learner.mean_seconds(), 0.5);
}

TEST(BatchLearner, FindsWhatRepeatsWithOtherTagsAndSizes) {
    BatchLearner learner;
    run(learner, {{4, 0, 8}, {5, 0, 8}}, 1, 2);
    run(learner, {{4, 1, 80}, {5, 1, 16}}, 2, 3);
    learner.post(4);
    ASSERT_NE(learner.last(), nullptr);
    EXPECT_EQ(learner.last()->repetitions, 2U);
    EXPECT_EQ(learner.last()->streams, (std::vector<Stream>{{4, 1, 80}, {5, 1, 16}})); // the latest
    run(learner, {{4, 0, 8}, {4, 1, 8}, {5, 0, 8}}, 4, 5);                             // one more
    learner.post(6);
    EXPECT_EQ(learner.last(), nullptr); // a new one
}

/// So many batches of one kind in turn with others, each of so many seconds and so far apart.
struct Rhythm {
    double seconds = 0;
    double apart = 0;
};
void run_period(BatchLearner& learner, double& time, int destination, const Rhythm& rhythm,
                BatchLearner::Mover mover, int batches = 20) {
    for (int i = 0; i < batches; ++i) {
        run(learner, {{destination, i, 8}}, time, time + rhythm.seconds);
        time += rhythm.apart;
    }
    learner.post(time);
    learner.begin_period(mover);
}

TEST(BatchLearner, ComparesEachKindOfBatchWithItself) {
    using Mover = BatchLearner::Mover;
    BatchLearner learner;
    double time = 1;
    EXPECT_FALSE(learner.library_to_mpi());
    run_period(learner, time, 4, {0.5, 10}, Mover::mpi);
    run_period(learner, time, 5, {0.01, 0.1}, Mover::library); // another phase
    EXPECT_FALSE(learner.library_to_mpi());
    run_period(learner, time, 5, {0.1, 0.2}, Mover::mpi);
    ASSERT_TRUE(learner.library_to_mpi());
    EXPECT_NEAR(learner.library_to_mpi()->ratio, 0.5, 1e-6); // by the cycles, which differ
}

TEST(BatchLearner, ComparesBatchesWhereOtherWorkHidesThem) {
    using Mover = BatchLearner::Mover;
    BatchLearner learner;
    double time = 1;
    run_period(learner, time, 4, {0.1, 10}, Mover::mpi);
    run_period(learner, time, 4, {0.02, 9.9}, Mover::library);
    ASSERT_TRUE(learner.library_to_mpi());
    EXPECT_NEAR(learner.library_to_mpi()->ratio, 0.2, 1e-6);
    run_period(learner, time, 4, {9, 9.9}, Mover::mixed);
    EXPECT_NEAR(learner.library_to_mpi()->ratio, 0.2, 1e-6);
}

TEST(BatchLearner, ComparesFewBatchesOfMoreAndLessPeriods) {
    using Mover = BatchLearner::Mover;
    BatchLearner learner;
    double time = 1;
    run_period(learner, time, 4, {0.1, 1}, Mover::mpi, 3);
    for (int i = 0; i < 4; ++i) {
        run_period(learner, time, 4, {0.1, 1}, Mover::library, 4);
        EXPECT_NEAR(learner.library_to_mpi().value_or(BatchLearner::Comparison{}).ratio, 1, 1e-6)
            << i;
    }
}

TEST(BatchLearner, SaysHowSureAComparisonIs) {
    using Mover = BatchLearner::Mover;
    BatchLearner learner;
    double time = 1;
    const auto run_noisy = [&](double slow, Mover mover) {
        for (int i = 0; i < 10; ++i) { // multigrid: most levels are small
            const double seconds = i % 5 == 0 ? slow : 0.1;
            run(learner, {{4, i, 8}}, time, time + seconds);
            time += seconds;
        }
        learner.post(time);
        learner.begin_period(mover);
    };
    run_noisy(4, Mover::mpi);
    run_noisy(4.5, Mover::library);
    const auto unsure = learner.library_to_mpi();
    ASSERT_TRUE(unsure);
    EXPECT_GT(unsure->ratio, 1.02);
    EXPECT_FALSE(unsure->is_surely_above(1.02));
    EXPECT_FALSE(unsure->is_surely_below(1));
    run_period(learner, time, 5, {0.1, 1}, Mover::mpi);
    run_period(learner, time, 5, {0.3, 3}, Mover::library);
    EXPECT_TRUE(learner.library_to_mpi()->is_surely_above(1.02));
}

TEST(BatchLearner, RemembersTheBatchesBeforeAHandoverButNotTheFirst) {
    using Mover = BatchLearner::Mover;
    BatchLearner learner;
    double time = 1;
    const auto run_some = [&](int batches, double seconds) {
        for (int i = 0; i < batches; ++i) {
            run(learner, {{4, i, 8}}, time, time + seconds);
            time += 2 * seconds;
        }
    };
    run_some(1, 50); // MPI connects ranks
    run_some(5, 1);
    learner.moved_by_mpi_until_now();
    run_some(5, 7);
    learner.post(time);
    learner.begin_period(Mover::mixed);
    EXPECT_FALSE(learner.library_to_mpi());
    run_period(learner, time, 4, {0.25, 0.5}, Mover::library);
    ASSERT_TRUE(learner.library_to_mpi());
    EXPECT_NEAR(learner.library_to_mpi()->ratio, 0.25, 1e-6);
}

TEST(BatchLearner, AWholePeriodByMpiTellsMoreThanItsFirstBatches) {
    using Mover = BatchLearner::Mover;
    BatchLearner learner;
    double time = 1;
    for (int i = 0; i < 6; ++i) {
        run(learner, {{4, i, 8}}, time, time + 3);
        time += 3;
    }
    learner.moved_by_mpi_until_now();
    learner.post(time);
    learner.begin_period(Mover::mixed);
    run_period(learner, time, 4, {0.5, 1}, Mover::library);
    EXPECT_FALSE(learner.library_to_mpi().value().is_of_whole_periods);
    run_period(learner, time, 4, {0.25, 0.5}, Mover::mpi);
    EXPECT_TRUE(learner.library_to_mpi().value().is_of_whole_periods);
    EXPECT_NEAR(learner.library_to_mpi().value().ratio, 2, 1e-6);
}

TEST(BatchLearner, KnowsWhereMessagesGoAgainAndAgain) {
    BatchLearner learner;
    run(learner, {{4, 0, 8}, {5, 1, 8}}, 1, 2);
    run(learner, {{6, 2, 8}}, 2, 3);
    learner.post(3);
    EXPECT_FALSE(learner.is_learned(4));
    run(learner, {{5, 1, 8}, {4, 0, 8}}, 3, 4);
    learner.post(4);
    EXPECT_TRUE(learner.is_learned(4));
    EXPECT_TRUE(learner.is_learned(5));
    EXPECT_FALSE(learner.is_learned(6));
    learner.begin_period(BatchLearner::Mover::mpi); // and one more without it
    EXPECT_TRUE(learner.is_learned(4));
    learner.begin_period(BatchLearner::Mover::mpi);
    EXPECT_FALSE(learner.is_learned(4));
}

TEST(BatchLearner, IsStableWhenNearlyAllWasSeenBefore) {
    BatchLearner learner;
    run(learner, {{4, 0, 8}}, 1, 2);
    run(learner, {{5, 0, 8}}, 2, 3);
    run(learner, {{4, 0, 8}}, 3, 4);
    learner.post(4);
    EXPECT_FALSE(learner.is_stable());
    learner.begin_period(BatchLearner::Mover::mpi);
    for (int i = 0; i < 20; ++i) { run(learner, {{4, 0, 8}}, 5 + i, 5.5 + i); }
    run(learner, {{7, 7, 7}}, 30, 31);
    learner.post(32);
    EXPECT_TRUE(learner.is_stable());
    EXPECT_FALSE(learner.is_learned(7));
}

TEST(BatchLearner, ForgetsTheManyBatchesOfASetup) {
    BatchLearner learner;
    for (int i = 0; i < 3000; ++i) { run(learner, {{i, 0, 8}}, 1 + i, 1.5 + i); }
    const auto solve = [&] {
        for (int i = 0; i < 50; ++i) { run(learner, {{4000, 0, 800}}, 4000 + i, 4000.5 + i); }
        learner.post(4050);
    };
    solve();
    EXPECT_FALSE(learner.is_stable());
    EXPECT_TRUE(learner.is_learned(4000));
    EXPECT_FALSE(learner.is_learned(2999));
    learner.begin_period(BatchLearner::Mover::mpi);
    solve();
    EXPECT_TRUE(learner.is_stable());
}

} // namespace

} // namespace nodeaware
