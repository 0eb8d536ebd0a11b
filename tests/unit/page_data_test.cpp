#include "tools/nodeaware/trace/heat_map.hpp"
#include "tools/nodeaware/trace/page_timeline.hpp"

#include <gtest/gtest.h>

#include <map>

namespace nodeaware::tool {

namespace {

using nlohmann::ordered_json;

constexpr size_t plenty = size_t{1} << 30;

struct Sum {
    uint64_t messages = 0;
    uint64_t bytes = 0;
    bool operator==(const Sum&) const = default;
};

/// What the places of a map send each other, without nothing.
std::map<std::pair<uint64_t, uint64_t>, Sum> cells_of(const ordered_json& map) {
    std::map<std::pair<uint64_t, uint64_t>, Sum> cells;
    for (size_t from = 0; from < map["rows"].size(); ++from) {
        const auto row = map["rows"][from].get<std::vector<uint64_t>>();
        for (size_t i = 0; i < row.size(); i += 4) {
            for (uint64_t to = row[i]; to < row[i] + row[i + 1]; ++to) {
                EXPECT_EQ(cells.count({from, to}), 0U);
                cells[{from, to}] = {row[i + 2], row[i + 3]};
            }
        }
    }
    return cells;
}

RankTrace rank_of(int rank, double wall) {
    RankTrace trace;
    trace.rank = rank;
    trace.wall = wall;
    return trace;
}

TracedEvent event(size_t function, double begin, double end) {
    TracedEvent event;
    event.function = function;
    event.begin = begin;
    event.end = end;
    return event;
}

Trace trace_of(size_t ranks) {
    Trace trace;
    trace.nodes.resize(ranks);
    return trace;
}

/// Calls that a list of blocks stands for; they are in order and none has a negative length.
uint64_t calls_of(const ordered_json& blocks) {
    uint64_t calls = 0;
    for (size_t i = 0; i < blocks.size(); i += 4) {
        EXPECT_GE(blocks[i].get<int64_t>(), 0);
        EXPECT_GE(blocks[i + 1].get<int64_t>(), 0);
        calls += blocks[i + 3].get<uint64_t>();
    }
    return calls;
}

} // namespace

TEST(HeatMap, EqualCellsOfARowAreOne) {
    HeatMap map(6);
    for (int to = 1; to < 5; ++to) { map.add(2, to, 3, 24); }
    map.add(2, 5, 3, 25);
    map.add(0, 0, 1, 1);
    map.add(0, 0, 1, 2);
    const ordered_json json = map.to_json(plenty);
    EXPECT_EQ(json["together"], 1);
    EXPECT_EQ(json["rows"],
              ordered_json::parse("[[0, 1, 2, 3], [], [1, 4, 3, 24, 5, 1, 3, 25], [], [], []]"));
}

TEST(HeatMap, RanksThatFollowEachOtherShareAPlaceWhereThereAreMany) {
    HeatMap map(1025);
    map.add(0, 1024, 1, 10);
    map.add(2, 1023, 1, 10);
    map.add(3, 1023, 1, 10);
    const ordered_json json = map.to_json(plenty);
    EXPECT_EQ(json["count"], 1025);
    EXPECT_EQ(json["together"], 3);
    EXPECT_EQ(json["rows"].size(), 342U);
    const auto cells = cells_of(json);
    ASSERT_EQ(cells.size(), 2U);
    EXPECT_EQ(cells.at({0, 341}), (Sum{2, 20}));
    EXPECT_EQ(cells.at({1, 341}), (Sum{1, 10}));
}

TEST(HeatMap, TheTextIsBoundedAndNothingIsLost) {
    constexpr int ranks = 300;
    constexpr size_t most = 20000;
    HeatMap map(ranks);
    Sum all;
    for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) {
            const auto bytes = static_cast<uint64_t>(1 + (from * 7919 + to * 104729) % 65521);
            map.add(from, to, 1, bytes);
            all.messages += 1;
            all.bytes += bytes;
        }
    }
    EXPECT_GT(map.to_json(plenty).dump().size(), most);
    const ordered_json json = map.to_json(most);
    EXPECT_LE(json["rows"].dump().size(), most + 4 * json["rows"].size());
    EXPECT_GT(json["rows"].size(), 10U);
    Sum sum;
    for (const auto& [place, cell] : cells_of(json)) {
        sum.messages += cell.messages;
        sum.bytes += cell.bytes;
    }
    EXPECT_EQ(sum, all);
}

