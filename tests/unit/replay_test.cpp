#include "tools/nodeaware/replay/outcome.hpp"
#include "tools/nodeaware/replay/patterns.hpp"
#include "tools/nodeaware/trace/forecast.hpp"

#include <gtest/gtest.h>

namespace nodeaware::tool::replay {

namespace {

constexpr int ranks = 4;

/// Four ranks on two nodes: an all-to-all of all, one of a communicator on one node, one in which
/// each sends as many bytes as its rank says, and messages.
Trace trace_of_four() {
    Trace trace;
    trace.nodes = {0, 0, 1, 1};
    for (int number = 0; number < ranks; ++number) {
        RankTrace rank;
        rank.rank = number;
        rank.communicators.push_back({number, ranks, false, {0, 1, 2, 3}, 0, 0});
        const int first = number / 2 * 2;
        rank.communicators.push_back({number % 2, 2, false, {first, first + 1}, 0, 0});
        const auto bytes = static_cast<uint64_t>(number);
        const int next = (number + 1) % ranks;
        rank.patterns = {{"MPI_Alltoall", 0, 10, 10, 1.0, {{-1, 8}}},
                         {"MPI_Alltoall", 1, 5, 5, 9.0, {{-1, 8}}},
                         {"MPI_Neighbor_alltoall", 0, 2, 2, 3.0, {{next, 1000 * bytes}}}};
        rank.sequences = {{0, {{0, 10}, {2, 2}}}, {1, {{1, 5}}}};
        rank.sends = {{0, next, {{7, 100, 100 * 100}}}};
        rank.sites = {{"MPI_Waitall", "", -1, 100, 0, 0, 2.0},
                      {"other collectives", "", 0, 1, 0, 0, 70}};
        trace.ranks.push_back(std::move(rank));
    }
    return trace;
}

const Pattern& find(const Patterns& patterns, const std::string& function, size_t members) {
    for (const Pattern& pattern : patterns.all()) {
        if (pattern.function == function && pattern.members.size() == members) { return pattern; }
    }
    throw std::runtime_error("no pattern of " + function);
}

Parameters parameters() {
    Parameters parameters;
    parameters.message_cap = 60000;
    parameters.direct_bytes = 65536;
    return parameters;
}

Row row(const std::string& name, double predicted, double times_native) {
    return {name, predicted, {}, {times_native, times_native, times_native}};
}

} // namespace

TEST(Replay, OperationsAreThoseThatCanDoThePattern) {
    EXPECT_EQ(operation_of("MPI_Alltoall", true, true), "alltoall");
    EXPECT_EQ(operation_of("MPI_Alltoall", true, false), "alltoallv");
    EXPECT_EQ(operation_of("MPI_Ialltoall_c", false, true), "ialltoallv");
    EXPECT_EQ(operation_of("MPI_Alltoallw", false, false), "alltoallw");
    EXPECT_EQ(operation_of("MPI_Neighbor_alltoall", true, false), "neighbor_alltoall");
    EXPECT_EQ(operation_of("MPI_Neighbor_allgather", false, false), "neighbor_allgatherv");
    EXPECT_EQ(operation_of("MPIX_Alltoallv_init", false, false), "ialltoallv");
    EXPECT_EQ(operation_of("MPI_Neighbor_alltoallw_init", true, true), "ineighbor_alltoallw");
    EXPECT_EQ(operation_of("MPI_Allreduce", true, true), "");
    EXPECT_EQ(operation_of("MPI_Isend", true, true), "");
}

TEST(Replay, WhatMattersMostComesFirstAndWhatStaysOnANodeNotAtAll) {
    const Trace trace = trace_of_four();
    const Patterns patterns(trace, {});
    EXPECT_EQ(patterns.all().size(), 5U);
    EXPECT_EQ(patterns.between_nodes(), 3U);
    EXPECT_NE(find(patterns, "MPI_Alltoall", 2).obstacle, "");
    const auto first = patterns.most_important(2);
    ASSERT_EQ(first.size(), 2U);
    EXPECT_EQ(first[0].function, "MPI_Neighbor_alltoall");
    EXPECT_EQ(first[0].operation, "neighbor_alltoallv"); // of several sizes
    EXPECT_EQ(first[0].messages.size(), 3U);             // rank 0 sends nothing
    EXPECT_EQ(first[1].function, of_messages);
    EXPECT_DOUBLE_EQ(first[1].seconds, 2.0);
    EXPECT_EQ(first[1].calls, 100);
    const auto all = patterns.most_important(100);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[2].operation, "alltoall");
    EXPECT_EQ(all[2].messages.size(), 16U);
    EXPECT_EQ(all[2].calls, 10);
    EXPECT_DOUBLE_EQ(all[2].seconds, 1.0);
}

