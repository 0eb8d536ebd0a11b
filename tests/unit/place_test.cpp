#include "strategies/placement/bisection.hpp"
#include "strategies/placement/choice.hpp"
#include "strategies/placement/swaps.hpp"
#include "strategies/placement/tilings.hpp"
#include "tools/nodeaware/place/formats.hpp"
#include "tools/nodeaware/place/partitioner.hpp"
#include "tools/nodeaware/place/predicted.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

namespace nodeaware::place {

namespace {

using Random = std::mt19937_64;

int draw(Random& random, int low, int high) {
    return low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1));
}

std::map<int, int> ranks_by_node(const Placement& placement) {
    std::map<int, int> ranks;
    for (const int node : placement) { ++ranks[node]; }
    return ranks;
}

Choice choose_for_grid(const std::vector<int>& dimensions, int ppn) {
    const RankGraph graph = grid_graph({dimensions, false});
    return choose_placement(graph, block_placement(node_sizes(graph.ranks(), {ppn})),
                            {dimensions, false});
}

struct Figures {
    std::vector<int> dimensions;
    int ppn;
    uint64_t before, worst_before, most, worst_most;
};

void expect_figures(const Figures& figures) {
    const Choice choice = choose_for_grid(figures.dimensions, figures.ppn);
    const std::string grid = name_of(figures.dimensions);
    EXPECT_EQ(choice.before.messages, figures.before) << grid;
    EXPECT_EQ(choice.before.worst_messages, figures.worst_before) << grid;
    EXPECT_LE(choice.after.messages, figures.most) << grid;
    EXPECT_LE(choice.after.worst_messages, figures.worst_most) << grid;
}

/// A job with random messages, or with those of a random grid.
struct RandomJob {
    RankGraph graph{0, {}};
    Grid grid;
    Placement start;
    Search search = Search::thorough;

    explicit RandomJob(uint64_t seed) {
        Random random(seed);
        random() % 2 == 0 ? draw_grid(random) : draw_graph(random);
        std::vector<int> ppn;
        const int longest = random() % 2 == 0 ? 1 : 4;
        for (int i = draw(random, 1, longest); i > 0; --i) { ppn.push_back(draw(random, 1, 9)); }
        const auto sizes = node_sizes(graph.ranks(), ppn);
        start = random() % 2 == 0 ? block_placement(sizes) : cyclic_placement(sizes);
        // Any other one as well.
        if (random() % 4 == 0) { std::shuffle(start.begin(), start.end(), random); }
        if (random() % 4 == 0) { search = Search::boxes_alone; }
    }

  private:
    void draw_grid(Random& random) {
        for (int i = draw(random, 1, 4); i > 0; --i) {
            grid.dimensions.push_back(draw(random, 1, i > 2 ? 4 : 7));
            grid.is_periodic.push_back(random() % 2 == 0);
        }
        graph = grid_graph(grid);
    }

    void draw_graph(Random& random) {
        const int ranks = draw(random, 1, 60);
        std::vector<Sent> entries;
        for (int i = draw(random, 0, 4 * ranks); i > 0; --i) {
            entries.push_back({draw(random, 0, ranks - 1), draw(random, 0, ranks - 1),
                               static_cast<uint64_t>(draw(random, 0, 5)), 8});
        }
        graph = RankGraph(ranks, entries);
    }
};

/// Messages from node to node, counted one by one.
std::map<int, uint64_t> sent_off(const RankGraph& graph, const Placement& placement) {
    std::map<int, uint64_t> sent;
    for (int from = 0; from < graph.ranks(); ++from) {
        for (const Peer& peer : graph.peers(from)) {
            const int node = placement[static_cast<size_t>(from)];
            if (node != placement[static_cast<size_t>(peer.rank)]) { sent[node] += peer.sent; }
        }
    }
    return sent;
}

void expect_sums(const Carried& told, const RankGraph& graph, const Placement& placement) {
    uint64_t all = 0;
    uint64_t worst = 0;
    for (const auto& [node, messages] : sent_off(graph, placement)) {
        all += messages;
        worst = std::max(worst, messages);
    }
    EXPECT_EQ(told.messages, all);
    EXPECT_EQ(told.worst_messages, worst);
}

