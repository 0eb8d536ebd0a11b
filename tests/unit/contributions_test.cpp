#include "runtime/memory/contributions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace nodeaware::test {

namespace {

using gathered::Contribution;
using gathered::OwnPart;

/// With a reserve only its first part is mapped.
SharedMemory memory_for(const Contributions::Shape& shape, bool has_reserve) {
    const size_t all = Contributions::bytes_of(shape);
    const size_t first = Contributions::first_bytes_of(shape);
    return has_reserve
               ? SharedMemory::create_alone(first, all - first + Contributions::reserve_of(shape))
               : SharedMemory::create_alone(all);
}

/// The ranks of a node, each with its own view of the memory.
std::vector<std::unique_ptr<Contributions>> node_of(int ranks, uint64_t largest,
                                                    bool has_reserve = true) {
    const Contributions::Shape shape{ranks, largest};
    const SharedMemory memory = memory_for(shape, has_reserve);
    std::vector<std::unique_ptr<Contributions>> node;
    for (int own = 0; own < ranks; ++own) {
        SharedMemory view = memory.second_view();
        EXPECT_NE(view.data(), nullptr);
        node.push_back(std::make_unique<Contributions>(std::move(view), shape, own));
    }
    return node;
}

/// The same with so many lanes besides the first: by rank, then by lane.
std::vector<std::vector<std::unique_ptr<Contributions>>> lanes_of(int ranks, uint64_t largest,
                                                                  int lanes, bool has_reserve) {
    const Contributions::Shape shape{ranks, largest, lanes};
    const SharedMemory memory = memory_for(shape, has_reserve);
    std::vector<std::vector<std::unique_ptr<Contributions>>> node(static_cast<size_t>(ranks));
    for (int own = 0; own < ranks; ++own) {
        const Contributions first(memory.second_view(), shape, own);
        for (int lane = 0; lane <= lanes; ++lane) {
            node[static_cast<size_t>(own)].push_back(std::make_unique<Contributions>(first, lane));
        }
    }
    return node;
}

/// What a rank contributes to an operation: so many bytes to rank 10 and as many to rank 11.
OwnPart part_of(uint64_t bytes) {
    OwnPart part;
    if (bytes > 0) { part.contributions = {{10, 0, bytes}, {11, 0, bytes}}; }
    part.contributed_bytes = 2 * bytes;
    return part;
}

std::byte content(uint64_t operation, int local, uint64_t i) {
    return static_cast<std::byte>(
        (operation * 31 + static_cast<uint64_t>(local) * 7 + i * 3 + i / 256) % 251);
}

/// False if there is no room. Otherwise tells if this rank was the last.
bool begin(Contributions& rank, uint64_t operation, int local, uint64_t bytes, bool& is_last) {
    const OwnPart part = part_of(bytes);
    if (!rank.make_room(operation, part)) { return false; }
    std::byte* const packed = rank.contribute(operation, part);
    EXPECT_EQ(packed == nullptr, bytes == 0);
    for (uint64_t i = 0; i < part.contributed_bytes; ++i) {
        packed[i] = content(operation, local, i);
    }
    is_last = rank.arrive(operation);
    return true;
}

void take(Contributions& rank, uint64_t operation, const std::vector<uint64_t>& bytes) {
    ASSERT_TRUE(rank.open(operation));
    for (size_t local = 0; local < bytes.size(); ++local) {
        const auto [list, data] = rank.contributed(operation, static_cast<int>(local));
        ASSERT_EQ(list, part_of(bytes[local]).contributions);
        uint64_t wrong = 0;
        for (uint64_t i = 0; i < 2 * bytes[local]; ++i) {
            wrong += data[i] == content(operation, static_cast<int>(local), i) ? 0 : 1;
        }
        ASSERT_EQ(wrong, 0U) << "operation " << operation << ", rank " << local;
    }
    rank.release(operation);
}

TEST(Contributions, ARankMayBeFarAheadOfTheOthers) {
    const uint64_t bytes = 50000;
    const auto node = node_of(3, 2 * bytes + 100);
    bool is_last = false;
    for (const int ahead : {0, 2}) {
        for (uint64_t operation = 0; operation < 40; ++operation) {
            ASSERT_TRUE(begin(*node[static_cast<size_t>(ahead)], operation, ahead, bytes, is_last));
            ASSERT_FALSE(is_last);
        }
    }
    for (uint64_t operation = 0; operation < 40; ++operation) {
        ASSERT_TRUE(begin(*node[1], operation, 1, bytes, is_last));
        ASSERT_TRUE(is_last);
        take(*node[1], operation, {bytes, bytes, bytes});
    }
}

/// Batch systems may allow little address space.
TEST(Contributions, LittleAddressSpaceIsTakenBeforePersistentRequestsAre) {
    const Contributions::Shape shape{8, 2 << 20, 32};
    EXPECT_LT(4 * Contributions::first_bytes_of(shape), Contributions::bytes_of(shape));
}

TEST(Contributions, MemoryOfTheReserveGoesBack) {
    const uint64_t bytes = 50000;
    const Contributions::Shape shape{2, 2 * bytes + 100};
    const SharedMemory memory = SharedMemory::create_alone(Contributions::bytes_of(shape),
                                                           Contributions::reserve_of(shape));
    Contributions first(memory.second_view(), shape, 0);
    Contributions second(memory.second_view(), shape, 1);
    bool is_last = false;
    for (uint64_t operation = 0; operation < 30; ++operation) {
        ASSERT_TRUE(begin(first, operation, 0, bytes, is_last));
    }
    const size_t before = Contributions::bytes_of(shape);
    const auto used = [&] { // of what is next in the reserve
        SharedMemory view = memory.second_view();
        EXPECT_TRUE(view.grow(2 * before));
        return std::count_if(view.data() + before, view.data() + view.size(),
                             [](std::byte byte) { return byte != std::byte{0}; });
    };
    EXPECT_GT(used(), 1000000);
    for (uint64_t operation = 0; operation < 30; ++operation) {
        ASSERT_TRUE(begin(second, operation, 1, 0, is_last));
        ASSERT_TRUE(is_last);
        take(second, operation, {bytes, 0});
    }
    ASSERT_TRUE(begin(first, 30, 0, bytes, is_last));
    EXPECT_EQ(used(), 0);
}

TEST(Contributions, TheWindowIsTheOnlyLimit) {
    const auto node = node_of(2, 1000);
    bool is_last = false;
    for (uint64_t operation = 0; operation < ContributionRoom::window_of(0); ++operation) {
        ASSERT_TRUE(begin(*node[0], operation, 0, operation % 400, is_last));
    }
    EXPECT_FALSE(begin(*node[0], ContributionRoom::window_of(0), 0, 1, is_last));
    const uint64_t end = ContributionRoom::window_of(0) + 100;
    for (uint64_t operation = 0; operation < end; ++operation) {
        ASSERT_TRUE(begin(*node[1], operation, 1, 8, is_last));
        ASSERT_TRUE(is_last);
        take(*node[1], operation, {operation % 400, 8});
        if (operation + ContributionRoom::window_of(0) < end) {
            const uint64_t next = operation + ContributionRoom::window_of(0);
            ASSERT_TRUE(begin(*node[0], next, 0, next % 400, is_last));
        }
    }
}

TEST(Contributions, WithoutReserveOneMoreHasToWait) {
    const uint64_t bytes = 50000;
    const auto node = node_of(2, 2 * bytes + 100, false);
    bool is_last = false;
    uint64_t ahead = 0;
    while (begin(*node[0], ahead, 0, bytes, is_last)) { ++ahead; }
    EXPECT_EQ(ahead, 8U);
    EXPECT_FALSE(begin(*node[0], ahead + 1, 0, 0, is_last)) << "not the next one";
    ASSERT_TRUE(begin(*node[1], 0, 1, 10, is_last));
    take(*node[1], 0, {bytes, 10});
    EXPECT_TRUE(begin(*node[0], ahead, 0, bytes, is_last));
}

TEST(Contributions, WhoIsLastTakesAllBeforeItGoesOn) {
    const auto node = node_of(2, 1000);
    bool is_last = false;
    for (uint64_t operation = 0; operation < 2; ++operation) {
        ASSERT_TRUE(begin(*node[0], operation, 0, 10, is_last));
    }
    ASSERT_TRUE(begin(*node[1], 0, 1, 10, is_last));
    ASSERT_TRUE(is_last);
    EXPECT_FALSE(begin(*node[1], 1, 1, 10, is_last));
    take(*node[1], 0, {10, 10});
    ASSERT_TRUE(begin(*node[1], 1, 1, 10, is_last));
    EXPECT_TRUE(is_last);
}

TEST(Contributions, LanesNeedNoRoomOfOthers) {
    const uint64_t bytes = 50000;
    constexpr size_t lanes = 20;
    const auto node = lanes_of(2, 2 * bytes + 100, lanes, false);
    bool is_last = false;
    uint64_t ahead = 0; // until nothing but the slots of others is left
    while (begin(*node[0][3], ahead, 0, bytes, is_last)) { ++ahead; }
    EXPECT_EQ(ahead, 9U);
    for (size_t lane = 0; lane <= lanes; ++lane) {
        if (lane == 3) { continue; }
        ASSERT_TRUE(begin(*node[0][lane], 0, 0, bytes + lane, is_last)) << lane;
        EXPECT_FALSE(begin(*node[0][lane], 1, 0, bytes, is_last));
        EXPECT_TRUE(begin(*node[0][lane], 1, 0, 0, is_last)) << "nothing needs no room";
    }
    for (size_t lane = lanes + 1; lane-- > 0;) {
        if (lane == 3) { continue; }
        ASSERT_TRUE(begin(*node[1][lane], 0, 1, lane, is_last));
        ASSERT_TRUE(is_last);
        take(*node[1][lane], 0, {bytes + lane, lane});
        ASSERT_TRUE(begin(*node[0][lane], 2, 0, bytes, is_last)) << "its slot is free";
    }
}

TEST(Contributions, ALaneMayBeFarAheadToo) {
    const auto node = lanes_of(2, 2 * 500 + 100, 3, true);
    const uint64_t window = node[0][2]->window();
    bool is_last = false;
    for (uint64_t operation = 0; operation < window; ++operation) {
        ASSERT_TRUE(begin(*node[0][2], operation, 0, operation % 400, is_last));
    }
    EXPECT_FALSE(begin(*node[0][2], window, 0, 1, is_last));
    for (uint64_t operation = 0; operation < window + 100; ++operation) {
        ASSERT_TRUE(begin(*node[1][2], operation, 1, 8, is_last));
        ASSERT_TRUE(is_last);
        take(*node[1][2], operation, {operation % 400, 8});
        const uint64_t next = operation + window;
        if (operation < 100) { ASSERT_TRUE(begin(*node[0][2], next, 0, next % 400, is_last)); }
    }
}

/// Ranks that each begin the lanes in an order of their own, so many operations in each.
void run_side_by_side(int ranks, int lanes, uint64_t operations) {
    const uint64_t largest = 20000;
    const auto node = lanes_of(ranks, 2 * largest + 100, lanes, true);
    const auto bytes_of = [&](uint64_t operation, size_t lane, int local) {
        const uint64_t place = operation * static_cast<uint64_t>(lanes + 1) + lane;
        std::mt19937_64 random(place * static_cast<uint64_t>(ranks) + static_cast<uint64_t>(local));
        const uint64_t kind = random() % 16;
        return kind == 0 ? largest : kind < 4 ? 0 : random() % 300;
    };
    std::atomic<uint64_t> taken{0};
    const auto run = [&](int local) {
        std::mt19937_64 random(static_cast<uint64_t>(local));
        std::vector<uint64_t> next(static_cast<size_t>(lanes) + 1);
        std::vector<size_t> order;
        for (size_t lane = 0; lane < next.size(); ++lane) {
            order.insert(order.end(), operations, lane);
        }
        std::shuffle(order.begin(), order.end(), random);
        for (const size_t lane : order) {
            Contributions& rank = *node[static_cast<size_t>(local)][lane];
            const uint64_t operation = next[lane]++;
            bool is_last = false;
            ASSERT_TRUE(begin(rank, operation, local, bytes_of(operation, lane, local), is_last));
            if (!is_last) { continue; }
            ++taken;
            std::vector<uint64_t> bytes;
            for (int i = 0; i < ranks; ++i) { bytes.push_back(bytes_of(operation, lane, i)); }
            take(rank, operation, bytes);
        }
    };
    std::vector<std::thread> threads;
    for (int local = 0; local < ranks; ++local) { threads.emplace_back(run, local); }
    for (std::thread& thread : threads) { thread.join(); }
    EXPECT_EQ(taken.load(), operations * static_cast<uint64_t>(lanes + 1));
}

TEST(Contributions, RanksSideBySide) { run_side_by_side(4, 0, 3000); }

TEST(Contributions, RanksBeginLanesInAnyOrder) { run_side_by_side(3, 6, 400); }

} // namespace

} // namespace nodeaware::test