TEST(Replay, PatternsBeyondTheLimitsAreLeftOut) {
    const Trace trace = trace_of_four();
    const Patterns small(trace, {4999, 100});
    // Rank 3 sends 3000 bytes there and receives 2000.
    const Pattern large = small.complete(find(small, "MPI_Neighbor_alltoall", 4).number);
    EXPECT_EQ(large.obstacle, "rank 3 would need 5000 bytes of memory, more than 4999");
    EXPECT_TRUE(large.messages.empty());
    EXPECT_EQ(small.most_important(100).size(), 2U);
    EXPECT_EQ(Patterns(trace, {5000, 100}).most_important(100).size(), 3U);
    EXPECT_EQ(Patterns(trace, {5000, 15}).most_important(100).size(), 2U);
}

TEST(Replay, RanksThatCallDifferentFunctionsHaveNoExchange) {
    Trace trace = trace_of_four();
    trace.ranks[2].patterns[0].function = "MPI_Alltoallv";
    EXPECT_EQ(Patterns(trace, {}).most_important(100).size(), 2U);
}

TEST(Replay, EveryStrategyIsPredictedWhereTheyDiffer) {
    const Trace trace = trace_of_four();
    const Patterns patterns(trace, {});
    for (const Pattern& pattern : patterns.most_important(100)) {
        const auto predictions = predict(pattern, trace.nodes, parameters());
        EXPECT_EQ(predictions.front().strategy, "native");
        EXPECT_EQ(predictions.size(), pattern.operation == "p2p" ? 2U : strategies().size() + 1);
        for (const Prediction& one : predictions) { EXPECT_GT(one.seconds, 0) << one.strategy; }
    }
}

TEST(Replay, MessagesThatAreTooLargeToTravelWithOthersArePredictedAsByMpi) {
    Trace trace = trace_of_four();
    Parameters limits = parameters();
    limits.arena_bytes = 64 << 20;
    for (ProtocolCosts& protocol : limits.costs.protocols) { protocol.latency = 1e-3; }
    for (const uint64_t bytes : {100, 9000}) {
        for (RankTrace& rank : trace.ranks) {
            // To both ranks of the other node.
            const int other = rank.rank < 2 ? 2 : 0;
            const SizeClass size{14, 100, 100 * bytes};
            rank.sends = {{0, other, {size}}, {0, other + 1, {size}}};
        }
        const Patterns patterns(trace, {});
        const Pattern pattern = patterns.complete(find(patterns, of_messages, ranks).number);
        const auto predictions = predict(pattern, trace.nodes, limits);
        const auto messages = forecast_of_messages(trace, trace.nodes, limits);
        ASSERT_EQ(predictions.size(), 2U);
        EXPECT_DOUBLE_EQ(messages.native, 100 * predictions[0].seconds);
        EXPECT_DOUBLE_EQ(messages.gathered, 100 * predictions[1].seconds);
        if (bytes > 1000) {
            EXPECT_DOUBLE_EQ(messages.gathered, messages.native);
        } else {
            EXPECT_LT(messages.gathered, 0.8 * messages.native);
        }
    }
}

TEST(Replay, AWinnerIsRightIfItTakesNoMoreThanATwentiethLonger) {
    Winners winners =
        winners_of({row("native", 5, 1), row("split", 3, 2.0), row("hybrid", 4, 2.1)});
    EXPECT_EQ(winners.predicted, std::vector<size_t>{1});
    EXPECT_EQ(winners.measured, 2U);
    EXPECT_NEAR(winners.loss, 0.05, 1e-9);
    EXPECT_EQ(winners_of({row("native", 5, 1), row("split", 3, 2.0)}).loss, 0);
    winners = winners_of({row("native", 5, 1), row("split", 3, 2.0), row("hybrid", 4, 2.2)});
    EXPECT_FALSE(winners.is_right());
    winners = winners_of({row("native", 3, 1), row("split", 3, 0.9)});
    EXPECT_EQ(winners.predicted, (std::vector<size_t>{0, 1}));
    EXPECT_TRUE(winners.is_right());
    EXPECT_FALSE(winners_of({row("native", 3, 1), row("split", 2, 0.9)}).is_right());
}

TEST(Replay, WhereAllTakeTheSameNoWinnerIsRight) {
    const auto winners = winners_of({row("native", 5, 1), row("split", 3, 1.02)});
    EXPECT_TRUE(winners.is_all_alike);
    EXPECT_FALSE(winners.is_right());
    EXPECT_FALSE(winners_of({row("native", 5, 1), row("split", 3, 1.06)}).is_all_alike);
    EXPECT_FALSE(winners_of({row("native", 5, 1), row("split", 3, 2), row("hybrid", 3, 2)})
                     .is_all_alike); // but for native
    Outcome outcome;
    outcome.rows = {row("native", 5, 1), row("split", 3, 1.02)};
    EXPECT_NE(table_of(outcome, ranks).find(": no difference\n"), std::string::npos);
    Outcome other = outcome;
    other.rows[1] = row("split", 3, 2);
    EXPECT_EQ(summary_of({outcome, other}),
              "1 of 1 winners predicted right (within 5 %); of 1 more all take the same");
    EXPECT_EQ(to_json(outcome)["no_difference"], true);
}