/// Whether ranks are moved.
bool expect_right_choice(const RandomJob& job) {
    const Choice choice = choose_placement(job.graph, job.start, job.grid, job.search);
    EXPECT_EQ(choice.placement.size(), job.start.size());
    EXPECT_EQ(ranks_by_node(choice.placement), ranks_by_node(job.start));
    expect_sums(choice.before, job.graph, job.start);
    expect_sums(choice.after, job.graph, choice.placement);
    EXPECT_LE(choice.after.worst_messages, choice.before.worst_messages);
    if (100 * choice.after.messages > 95 * choice.before.messages || choice.before.messages == 0) {
        EXPECT_EQ(choice.placement, job.start);
    }
    EXPECT_EQ(choice.way.empty(), choice.placement == job.start);
    return choice.placement != job.start;
}

/// Ranks that send to others nearby in a plane, numbered at random.
RankGraph shuffled_plane(int side, int reach, Random& random) {
    std::vector<int> number(static_cast<size_t>(side) * static_cast<size_t>(side));
    std::iota(number.begin(), number.end(), 0);
    std::shuffle(number.begin(), number.end(), random);
    std::vector<Sent> entries;
    for (int from = 0; from < side * side; ++from) {
        for (int to = 0; to < side * side; ++to) {
            const int apart =
                std::max(std::abs(from / side - to / side), std::abs(from % side - to % side));
            if (from == to || apart > reach) { continue; }
            entries.push_back(
                {number[static_cast<size_t>(from)], number[static_cast<size_t>(to)], 1, 100});
        }
    }
    return {side * side, entries};
}

} // namespace

TEST(Place, GridsAreTiled) {
    expect_figures({{24, 18, 16}, 16, 26304, 64, 15072, 40});
    expect_figures({{32, 32, 16}, 16, 63488, 64, 36864, 40});
    expect_figures({{32, 24, 24}, 36, 59264, 121, 29568, 66});
    expect_figures({{4, 4}, 4, 24, 8, 16, 4});
    expect_figures({{4, 4, 2}, 8, 48, 16, 32, 8});
}

TEST(Place, ExactTilesAreBoxes) {
    EXPECT_EQ(choose_for_grid({4, 4}, 4).placement,
              (Placement{0, 0, 1, 1, 0, 0, 1, 1, 3, 3, 2, 2, 3, 3, 2, 2}));
}

TEST(Place, GridsThatNoBoxDividesAreImproved) {
    for (const auto& [dimensions, ppn] : std::vector<std::pair<std::vector<int>, int>>{
             {{15, 15}, 9}, {{17, 13}, 12}, {{10, 10, 10}, 16}, {{11, 7, 5}, 20}}) {
        const Choice choice = choose_for_grid(dimensions, ppn);
        EXPECT_LT(choice.after.messages, choice.before.messages * 8 / 10) << name_of(dimensions);
    }
}

TEST(Place, TheNeighboursOfAGridAreThoseAtItsFaces) {
    const RankGraph open = grid_graph({{3, 2}, false});
    ASSERT_EQ(open.peers(0).size(), 2U);
    EXPECT_EQ(open.peers(0)[0].rank, 1);
    EXPECT_EQ(open.peers(0)[1].rank, 2);
    EXPECT_EQ(open.peers(0)[1].sent, 1U);
    EXPECT_EQ(open.peers(0)[1].received, 1U);
    const RankGraph closed = grid_graph({{3, 2}, true});
    ASSERT_EQ(closed.peers(0).size(), 3U);
    EXPECT_EQ(closed.peers(0)[0].sent, 2U); // the same neighbour on either side
    EXPECT_EQ(closed.peers(0)[2].rank, 4);
    EXPECT_EQ(grid_graph({{1}, true}).peers(0).size(), 0U);
}

TEST(Place, RandomJobs) {
    constexpr int jobs = 10000;
    int moved = 0;
    for (int seed = 0; seed < jobs; ++seed) {
        moved += expect_right_choice(RandomJob(static_cast<uint64_t>(seed))) ? 1 : 0;
        if (HasFailure()) { FAIL() << "seed " << seed; }
    }
    EXPECT_GT(moved, jobs / 2);
    EXPECT_LT(moved, jobs);
}

