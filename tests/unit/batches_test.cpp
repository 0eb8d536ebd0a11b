#include "runtime/point_to_point/batch_learner.hpp"
#include "runtime/point_to_point/containers.hpp"
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

std::vector<Container> containers_of(const NodeBatches& node, uint64_t most_bytes = no_limit) {
    return batches::containers_of(node, most_bytes, Containers::most_members);
}

TEST(Batches, MessagesOfOneBatchToOneRankTravelTogether) {
    const NodeBatches node = {{{{{4, 0, 8}, {5, 0, 8}}, 9}}, {{{{4, 1, 16}, {6, 0, 8}}, 9}}};
    const auto containers = containers_of(node);
    ASSERT_EQ(containers.size(), 1U);
    EXPECT_EQ(containers[0].destination, 4);
    ASSERT_EQ(containers[0].members.size(), 2U);
    EXPECT_EQ(containers[0].members[0].local, 0);
    EXPECT_EQ(containers[0].members[1].stream, (Stream{4, 1, 16}));
    EXPECT_EQ(batches::saved_messages(containers), 1U);
}

TEST(Batches, LargeMessagesAndLaterOccurrencesStayOut) {
    const Stream large{4, 0, 1000};
    const Stream small{4, 1, 10};
    const NodeBatches node = {{{{large, small}, 2}, {{small}, 2}}, {{{large}, 2}, {{small}, 2}}};
    const auto containers = containers_of(node, 100);
    // Small messages of rank 0 belong to its batch 0, where they are alone.
    EXPECT_TRUE(containers.empty());
    const auto all = containers_of(node);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].batch, 0U);
    EXPECT_EQ(all[0].members.size(), 3U);
}

TEST(Batches, OnlyStreamsThatAreSentAsOftenTravelTogether) {
    const Stream twice{4, 0, 8};
    const Stream once{4, 1, 8};
    // Rank 0 sends one stream in both of its batches, rank 1 has two streams, rank 2 one of each.
    const NodeBatches node = {{{{twice}, 50}, {{twice, {5, 0, 8}}, 50}},
                              {{{{4, 2, 8}}, 100}, {{{4, 3, 8}}, 50}},
                              {{{once, {4, 4, 8}}, 51}, {{{4, 4, 8}}, 49}}};
    const auto containers = containers_of(node);
    ASSERT_EQ(containers.size(), 1U);
    std::set<std::pair<int, int>> members; // rank, tag
    for (const auto& [local, stream] : containers[0].members) {
        members.insert({local, stream.tag});
    }
    EXPECT_EQ(members, (std::set<std::pair<int, int>>{{0, 0}, {1, 2}, {2, 4}}));
}

TEST(Batches, AStreamThatABatchHasTwiceCountsOnceForEach) {
    const NodeBatches node = {{{{{4, 0, 8}, {4, 0, 8}}, 50}}, {{{{4, 1, 8}}, 50}}};
    const auto containers = containers_of(node);
    ASSERT_EQ(containers.size(), 1U);
    EXPECT_EQ(containers[0].members.size(), 3U);
}

TEST(Batches, TooManyMembersGetNoContainer) {
    const NodeBatches node = {{{{{4, 0, 8}, {4, 1, 8}, {4, 2, 8}}, 2}}};
    EXPECT_EQ(batches::containers_of(node, no_limit, 3).size(), 1U);
    EXPECT_TRUE(batches::containers_of(node, no_limit, 2).empty());
}

/// `ranks` ranks, each with a message of `bytes` to each of `destinations` others.
NodeBatches uniform(int ranks, int destinations, uint64_t bytes, uint64_t repetitions) {
    Batch batch;
    for (int i = 0; i < destinations; ++i) { batch.streams.push_back({100 + i, 0, bytes}); }
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
    ASSERT_EQ(learner.repeated().size(), 1U);
    EXPECT_EQ(learner.repeated()[0].streams, one);
    EXPECT_EQ(learner.repeated()[0].repetitions, 4U);
    EXPECT_DOUBLE_EQ(learner.mean_seconds(), 0.5);
}

TEST(BatchLearner, IsStableWhenNearlyAllWasSeenBefore) {
    BatchLearner learner;
    run(learner, {{4, 0, 8}}, 1, 2);
    run(learner, {{4, 0, 9}}, 2, 3);
    run(learner, {{4, 0, 8}}, 3, 4);
    learner.post(4);
    EXPECT_FALSE(learner.is_stable());
    learner.begin_period();
    for (int i = 0; i < 20; ++i) { run(learner, {{4, 0, 8}}, 5 + i, 5.5 + i); }
    run(learner, {{7, 7, 7}}, 30, 31);
    learner.post(32);
    EXPECT_TRUE(learner.is_stable());
    EXPECT_EQ(learner.repeated().size(), 1U);
}

