#include "runtime/memory/node_arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace nodeaware::test {

namespace {

/// The ranks of a node, each with its own view of the memory.
std::vector<std::unique_ptr<NodeArena>> node_of(const NodeArena::Shape& shape) {
    const SharedMemory memory = SharedMemory::create_alone(NodeArena::bytes_of(shape));
    std::vector<std::unique_ptr<NodeArena>> node;
    for (int own = 0; own < shape.ranks; ++own) {
        node.push_back(std::make_unique<NodeArena>());
        node.back()->attach(memory.second_view(), shape, own);
    }
    return node;
}

TEST(NodeArena, EvenAndOddOperationsHaveMemoryOfTheirOwn) {
    const auto node = node_of({2, 3, 4, 1000});
    EXPECT_GE(node[0]->shape().bytes, 1000U);
    std::memset(node[0]->data(0), 1, 1000);
    std::memset(node[0]->data(1), 2, 1000);
    EXPECT_EQ(node[1]->data(6)[999], std::byte{1});
    EXPECT_EQ(node[1]->data(7)[0], std::byte{2});
    node[0]->signal(1, 2);
    node[0]->announcement(1, 1).traffic = 17;
    EXPECT_EQ(node[1]->counter(1, 2), 1U);
    EXPECT_EQ(node[1]->counter(0, 2), 0U);
    EXPECT_EQ(node[1]->announcement(3, 1).traffic, 17U);
    EXPECT_EQ(node[1]->announcement(2, 1).traffic, 0U);
}

TEST(NodeArena, WhoGivesUpIsSeen) {
    const auto node = node_of({2, 3, 4, 64});
    EXPECT_EQ(node[1]->given_up_count(5), 0U);
    node[0]->give_up(5, 3);
    EXPECT_TRUE(node[1]->given_up(5, 3));
    EXPECT_FALSE(node[1]->given_up(5, 2));
    EXPECT_FALSE(node[1]->given_up(6, 3));
    EXPECT_EQ(node[1]->given_up_count(5), 1U);
    for (const auto& rank : node) { rank->reset_counters(5, 3); }
    EXPECT_FALSE(node[1]->given_up(5, 3));
    EXPECT_EQ(node[1]->given_up_count(5), 0U);
}

TEST(NodeArena, DisagreementsAreSeenOnceByEachRank) {
    const auto node = node_of({3, 1, 2, 64});
    node[2]->disagree(4);
    for (const auto& rank : node) {
        EXPECT_TRUE(rank->anyone_disagreed(4));
        EXPECT_FALSE(rank->anyone_disagreed(5));
        EXPECT_FALSE(rank->anyone_disagreed(4));
    }
}

/// Ranks side by side: what was written before a barrier is seen behind it, nobody sleeps for ever.
TEST(NodeArena, RanksMeet) {
    constexpr int ranks = 4;
    const auto node = node_of({ranks, 1, 2, 64});
    std::atomic<int> wrong{0};
    const auto run = [&](int own) {
        NodeArena& arena = *node[static_cast<size_t>(own)];
        for (uint32_t operation = 0; operation < 2000; ++operation) {
            arena.announcement(operation, own)
                .list_bytes.store(operation + static_cast<uint64_t>(own),
                                  std::memory_order_relaxed);
            const uint64_t ticket = arena.arrive();
            for (uint32_t bell = arena.bell(); !arena.all_arrived(ticket); bell = arena.bell()) {
                arena.sleep(bell, 1000000);
            }
            arena.ring();
            for (int other = 0; other < ranks; ++other) {
                wrong += arena.announcement(operation, other)
                                     .list_bytes.load(std::memory_order_relaxed) ==
                                 operation + static_cast<uint64_t>(other)
                             ? 0
                             : 1;
            }
        }
    };
    std::vector<std::thread> threads;
    for (int own = 0; own < ranks; ++own) { threads.emplace_back(run, own); }
    for (std::thread& thread : threads) { thread.join(); }
    EXPECT_EQ(wrong.load(), 0);
}

} // namespace

} // namespace nodeaware::test