TEST(HeatMap, RanksFromOutsideAndEmptyBlocksAreLeftOut) {
    Trace trace = trace_of(4);
    RankTrace rank = rank_of(1, 1);
    TracedCommunicator communicator;
    communicator.members = {3, -1, 1};
    rank.communicators.push_back(communicator);
    rank.patterns.push_back({"MPI_Alltoallv", 0, 5, 5, 1, {{0, 8}, {1, 8}, {2, 0}}});
    rank.patterns.push_back({"MPI_Alltoall", 0, 2, 2, 1, {{-1, 4}}});
    rank.sends.push_back({0, 0, {{0, 7, 0}, {4, 2, 20}}});
    trace.ranks.push_back(rank);
    const HeatMaps maps = heat_maps_of(trace, {0, 0, 1, 1});
    const auto cells = cells_of(maps.ranks.to_json(plenty));
    ASSERT_EQ(cells.size(), 2U);
    EXPECT_EQ(cells.at({1, 3}), (Sum{5 + 2 + 7 + 2, 5 * 8 + 2 * 4 + 20}));
    EXPECT_EQ(cells.at({1, 1}), (Sum{2, 8}));
    const auto of_nodes = cells_of(maps.nodes.to_json(plenty));
    ASSERT_EQ(of_nodes.size(), 2U);
    EXPECT_EQ(of_nodes.at({0, 1}), (Sum{16, 68}));
    EXPECT_EQ(of_nodes.at({0, 0}), (Sum{2, 8}));
}

TEST(PageTimeline, FewCallsStayAsTheyAre) {
    Trace trace = trace_of(2);
    trace.ranks = {rank_of(0, 1), rank_of(1, 1)};
    trace.ranks[0].functions = {"MPI_Wait", "MPI_Isend"};
    trace.ranks[0].events = {event(0, 0.5, 0.75), event(1, 0.25, 0.3)};
    const ordered_json json = PageTimeline(trace).to_json();
    EXPECT_EQ(json["functions"], ordered_json::parse(R"(["MPI_Wait", "MPI_Isend"])"));
    ASSERT_EQ(json["ranks"].size(), 2U);
    EXPECT_EQ(json["ranks"][0]["blocks"],
              ordered_json::parse("[250000, 50000, 1, 1, 200000, 250000, 0, 1]"));
    EXPECT_TRUE(json["ranks"][1]["blocks"].empty());
}

TEST(PageTimeline, MessagesThatACallStartsAreNoCalls) {
    Trace trace = trace_of(1);
    trace.ranks = {rank_of(0, 1)};
    trace.ranks[0].functions = {"MPI_Startall of a send", "MPI_Startall"};
    trace.ranks[0].events = {event(0, 0.25, 0.5), event(0, 0.25, 0.5), event(1, 0.25, 0.5)};
    const ordered_json json = PageTimeline(trace).to_json();
    EXPECT_EQ(json["functions"], ordered_json::parse(R"(["MPI_Startall"])"));
    EXPECT_EQ(json["ranks"][0]["blocks"], ordered_json::parse("[250000, 250000, 0, 1]"));
}

TEST(PageTimeline, ManyCallsAreJoinedAndALongOneStaysApart) {
    std::vector<TracedEvent> events;
    double now = 0;
    for (size_t i = 0; i < 100000; ++i) {
        if (i == 50000) {
            events.push_back(event(2, now + 1, now + 2));
            now += 3;
        }
        events.push_back(event(i % 2, now, now + 5e-6));
        now += 1e-5;
    }
    Trace trace = trace_of(1);
    trace.ranks = {rank_of(0, now)};
    trace.ranks[0].functions = {"MPI_Isend", "MPI_Wait", "MPI_Alltoall"};
    trace.ranks[0].events = events;
    const ordered_json blocks = PageTimeline(trace).to_json()["ranks"][0]["blocks"];
    EXPECT_LE(blocks.size() / 4, PageTimeline::most_blocks);
    EXPECT_EQ(calls_of(blocks), 100001U);
    size_t long_ones = 0;
    for (size_t i = 0; i < blocks.size(); i += 4) {
        if (blocks[i + 1] == 1000000 && blocks[i + 3] == 1) { ++long_ones; }
    }
    EXPECT_EQ(long_ones, 1U);
}

TEST(PageTimeline, OfManyRanksSomeAreShown) {
    Trace trace = trace_of(1000);
    for (int rank = 0; rank < 1000; ++rank) { trace.ranks.push_back(rank_of(rank, 1)); }
    const ordered_json ranks = PageTimeline(trace).to_json()["ranks"];
    EXPECT_LE(ranks.size(), PageTimeline::most_ranks);
    EXPECT_GT(ranks.size(), PageTimeline::most_ranks / 2);
    EXPECT_EQ(ranks[1]["rank"], 8);
}

} // namespace nodeaware::tool