/// Each way by itself, for a choice hides one that loses.
TEST(Place, EveryWayKeepsTheSizesOfNodes) {
    for (uint64_t seed = 0; seed < 1000; ++seed) {
        const RandomJob job(seed);
        std::vector<int> sizes;
        for (const auto& [node, ranks] : ranks_by_node(job.start)) { sizes.push_back(ranks); }
        const auto wanted = ranks_by_node(job.start);
        EXPECT_EQ(ranks_by_node(bisected(job.graph, sizes, job.start)), wanted) << seed;
        for (const Tiling& tiling : tilings(job.grid, sizes, 20)) {
            EXPECT_EQ(ranks_by_node(tiling.placement), wanted) << seed;
        }
        Placement swapped = job.start;
        const Carried before = off_node(job.graph, job.start);
        improve_by_swaps(job.graph, swapped, before.worst_messages);
        EXPECT_EQ(ranks_by_node(swapped), wanted) << seed;
        const Carried after = off_node(job.graph, swapped);
        EXPECT_LE(after.worst_messages, before.worst_messages) << seed;
        EXPECT_LE(badness(after, before), badness(before, before)) << seed;
    }
}

TEST(Place, WhatIsHiddenByRandomNumbersIsFound) {
    Random random(1);
    const RankGraph graph = shuffled_plane(24, 1, random); // 8 neighbours
    const Choice choice = choose_placement(graph, block_placement(node_sizes(576, {16})));
    // There are 36 squares of 4 x 4, each of which sends at most 4 * (3 * 4 - 2) + 4 = 44 messages.
    EXPECT_GT(choice.before.messages, 4000U);
    EXPECT_LT(choice.after.messages, 36U * 44U * 5 / 4);
    EXPECT_LT(choice.after.worst_messages, 44U * 3 / 2);
}

/// METIS, where it is.
TEST(Place, APartitionersPlacementsHaveTheSizesThatNodesHave) {
    int found = 0;
    for (uint64_t seed = 1; seed <= 500; ++seed) {
        const RandomJob job(seed);
        const std::vector<int> sizes = ranks_on_nodes(job.start);
        const auto suggestions = partitioned(job.graph, sizes);
        for (const Suggestion& suggestion : suggestions) {
            ++found;
            EXPECT_EQ(ranks_on_nodes(suggestion.placement), sizes) << seed;
            const Choice choice =
                choose_placement(job.graph, job.start, {}, Search::thorough, suggestions);
            EXPECT_EQ(ranks_on_nodes(choice.placement), sizes) << seed;
            EXPECT_LE(choice.after.worst_messages, choice.before.worst_messages) << seed;
            EXPECT_LE(choice.after.messages, choice.before.messages) << seed;
        }
    }
    if (found == 0) { GTEST_SKIP() << "there is no METIS here"; }
}

TEST(Place, WhatOthersSuggestIsTakenIfItIsBetter) {
    // A ring, whose neighbours are far from each other.
    std::vector<Sent> entries;
    Placement good(64);
    for (int i = 0; i < 64; ++i) {
        const int rank = i * 27 % 64;
        entries.push_back({rank, (i + 1) * 27 % 64, 1, 8});
        good[static_cast<size_t>(rank)] = i / 8;
    }
    const RankGraph graph(64, entries);
    const Placement start = block_placement(std::vector<int>(8, 8));
    const Choice choice =
        choose_placement(graph, start, {}, Search::thorough, {{good, "a good one"}});
    EXPECT_EQ(choice.after.messages, 8U);
}

TEST(Place, RanksStayWhereLittleIsGained) {
    std::vector<Sent> entries; // each to each
    for (int from = 0; from < 12; ++from) {
        for (int to = 0; to < 12; ++to) { entries.push_back({from, to, 1, 1}); }
    }
    const Placement start = cyclic_placement({5, 3, 4});
    const Choice choice = choose_placement({12, entries}, start);
    EXPECT_EQ(choice.placement, start);
    EXPECT_EQ(choice.way, "");
    EXPECT_EQ(choice.after.messages, 2U * (15 + 20 + 12));
}

/// Ranks 0 and 2 together would leave 11 messages of 20, but all of one node.
TEST(Place, RanksStayWhereTheWorstNodeWouldSendMore) {
    const RankGraph graph(
        4, {{0, 2, 9, 0}, {2, 0, 9, 0}, {0, 3, 1, 0}, {2, 1, 1, 0}, {0, 1, 5, 0}, {2, 3, 4, 0}});
    const Choice choice = choose_placement(graph, block_placement({2, 2}));
    EXPECT_EQ(off_node(graph, {0, 1, 0, 1}).messages, 11U);
    EXPECT_EQ(off_node(graph, {0, 1, 0, 1}).worst_messages, 11U);
    EXPECT_EQ(choice.before.messages, 20U);
    EXPECT_EQ(choice.after.worst_messages, 10U);
    EXPECT_EQ(choice.placement, (Placement{0, 0, 1, 1}));
}

