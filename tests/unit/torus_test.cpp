#include "strategies/placement/tilings.hpp"
#include "tools/nodeaware/place/arrangement.hpp"
#include "tools/nodeaware/place/torus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace nodeaware::place {

namespace {

using Random = std::mt19937_64;

int draw(Random& random, int low, int high) {
    return low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1));
}

/// By how many per cent this is less.
double fall(uint64_t before, uint64_t after) {
    return 100 - 100 * static_cast<double>(after) / static_cast<double>(before);
}

/// 6912 ranks on the 6 x 6 x 6 routers with two nodes each on which the paper on Krylov methods has
/// its figure 17.
TorusChoice choose_in_gemini(const std::vector<int>& dimensions, bool is_periodic = false) {
    const Grid grid(dimensions, is_periodic);
    const RankGraph graph = grid_graph(grid);
    return choose_in_torus(graph, block_placement(node_sizes(graph.ranks(), {16})), grid,
                           {{6, 6, 6}, 2});
}

/// Messages of a random graph on a random torus.
struct RandomTorusJob {
    RankGraph graph{0, {}};
    Torus torus;
    Placement start;

    explicit RandomTorusJob(uint64_t seed) {
        Random random(seed);
        for (int i = draw(random, 1, 4); i > 0; --i) {
            torus.dimensions.push_back(draw(random, 1, i > 2 ? 2 : 5));
        }
        torus.at_a_router = draw(random, 1, 3);
        std::vector<int> sizes;
        const int most = random() % 2 == 0 ? 1 : 3;
        const size_t nodes = 1 + random() % torus.nodes();
        for (size_t node = 0; node < nodes; ++node) { sizes.push_back(draw(random, 1, most)); }
        start = block_placement(sizes);
        std::shuffle(start.begin(), start.end(), random);
        const auto ranks = static_cast<int>(start.size());
        std::vector<Sent> entries;
        for (int i = draw(random, 0, 3 * ranks); i > 0; --i) {
            const int from = draw(random, 0, ranks - 1);
            // Most of them to others nearby: something is to be gained.
            const int to = random() % 4 == 0 ? draw(random, 0, ranks - 1)
                                             : (from + draw(random, 0, 2)) % ranks;
            entries.push_back({from, to, static_cast<uint64_t>(draw(random, 0, 5)),
                               static_cast<uint64_t>(draw(random, 0, 9))});
        }
        graph = RankGraph(ranks, entries);
    }
};

uint64_t messages_by_hops(const RankGraph& graph, const Placement& placement, const Torus& torus) {
    uint64_t sum = 0;
    for (int from = 0; from < graph.ranks(); ++from) {
        const auto at = [&](int rank) {
            return torus.position(static_cast<size_t>(placement[static_cast<size_t>(rank)]));
        };
        for (const Peer& peer : graph.peers(from)) {
            sum += peer.sent * static_cast<uint64_t>(hops(torus, at(from), at(peer.rank)));
        }
    }
    return sum;
}

enum class Found { start, without_torus, arranged };

Found expect_right_choice(const RandomTorusJob& job) {
    const TorusChoice found = choose_in_torus(job.graph, job.start, {}, job.torus);
    const Choice& choice = found.choice;
    EXPECT_EQ(ranks_on_nodes(choice.placement), ranks_on_nodes(job.start));
    EXPECT_EQ(found.before.messages, messages_by_hops(job.graph, job.start, job.torus));
    EXPECT_EQ(found.after.messages, messages_by_hops(job.graph, choice.placement, job.torus));
    EXPECT_LE(found.after.messages, found.before.messages);
    EXPECT_LE(found.after.worst_messages, found.before.worst_messages);
    EXPECT_EQ(choice.after.worst_messages, off_node(job.graph, choice.placement).worst_messages);
    EXPECT_LE(choice.after.worst_messages, choice.before.worst_messages);
    EXPECT_LE(choice.after.messages, choice.before.messages);
    EXPECT_EQ(choice.way.empty(), choice.placement == job.start);
    const Carried& shared = found.node_aware;
    EXPECT_EQ(found.is_rejected, shared.messages > found.before.messages ||
                                     shared.worst_messages > found.before.worst_messages);
    if (choice.placement == job.start) { return Found::start; }
    if (choice.placement == choose_placement(job.graph, job.start).placement) {
        return Found::without_torus;
    }
    EXPECT_LE(100 * found.after.messages, 95 * found.before.messages);
    return Found::arranged;
}

} // namespace

/// The paper has 43 to 56 % less by node-aware, 66 to 74 % less by topology-aware placement. The
/// grids are the two that fit its torus, and the one of MPI_Dims_create.
TEST(Torus, LinksCarryLessAsInThePaper) {
    for (const auto& dimensions : {std::vector{24, 24, 12}, {24, 12, 24}}) {
        const TorusChoice found = choose_in_gemini(dimensions);
        const double node_aware = fall(found.before.messages, found.node_aware.messages);
        EXPECT_GE(node_aware, 55) << name_of(dimensions);
        EXPECT_GE(fall(found.before.messages, found.after.messages), 80) << name_of(dimensions);
        EXPECT_EQ(found.choice.after.messages, 14976U) << name_of(dimensions);
    }
    const TorusChoice found = choose_in_gemini({24, 18, 16});
    EXPECT_GE(fall(found.before.messages, found.node_aware.messages), 55);
    EXPECT_GE(fall(found.before.messages, found.after.messages), 65);
    EXPECT_GE(fall(found.before.worst_messages, found.after.worst_messages), 65);
    const TorusChoice closed = choose_in_gemini({24, 24, 12}, true);
    EXPECT_GE(fall(closed.before.messages, closed.after.messages), 65);
}

