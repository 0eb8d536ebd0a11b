#include "runtime/report/facts.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace nodeaware::report {

namespace {

trace::Call call_of(const char* function, int communicator, trace::Nanoseconds nanoseconds) {
    return {function, nullptr, communicator, trace::Memory::host, 1000, 1000 + nanoseconds};
}

/// An unnamed communicator that this rank leads, and one that it does not.
trace::Contents some_contents() {
    trace::Contents contents(trace::Limits::of_sums());
    const int led = contents.add_communicator({0, 4, false, {{0, 1, 4}}, ""});
    const int other = contents.add_communicator({1, 2, false, {{3, -3, 2}}, "pair"});
    for (int i = 0; i < 3; ++i) {
        contents.add_exchange(call_of("MPI_Alltoallv", led, 1'000'000'000), 4, {});
        contents.add_way(led, i == 0 ? "native" : "split");
    }
    contents.add_exchange(call_of("MPI_Ineighbor_alltoallv", other, 500'000'000), 4, {});
    contents.add_way(other, "gathered");
    contents.add_send(call_of("MPI_Isend", other, 250'000'000), 0, 8);
    contents.add_call(call_of("MPI_Waitall", trace::no_communicator, 2'000'000'000));
    contents.add_call(call_of("blocking collective", led, 125'000'000));
    return contents;
}

CommunicatorRow row_of(const std::string& name, int ranks, uint64_t exchanges) {
    return {name, ranks, 1, exchanges, 0, 0.5, {{"split", exchanges}}};
}

} // namespace

TEST(Report, TimesGoByWhatFunctionsAreFor) {
    const Times times = times_of(some_contents(), 10, false);
    EXPECT_DOUBLE_EQ(times.seconds[Times::wall], 10);
    EXPECT_DOUBLE_EQ(times.seconds[Times::exchanges], 3.5);
    EXPECT_DOUBLE_EQ(times.seconds[Times::messages], 2.25);
    EXPECT_DOUBLE_EQ(times.seconds[Times::others], 0.125);
    EXPECT_DOUBLE_EQ(times.seconds[Times::in_calls], 5.875);
    ASSERT_EQ(times.communicators.size(), 2U);
    EXPECT_EQ(times.communicators[0].exchanges, 3U);
    EXPECT_EQ(times.communicators[0].ways,
              (decltype(CommunicatorRow::ways){{"native", 1}, {"split", 2}}));
    EXPECT_EQ(times.communicators[1].messages, 1U);
    EXPECT_DOUBLE_EQ(times.communicators[1].seconds, 0.75);
    const Times led = times_of(some_contents(), 10, true);
    ASSERT_EQ(led.communicators.size(), 1U);
    EXPECT_EQ(led.communicators[0].ranks, 4);
}

TEST(Report, CommunicatorsOfOneNameAndSizeAreOneRow) {
    const auto rows =
        merged({row_of("a", 4, 1), row_of("b", 4, 9), row_of("a", 4, 2), row_of("a", 8, 5)}, 10);
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].name, "b");
    EXPECT_EQ(rows[1].ranks, 8);
    EXPECT_EQ(rows[2].communicators, 2U);
    EXPECT_EQ(rows[2].exchanges, 3U);
    EXPECT_EQ(rows[2].ways, (decltype(CommunicatorRow::ways){{"split", 3}}));
}

TEST(Report, WhatIsBeyondTheLimitIsOneRow) {
    std::vector<CommunicatorRow> rows;
    for (int i = 0; i < 100; ++i) { rows.push_back(row_of(std::to_string(i), 2, 1)); }
    const auto few = merged(rows, 8);
    ASSERT_EQ(few.size(), 8U);
    EXPECT_EQ(few.back().ranks, 0);
    EXPECT_EQ(few.back().communicators, 93U);
    EXPECT_EQ(few.back().exchanges, 93U);
}

TEST(Report, RowsSurviveTheJourneyToRank0) {
    const std::vector<CommunicatorRow> rows = {row_of("a \"name\"\n\xff", 4, 7), row_of("", 2, 1)};
    const auto told = unpacked(packed(rows));
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(told[0].exchanges, 7U);
    EXPECT_EQ(told[0].name.substr(0, 9), "a \"name\"\n");
    EXPECT_EQ(told[0].ways, rows[0].ways);
    EXPECT_EQ(told[1].name, "");
    EXPECT_TRUE(unpacked(packed({})).empty());
}

TEST(Report, OfOneRankSaysSo) {
    Facts facts;
    facts.ranks = 4;
    facts.strategies = {"split"};
    facts.end = "SIGTERM";
    Counted counted;
    counted.by_strategy = {3};
    const Times times = times_of(some_contents(), 10, false);
    add_own(facts, 2, counted, &times);
    EXPECT_NE(text_of(facts).find("calls of rank 2 alone, of 4 ranks"), std::string::npos);
    EXPECT_NE(text_of(facts).find("ended by SIGTERM, not finished"), std::string::npos);
    const auto json = nlohmann::json::parse(json_of(facts));
    EXPECT_EQ(json["complete"], false);
    EXPECT_EQ(json["rank"], 2);
    EXPECT_EQ(json["end"], "SIGTERM");
    EXPECT_EQ(json["rerouted_by"]["split"], 3);
    EXPECT_DOUBLE_EQ(json["shares"]["in_exchanges"], 0.35);
    add_own(facts, 2, counted, nullptr);
    EXPECT_FALSE(nlohmann::json::parse(json_of(facts)).contains("seconds"));
}

} // namespace nodeaware::report