TEST(Place, NodesHaveTheRanksOfPpnInTurn) {
    EXPECT_EQ(node_sizes(14, {3, 5, 2, 4}), (std::vector<int>{3, 5, 2, 4}));
    EXPECT_EQ(node_sizes(10, {4}), (std::vector<int>{4, 4, 2}));
    EXPECT_EQ(node_sizes(9, {1, 3}), (std::vector<int>{1, 3, 1, 3, 1}));
    EXPECT_EQ(block_placement({2, 1}), (Placement{0, 0, 1}));
    EXPECT_EQ(cyclic_placement({3, 1, 2}), (Placement{0, 1, 2, 0, 2, 0}));
}

TEST(Place, BytesAreThoseThatLeaveNodes) {
    const RankGraph graph(3, {{0, 1, 2, 10}, {0, 2, 1, 5}, {1, 0, 1, 7}, {2, 2, 9, 9}});
    const Carried off = off_node(graph, {0, 1, 1});
    EXPECT_EQ(off.messages, 4U);
    EXPECT_EQ(off.bytes, 22U);
    EXPECT_EQ(off.worst_messages, 3U);
    EXPECT_EQ(off.worst_bytes, 15U);
}

TEST(Place, FormatsOfLaunchers) {
    const Placement placement = {1, 0, 0, 1};
    const std::vector<std::string> hosts = {"a", "b"};
    EXPECT_EQ(to_text(placement, Format::map, hosts), "0 1\n1 0\n2 0\n3 1\n");
    EXPECT_EQ(to_text(placement, Format::rankfile, {}),
              "rank 0=+n1 slot=0\nrank 1=+n0 slot=0\nrank 2=+n0 slot=1\nrank 3=+n1 slot=1\n");
    EXPECT_EQ(to_text(placement, Format::rankfile, hosts),
              "rank 0=b slot=0\nrank 1=a slot=0\nrank 2=a slot=1\nrank 3=b slot=1\n");
    EXPECT_EQ(to_text(placement, Format::slurm, hosts), "b\na\na\nb\n");
    EXPECT_EQ(to_text(placement, Format::cray, hosts), "1,2\n0,3\n");
    EXPECT_EQ(complaint_of(placement, Format::slurm), "");
}

TEST(Place, MachineFilesOfHydraAreRoundsOfNodes) {
    const std::vector<std::string> hosts = {"a", "b", "c"};
    const auto text = [&](const Placement& placement) {
        EXPECT_EQ(complaint_of(placement, Format::hydra), "");
        return to_text(placement, Format::hydra, hosts);
    };
    EXPECT_EQ(text({0, 0, 1, 2, 2, 2}), "a:2\nb:1\nc:3\n");
    EXPECT_EQ(text({1, 1, 0, 0}), "b:2\na:2\n");
    EXPECT_EQ(text({0, 1, 2, 0, 1, 2}), "a:1\nb:1\nc:1\n");
    EXPECT_EQ(text({0, 0, 1, 0, 0, 1, 0}), "a:2\nb:1\n"); // the last round is cut off
    EXPECT_EQ(text({0, 0, 0}), "a:3\n");
    for (const Placement& placement : {Placement{0, 1, 1, 0, 0}, Placement{0, 1, 0, 0},
                                       Placement{0, 1, 0, 2}, Placement{0, 0, 1, 0, 1}}) {
        EXPECT_NE(complaint_of(placement, Format::hydra).find("takes it for another node"),
                  std::string::npos);
    }
}

// Of the node that takes longest: rank 0 sends two messages of 100 bytes and one of 1000 to the
// other node.
TEST(Place, PredictsWhatTheSlowestNodeTakes) {
    Costs costs;
    costs.protocols[0] = {128, 1, 0.1, 0};
    costs.protocols[1] = {8192, 2, 0.01, 0};
    costs.node_per_byte = 0;
    const RankGraph graph(4, {{0, 2, 2, 200}, {0, 3, 1, 1000}, {0, 1, 7, 7000}, {3, 1, 1, 100}});
    EXPECT_DOUBLE_EQ(predicted_seconds(graph, {0, 0, 1, 1}, costs),
                     2 * 1 + 200 * 0.1 + 2 + 1000 * 0.01);
    costs.node_per_byte = 1; // the injection limit
    EXPECT_DOUBLE_EQ(predicted_seconds(graph, {0, 0, 1, 1}, costs), 2 * 1 + 2 + 1200);
    EXPECT_DOUBLE_EQ(predicted_seconds(graph, {0, 0, 0, 0}, costs), 0);
}

} // namespace nodeaware::place