TEST(Torus, MessagesGoTheShorterWayOneDimensionAfterTheOther) {
    const Torus torus{{5, 4}, 2};
    EXPECT_EQ(torus.nodes(), 40U);
    EXPECT_EQ(torus.position(0), (std::vector{0, 0}));
    EXPECT_EQ(torus.position(39), (std::vector{4, 3}));
    EXPECT_EQ(torus.position(11), (std::vector{1, 1}));
    // From router (0, 0) to (4, 3): one down in each dimension. To (2, 2): two up in each. To the
    // other node of the router: none.
    const RankGraph graph(4, {{0, 1, 3, 30}, {0, 2, 2, 5}, {0, 3, 7, 70}});
    const Carried links = link_traffic(graph, {0, 39, 20, 1}, torus);
    EXPECT_EQ(links.messages, 3U * 2 + 2U * 4);
    EXPECT_EQ(links.bytes, 30U * 2 + 5U * 4);
    EXPECT_EQ(links.worst_messages, 3U);
    EXPECT_EQ(links.worst_bytes, 30U);
    // Both pass the link from (1, 0) to (2, 0), for the first dimension comes first.
    const RankGraph crossing(3, {{0, 1, 1, 0}, {2, 1, 4, 0}});
    EXPECT_EQ(link_traffic(crossing, {0, 18, 8}, torus).worst_messages, 5U);
    // There and back are two links.
    const RankGraph both(2, {{0, 1, 1, 0}, {1, 0, 1, 0}});
    EXPECT_EQ(link_traffic(both, {0, 2}, torus).messages, 2U);
    EXPECT_EQ(link_traffic(both, {0, 2}, torus).worst_messages, 1U);
}

TEST(Torus, RandomJobs) {
    int found[3] = {};
    for (uint64_t seed = 0; seed < 3000; ++seed) {
        ++found[static_cast<int>(expect_right_choice(RandomTorusJob(seed)))];
        if (HasFailure()) { FAIL() << "seed " << seed; }
    }
    for (const int count : found) { EXPECT_GT(count, 100); }
}

/// By itself, for a choice hides an arrangement that loses.
TEST(Torus, ArrangedGroupsStayTogetherAndLoseNothing) {
    for (uint64_t seed = 0; seed < 1000; ++seed) {
        const RandomTorusJob job(seed);
        const Placement placement = arranged(job.graph, job.start, job.torus);
        EXPECT_EQ(ranks_on_nodes(placement), ranks_on_nodes(job.start)) << seed;
        EXPECT_EQ(off_node(job.graph, placement).messages, off_node(job.graph, job.start).messages);
        EXPECT_LE(messages_by_hops(job.graph, placement, job.torus),
                  messages_by_hops(job.graph, job.start, job.torus))
            << seed;
    }
}

TEST(Torus, AlignedBoxesPassOneLinkAtMost) {
    const Grid grid({12, 4, 6}, true);
    const Torus torus{{2, 3, 4}, 2};
    const int ppn = 6;
    const auto all = aligned_boxes(grid, torus, ppn);
    ASSERT_FALSE(all.empty());
    const RankGraph graph = grid_graph(grid);
    for (const Placement& placement : all) {
        EXPECT_EQ(ranks_on_nodes(placement), std::vector<int>(torus.nodes(), ppn));
        for (int rank = 0; rank < graph.ranks(); ++rank) {
            for (const Peer& peer : graph.peers(rank)) {
                const auto at = [&](int of) {
                    return torus.position(static_cast<size_t>(placement[static_cast<size_t>(of)]));
                };
                EXPECT_LE(hops(torus, at(rank), at(peer.rank)), 1);
            }
        }
    }
    EXPECT_TRUE(aligned_boxes(grid, {{2, 3, 5}, 2}, ppn).empty());
    EXPECT_TRUE(aligned_boxes(grid, {{6, 8}, 2}, 3).empty());
}

/// A ring that was dealt out at random is laid along the torus.
TEST(Torus, ARingIsLaidAlongTheTorus) {
    const int nodes = 16;
    Random random(3);
    Placement start = block_placement(std::vector<int>(nodes, 1));
    std::shuffle(start.begin(), start.end(), random);
    const TorusChoice found =
        choose_in_torus(grid_graph(Grid({nodes}, true)), start, {}, {{4, 4}, 1});
    EXPECT_GT(found.before.messages, 3U * nodes);
    EXPECT_LE(found.after.messages, 2U * nodes * 5 / 4); // one hop each way is the least
}

TEST(Torus, SumsOnLinksHaveRoom) {
    const Torus torus{{8, 8}, 1};
    EXPECT_NO_THROW(check_link_traffic({2, {{0, 1, 1, 100'000'000'000'000'000}}}, torus));
    EXPECT_THROW(check_link_traffic({2, {{0, 1, 1, 200'000'000'000'000'000}}}, torus),
                 std::invalid_argument);
}

} // namespace nodeaware::place