TEST(BatchLearner, ForgetsTheManyBatchesOfASetup) {
    BatchLearner learner;
    for (int i = 0; i < 3000; ++i) { run(learner, {{4, i, 8}}, 1 + i, 1.5 + i); }
    const auto solve = [&] {
        for (int i = 0; i < 50; ++i) { run(learner, {{4, 0, 800}}, 4000 + i, 4000.5 + i); }
        learner.post(4050);
    };
    solve();
    EXPECT_FALSE(learner.is_stable());
    ASSERT_EQ(learner.repeated().size(), 1U);
    EXPECT_EQ(learner.repeated()[0].streams, (std::vector<Stream>{{4, 0, 800}}));
    learner.begin_period();
    solve();
    EXPECT_TRUE(learner.is_stable());
}

/// Containers as the ranks of a node have them, with one memory.
class Node {
  public:
    explicit Node(const NodeBatches& batches) {
        const auto planned = containers_of(batches);
        for (size_t local = 0; local < batches.size(); ++local) {
            ranks.emplace_back(planned, static_cast<int>(local));
        }
        memory_.resize(ranks[0].memory_bytes() / sizeof(Line) + 1);
        for (Containers& rank : ranks) {
            rank.attach(reinterpret_cast<std::byte*>(memory_.data()));
        }
    }

    std::vector<Containers> ranks;

  private:
    struct alignas(64) Line {
        std::byte bytes[64]{};
    };
    std::vector<Line> memory_;
};

/// The rank's next message of the stream. True if it has to send the container.
bool contribute(Containers& rank, const Stream& stream, uint32_t sequence,
                std::optional<Containers::Reservation>* used = nullptr) {
    const auto place = rank.next_reservation(stream);
    if (used != nullptr) { *used = place; }
    if (!place) { return false; }
    std::byte* const slot = rank.reserve(*place, 1);
    if (slot == nullptr) {
        if (used != nullptr) { used->reset(); }
        return false;
    }
    const wire::Entry entry{0, stream.tag, sequence, 0, stream.bytes};
    std::memcpy(slot, &entry, sizeof entry);
    std::memset(slot + sizeof entry, static_cast<int>(sequence % 251), stream.bytes);
    return rank.commit(*place);
}

/// Tags of the entries, all with the right bytes.
std::multiset<int> tags_in(const std::vector<std::byte>& bytes) {
    std::multiset<int> tags;
    for (size_t at = 0; at < bytes.size();) {
        wire::Entry entry;
        std::memcpy(&entry, bytes.data() + at, sizeof entry);
        for (size_t i = 0; i < entry.bytes; ++i) {
            EXPECT_EQ(std::to_integer<int>(bytes[at + sizeof entry + i]), entry.sequence % 251);
        }
        tags.insert(entry.tag);
        at += wire::size_of(entry.bytes);
    }
    return tags;
}

const NodeBatches pair_of_ranks = {{{{{4, 1, 12}}, 2}}, {{{{4, 2, 5}}, 2}}};

TEST(Containers, TheLastContributorSendsForAll) {
    Node node(pair_of_ranks);
    std::optional<Containers::Reservation> place;
    for (uint32_t repetition = 0; repetition < 20; ++repetition) {
        const size_t first = repetition % 2;
        const Stream streams[] = {{4, 1, 12}, {4, 2, 5}};
        EXPECT_FALSE(contribute(node.ranks[first], streams[first], repetition));
        ASSERT_TRUE(contribute(node.ranks[1 - first], streams[1 - first], repetition, &place));
        EXPECT_EQ(tags_in(node.ranks[1 - first].take(*place)), (std::multiset<int>{1, 2}));
        EXPECT_EQ(node.ranks[0].destination(place->container), 4);
    }
    EXPECT_FALSE(node.ranks[0].next_reservation({4, 1, 13}).has_value());
    EXPECT_TRUE(node.ranks[0].has({4, 1, 12}));
    EXPECT_FALSE(node.ranks[0].has({4, 2, 5}));
}