TEST(Replay, AModelThatIsFarOffForNativeIsSaid) {
    Outcome outcome;
    outcome.rows = {row("native", 0.004, 1), row("split", 0.003, 2)};
    for (const auto& [seconds, is_said] : {std::pair(0.0041, false),
                                           {0.0079, false},
                                           {0.0021, false},
                                           {0.0081, true},
                                           {0.0019, true}}) {
        outcome.rows[0].seconds.median = seconds;
        EXPECT_EQ(table_of(outcome, ranks).find("so the predicted winner says little") !=
                      std::string::npos,
                  is_said)
            << seconds;
        EXPECT_EQ(to_json(outcome)["native_far_off"], is_said);
    }
}

TEST(Replay, StrategiesThatAreThoughtToTakeTheSameAreOnePrediction) {
    const auto winners = winners_of({row("native", 5, 1), row("three_step", 3, 1.5),
                                     row("split", 3, 2.5), row("gathered", 4, 2.6)});
    EXPECT_EQ(winners.predicted, (std::vector<size_t>{1, 2}));
    EXPECT_TRUE(winners.is_right());
}

TEST(Replay, WhatOverlapsIsNotToldApart) {
    Row fast = row("split", 4, 3);
    fast.times_native.least = 1.9;
    EXPECT_FALSE(winners_of({row("three_step", 3, 2), fast}).is_told_apart);
    fast.times_native.least = 2.1;
    const auto winners = winners_of({row("three_step", 3, 2), fast});
    EXPECT_TRUE(winners.is_told_apart);
    EXPECT_NEAR(winners.loss, 0.5, 1e-9);
}

TEST(Replay, ResultsAreFoundAmongWhateverIsPrinted) {
    int number = 0;
    Measured measured;
    EXPECT_FALSE(read_result("hello", number, measured));
    const std::string line = std::string("[1,0]<stdout>: ") + result_mark +
                             R"(7,"same_nodes":false,"result":{"operation":"alltoallv","forms":[
        {"form":"native","us":{"median":30,"min":20,"max":40},"late":2},
        {"form":"mpi","us":{"median":3,"min":2,"max":4},"late":1}],
        "ratio":{"summary":{"median":10,"min":9,"max":11}},"wrong_bytes":5}})";
    ASSERT_TRUE(read_result(line, number, measured));
    EXPECT_EQ(number, 7);
    EXPECT_EQ(measured.operation, "alltoallv");
    EXPECT_DOUBLE_EQ(measured.native.median, 30e-6);
    EXPECT_DOUBLE_EQ(measured.strategy.most, 4e-6);
    EXPECT_DOUBLE_EQ(measured.times_native.least, 9);
    EXPECT_EQ(measured.wrong_bytes, 5);
    EXPECT_EQ(measured.late_starts, 3);
    EXPECT_FALSE(measured.is_on_same_nodes);
    EXPECT_THROW(read_result(line.substr(0, 120), number, measured), std::runtime_error);
}

TEST(Replay, OutcomesSayWhatWasWrong) {
    const Trace trace = trace_of_four();
    const Pattern pattern = Patterns(trace, {}).most_important(1).front();
    const Measured measured{{2, 1, 3}, {1, 0.5, 2}, {2, 1.5, 3}, "neighbor_alltoallv", 4, 7, true};
    const Outcome outcome =
        outcome_of(pattern, trace.nodes, {{"native", 5}, {"split", 3}}, {measured});
    EXPECT_EQ(outcome.messages, 2U); // from rank 1 to 2, and from 3 to 0
    EXPECT_EQ(outcome.bytes, 4000U);
    EXPECT_EQ(outcome.wrong_bytes, 4);
    EXPECT_NE(table_of(outcome, ranks).find("WRONG DATA: 4 bytes"), std::string::npos);
    EXPECT_NE(table_of(outcome, ranks).find("7 late starts"), std::string::npos);
    EXPECT_EQ(to_json(outcome)["predicted_winner"], "split");
    EXPECT_EQ(summary_of({outcome}), "1 of 1 winners predicted right (within 5 %)");
}

TEST(Replay, OfMessagesOutcomesSayThatTheyAreSentAtOnce) {
    const Trace trace = trace_of_four();
    const Patterns patterns(trace, {});
    const Measured measured{{2, 1, 3}, {1, 0.5, 2}, {2, 1.5, 3}, "p2p", 0, 0, true};
    for (const Pattern& pattern : patterns.most_important(2)) {
        const Outcome outcome =
            outcome_of(pattern, trace.nodes, {{"native", 5}, {"gathered", 3}}, {measured});
        EXPECT_EQ(table_of(outcome, ranks).find("all at once;") != std::string::npos,
                  pattern.function == of_messages);
    }
}

} // namespace nodeaware::tool::replay