TEST(Containers, AContributionThatFailsKeepsNobodyWaiting) {
    Node node(pair_of_ranks);
    std::optional<Containers::Reservation> place = node.ranks[0].next_reservation({4, 1, 12});
    ASSERT_TRUE(place.has_value());
    ASSERT_NE(node.ranks[0].reserve(*place, 1), nullptr);
    node.ranks[0].withdraw(*place);
    EXPECT_FALSE(node.ranks[0].commit(*place));
    ASSERT_TRUE(contribute(node.ranks[1], {4, 2, 5}, 0, &place));
    EXPECT_EQ(tags_in(node.ranks[1].take(*place)), (std::multiset<int>{2}));
}

TEST(Containers, WhatIsClosedTakesNoMore) {
    Node node(pair_of_ranks);
    std::optional<Containers::Reservation> place;
    EXPECT_FALSE(contribute(node.ranks[0], {4, 1, 12}, 3, &place));
    ASSERT_TRUE(node.ranks[0].close(*place));
    EXPECT_FALSE(node.ranks[0].close(*place));
    EXPECT_EQ(tags_in(node.ranks[0].take(*place)), (std::multiset<int>{1}));
    EXPECT_TRUE(node.ranks[0].is_closed(*place));
    std::optional<Containers::Reservation> late;
    EXPECT_FALSE(contribute(node.ranks[1], {4, 2, 5}, 4, &late));
    EXPECT_FALSE(late.has_value());
    // The next repetition is not concerned.
    EXPECT_FALSE(contribute(node.ranks[1], {4, 2, 5}, 5));
    ASSERT_TRUE(contribute(node.ranks[0], {4, 1, 12}, 6, &place));
    EXPECT_EQ(tags_in(node.ranks[0].take(*place)), (std::multiset<int>{1, 2}));
}

TEST(Containers, ARankThatIsTooFarAheadFindsNoPlace) {
    Node node(pair_of_ranks);
    std::optional<Containers::Reservation> place;
    int found = 0;
    for (uint32_t i = 0; i < 10; ++i) {
        contribute(node.ranks[0], {4, 1, 12}, i, &place);
        if (place) { ++found; }
    }
    EXPECT_EQ(found, 4); // cells of a container
}

TEST(Containers, AreGivenUpWhenLateAgainAndAgain) {
    Node node(pair_of_ranks);
    std::optional<Containers::Reservation> place;
    for (uint32_t i = 0; i < 6; ++i) {
        EXPECT_FALSE(contribute(node.ranks[0], {4, 1, 12}, i, &place));
        ASSERT_TRUE(place.has_value());
        node.ranks[0].note_overdue(*place);
        if (i % 2 == 0) { node.ranks[0].note_in_time(*place); }
        ASSERT_TRUE(node.ranks[0].close(*place));
        node.ranks[0].take(*place);
    }
    EXPECT_FALSE(node.ranks[0].next_reservation({4, 1, 12}).has_value());
}

TEST(Containers, RanksThatRaceLoseNoMessage) {
    constexpr uint32_t repetitions = 20000;
    const NodeBatches three = {
        {{{{4, 1, 12}}, 2}}, {{{{4, 2, 5}, {4, 3, 40}}, 2}}, {{{{4, 4, 0}}, 2}}};
    Node node(three);
    std::atomic<uint64_t> in_containers{0};
    std::atomic<uint64_t> by_themselves{0};
    const auto work = [&](size_t local) {
        Containers& rank = node.ranks[local];
        std::optional<Containers::Reservation> place;
        std::vector<Containers::Reservation> places;
        for (uint32_t i = 0; i < repetitions; ++i) {
            for (const Stream& stream : three[local][0].streams) {
                const bool sends = contribute(rank, stream, i, &place);
                if (place) {
                    places.push_back(*place);
                } else {
                    ++by_themselves;
                }
                if (sends || (place && i % 7 == 0 && rank.close(*place))) {
                    in_containers += tags_in(rank.take(*place)).size();
                }
            }
            if (i % 3 == 0) { std::this_thread::yield(); }
        }
        for (const Containers::Reservation& left :
             places) { // nothing of this rank may be left waiting
            if (rank.close(left)) { in_containers += tags_in(rank.take(left)).size(); }
        }
    };
    std::vector<std::thread> threads;
    for (size_t local = 0; local < three.size(); ++local) { threads.emplace_back(work, local); }
    for (std::thread& thread : threads) { thread.join(); }
    EXPECT_EQ(in_containers + by_themselves, uint64_t{4} * repetitions);
}

} // namespace

} // namespace nodeaware
