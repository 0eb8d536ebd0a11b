#include "runtime/mailboxes/known_containers.hpp"
#include "runtime/mailboxes/node_mates.hpp"
#include "runtime/memory/shared_memory.hpp"
#include "tests/unit/mailbox_items.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <vector>

namespace nodeaware::test {

namespace {

using container::Credit;
using container::Item;
using container::Part;
using Bytes = std::vector<std::byte>;

/// Items for four destinations, some of which are to be skipped.
Bytes random_items(uint64_t seed, int count) {
    std::mt19937_64 random(seed);
    Bytes items;
    for (uint64_t name = 1; name <= static_cast<uint64_t>(count); ++name) {
        append(items, {random() % 5 == 0 ? 0 : name, static_cast<uint32_t>(random() % 4),
                       static_cast<uint32_t>(random() % 40)});
    }
    return items;
}

const std::vector<Credit> two_credits = {{3, 5}, {1, 15}};

/// A container of which every word differs from the same word of that of another seed.
Bytes dense_container(uint8_t seed, uint64_t generation) {
    container::Sorted sorted;
    sorted.items.resize(160);
    for (size_t i = 0; i < sorted.items.size(); ++i) {
        sorted.items[i] = static_cast<std::byte>(seed + i * 5);
    }
    sorted.parts = {{0, 0, 96, 0}, {2, 96, 64, 0}};
    return container::assemble(sorted, two_credits, generation);
}

TEST(Container, SortingKeepsTheOrderOfEachDestination) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
        const Bytes items = random_items(seed, 40);
        std::map<uint32_t, std::vector<uint64_t>> names;
        ASSERT_TRUE(container::for_each_item(items, [&](const Item& item, auto) {
            if (item.name != 0) { names[item.destination].push_back(item.name); }
        }));
        const container::Sorted sorted = container::sort(items);
        ASSERT_EQ(sorted.parts.size(), names.size());
        uint32_t at = 0;
        for (const Part& part : sorted.parts) {
            EXPECT_EQ(part.offset, at);
            at += part.bytes;
            const auto its = std::span(sorted.items).subspan(part.offset, part.bytes);
            EXPECT_EQ(names_in(its), names[part.destination]);
            container::for_each_item(its, [&](const Item& item, auto) {
                EXPECT_EQ(item.destination, part.destination);
            });
        }
        EXPECT_EQ(sorted.items.size(), at);
    }
}

TEST(Container, OnlySkippedItemsAreNothing) {
    Bytes items;
    append(items, {0, 1, 24});
    const container::Sorted sorted = container::sort(items);
    EXPECT_TRUE(sorted.parts.empty());
    EXPECT_TRUE(sorted.items.empty());
}

TEST(Container, TellsWhatWasPutIn) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
        const container::Sorted sorted = container::sort(random_items(seed, 30));
        Bytes cell = container::assemble(sorted, two_credits, seed + 1);
        EXPECT_LE(cell.size(), sorted.items.size() + container::overhead(4));
        cell.resize(cell.size() + 77, std::byte{0xaa});
        ASSERT_TRUE(container::is_whole(cell, seed + 1));
        const auto credits = container::credits_of(cell);
        ASSERT_EQ(credits.size(), two_credits.size());
        for (size_t i = 0; i < credits.size(); ++i) {
            EXPECT_EQ(credits[i].rank, two_credits[i].rank);
            EXPECT_EQ(credits[i].cells, two_credits[i].cells);
        }
        const auto parts = container::parts_of(cell);
        ASSERT_EQ(parts.size(), sorted.parts.size());
        for (size_t i = 0; i < parts.size(); ++i) {
            const Part& given = sorted.parts[i];
            EXPECT_EQ(parts[i].destination, given.destination);
            ASSERT_EQ(parts[i].bytes, given.bytes);
            EXPECT_EQ(std::memcmp(cell.data() + parts[i].offset, sorted.items.data() + given.offset,
                                  given.bytes),
                      0);
        }
    }
    const Bytes credits_only = container::assemble({}, two_credits, 1);
    EXPECT_TRUE(container::is_whole(credits_only, 1));
    EXPECT_TRUE(container::parts_of(credits_only).empty());
    EXPECT_EQ(container::credits_of(credits_only).size(), 2U);
    EXPECT_TRUE(container::is_whole(container::assemble({}, {}, 1), 1));
}

TEST(Container, IsOfOneGeneration) {
    const Bytes bytes = dense_container(1, 500);
    for (uint64_t generation = 0; generation < 1000; ++generation) {
        EXPECT_EQ(container::is_whole(bytes, generation), generation == 500);
    }
    EXPECT_FALSE(container::is_whole(bytes, 500 + (uint64_t{1} << 32)));
    EXPECT_FALSE(container::is_whole(bytes, std::numeric_limits<uint64_t>::max()));
    EXPECT_FALSE(container::is_whole(Bytes(1024), 0));
    EXPECT_FALSE(container::is_whole(Bytes(1024), 1));
}

TEST(Container, AnyOtherByteIsSeen) {
    const Bytes bytes = dense_container(1, 9);
    ASSERT_TRUE(container::is_whole(bytes, 9));
    for (size_t i = 0; i < bytes.size(); ++i) {
        Bytes changed = bytes;
        for (int other = 1; other < 256; ++other) {
            changed[i] = bytes[i] ^ static_cast<std::byte>(other);
            ASSERT_FALSE(container::is_whole(changed, 9)) << i << ' ' << other;
        }
    }
}

TEST(Container, IsWholeWithItsLastByte) {
    const Bytes fresh = dense_container(1, 9);
    const Bytes old = dense_container(99, 8);
    ASSERT_EQ(fresh.size(), old.size());
    ASSERT_NE(fresh.back(), old.back());
    for (size_t size = 0; size < fresh.size(); ++size) {
        const Bytes begin(fresh.data(), fresh.data() + size);
        ASSERT_FALSE(container::is_whole(begin, 9)) << size;
        for (const Bytes& before : {old, Bytes(old.size())}) {
            Bytes cell = before;
            std::memcpy(cell.data(), fresh.data(), size);
            ASSERT_FALSE(container::is_whole(cell, 9)) << size;
            cell = fresh;
            std::memcpy(cell.data(), before.data(), size);
            ASSERT_EQ(container::is_whole(cell, 9), cell == fresh) << size;
        }
    }
    std::mt19937_64 random(1);
    for (int round = 0; round < 20000; ++round) { // in any order
        Bytes cell = old;
        const size_t missing = random() % (fresh.size() / 8);
        for (size_t word = 0; word < fresh.size() / 8; ++word) {
            if (word == missing || random() % 4 == 0) { continue; }
            std::memcpy(cell.data() + word * 8, fresh.data() + word * 8, 8);
        }
        ASSERT_EQ(container::is_whole(cell, 9), cell == fresh);
        ASSERT_EQ(container::is_whole(cell, 8), cell == old);
    }
}

TEST(Container, AbsurdHeadsAreNotWhole) {
    const Bytes bytes = dense_container(1, 9);
    const auto most = std::numeric_limits<uint32_t>::max();
    const auto size = static_cast<uint32_t>(bytes.size());
    const auto is_whole_with = [&](uint32_t container::Head::*field, uint32_t value) {
        container::Head head;
        Bytes cell = bytes;
        std::memcpy(&head, cell.data(), sizeof head);
        head.*field = value;
        std::memcpy(cell.data(), &head, sizeof head);
        return container::is_whole(cell, 9);
    };
    ASSERT_TRUE(is_whole_with(&container::Head::bytes, size));
    for (const uint32_t value : {0U, 1U, 7U, 8U, 31U, 32U, size - 8, size + 1, 1U << 31, most}) {
        EXPECT_FALSE(is_whole_with(&container::Head::bytes, value)) << value;
        EXPECT_FALSE(is_whole_with(&container::Head::parts, value)) << value;
        EXPECT_FALSE(is_whole_with(&container::Head::credits, value)) << value;
    }
}

TEST(Container, MalformedItemsAreNoticed) {
    Bytes items;
    std::vector<size_t> ends = {0};
    for (const uint32_t bytes : {5U, 0U, 24U}) {
        append(items, {1, 0, bytes});
        ends.push_back(items.size());
    }
    size_t whole = 0;
    for (size_t size = 0; size <= items.size(); ++size) {
        if (whole + 1 < ends.size() && size == ends[whole + 1]) { ++whole; }
        size_t taken = 0;
        const bool is_well_formed = container::for_each_item(std::span(items).first(size),
                                                             [&](const Item&, auto) { ++taken; });
        EXPECT_EQ(is_well_formed, size == ends[whole]) << size;
        EXPECT_EQ(taken, whole);
    }
    for (const uint32_t bytes : {6U * 8, 1U << 31, std::numeric_limits<uint32_t>::max()}) {
        const Item item{1, 0, bytes};
        std::memcpy(items.data(), &item, sizeof item);
        EXPECT_FALSE(container::for_each_item(std::span(items).first(ends[1]),
                                              [](const Item&, auto) { FAIL(); }));
    }
}

class NodeMatesTest : public testing::Test {
  protected:
    static constexpr int ranks = 3;

    NodeMatesTest() : mates(ranks), memory_(SharedMemory::create_alone(mates.memory_bytes())) {
        mates.attach(memory_.data());
    }
    /// Containers that are closed before somebody is awaited.
    int closings_until_awaited() {
        int closings = 0;
        for (; mates.all_wait(1) && closings < 1 << 20; ++closings) { mates.closed({}); }
        return closings;
    }

    NodeMates mates;

  private:
    SharedMemory memory_;
};

TEST_F(NodeMatesTest, WhoTakesNoPartIsNotAwaited) {
    EXPECT_FALSE(mates.anybody_takes_part());
    EXPECT_TRUE(mates.all_wait(1));
    mates.takes_part(1, 1);
    mates.takes_part(1, 1);
    EXPECT_TRUE(mates.anybody_takes_part());
    EXPECT_FALSE(mates.all_wait(1));
    mates.takes_part(1, -1);
    EXPECT_FALSE(mates.all_wait(1));
    mates.takes_part(1, -1);
    EXPECT_TRUE(mates.all_wait(1));
    EXPECT_FALSE(mates.anybody_takes_part());
}

TEST_F(NodeMatesTest, WhoHasWaitedSinceIsNotAwaited) {
    for (int rank = 0; rank < ranks; ++rank) { mates.takes_part(rank, 1); }
    for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_FALSE(mates.waits(rank));
        EXPECT_FALSE(mates.all_wait(5));
        mates.begin_waiting(rank, 0.5);
        EXPECT_TRUE(mates.waits(rank));
    }
    EXPECT_TRUE(mates.all_wait(5));
    mates.need_not_wait(1, 7);
    EXPECT_FALSE(mates.waits(1));
    EXPECT_TRUE(mates.all_wait(6));
    EXPECT_FALSE(mates.all_wait(8));
    mates.begin_waiting(1, 0.5);
    EXPECT_TRUE(mates.all_wait(8));
}

TEST_F(NodeMatesTest, WhoIsAwayForLongIsNotAwaited) {
    mates.takes_part(0, 1);
    mates.begin_waiting(0, 0.5);
    mates.takes_part(1, 1);
    mates.goes_away(1, 3);
    EXPECT_FALSE(mates.all_wait(5)); // and never, if it is not known what is long
    EXPECT_FALSE(mates.all_wait(5, 3));
    EXPECT_FALSE(mates.all_wait(5, 5)); // for the container is new
    EXPECT_TRUE(mates.all_wait(5, 5.1));
    EXPECT_FALSE(mates.all_wait(2, 3));
    EXPECT_TRUE(mates.all_wait(2, 3.1));
    mates.closed(1);
    mates.is_back(1);
    EXPECT_TRUE(mates.all_wait(8, 9)); // was late, and is excused
    EXPECT_EQ(closings_until_awaited(), 1);
    EXPECT_FALSE(mates.all_wait(8, 9));
}

TEST_F(NodeMatesTest, WhoIsLateIsExcusedForAWhile) {
    for (int rank = 0; rank < ranks; ++rank) { mates.takes_part(rank, 1); }
    mates.begin_waiting(0, 0.5);
    mates.begin_waiting(1, 0.5);
    EXPECT_EQ(closings_until_awaited(), 0); // nobody was late
    int before = 0;
    for (int lateness = 0; lateness < 4; ++lateness) {
        mates.closed(1);
        EXPECT_TRUE(mates.all_wait(1));
        if (lateness > 0) { mates.closed(1); } // it is excused already
        const int excused = closings_until_awaited();
        EXPECT_GE(excused, std::max(1, 2 * before));
        EXPECT_LE(excused, std::max(1, 8 * before));
        before = excused;
        mates.closed({});
        EXPECT_FALSE(mates.all_wait(1));
    }
    EXPECT_GT(before, 32);

    mates.begin_waiting(2, 0.5); // in time for long
    for (int i = 0; i < 20; ++i) { mates.closed(1); }
    mates.need_not_wait(2, 0.5);
    EXPECT_FALSE(mates.all_wait(1));
    mates.closed(1);
    EXPECT_EQ(closings_until_awaited(), 1);

    mates.closed(1);
    EXPECT_TRUE(mates.all_wait(1));
    mates.need_not_wait(1, 0.5); // was in time always
    EXPECT_FALSE(mates.all_wait(1));
}

TEST_F(NodeMatesTest, OnlyWhoWasAwaitedIsExcused) {
    mates.takes_part(0, 1);
    mates.takes_part(1, 1);
    mates.need_not_wait(1, 7); // since the container was begun
    mates.closed(5);
    EXPECT_FALSE(mates.all_wait(8)); // for 1 may put more into another
    mates.begin_waiting(1, 0.5);
    EXPECT_TRUE(mates.all_wait(8)); // 0 is excused
    mates.takes_part(2, 1);
    EXPECT_FALSE(mates.all_wait(8)); // 2 took no part
}

TEST_F(NodeMatesTest, TheLastThatIsExcusedIsNotLate) {
    mates.takes_part(0, 1);
    for (const int excused : {1, 4, 16}) {
        mates.closed(1);
        for (int i = 0; i < excused; ++i) {
            EXPECT_TRUE(mates.all_wait(1));
            mates.closed(1); // somebody else's
        }
        EXPECT_FALSE(mates.all_wait(1));
    }
}

TEST_F(NodeMatesTest, WhoIsInTimeAgainIsNotExcusedForLong) {
    mates.takes_part(0, 1);
    for (int lateness = 0; lateness < 8; ++lateness) {
        closings_until_awaited();
        mates.closed(1);
    }
    const int missed = 16;
    int last = closings_until_awaited();
    EXPECT_GT(last, 1 << (missed - 4));
    mates.closed(1);
    for (int in_time = 1; in_time <= missed; ++in_time) {
        mates.begin_waiting(0, 0.5);
        mates.closed({});
        mates.need_not_wait(0, 0.5);
    }
    EXPECT_EQ(closings_until_awaited(), 0);
    mates.closed(1); // as if it had never been late
    EXPECT_EQ(closings_until_awaited(), 1);
}

TEST_F(NodeMatesTest, NobodyIsExcusedForEver) {
    mates.takes_part(0, 1);
    int longest = 0;
    for (int lateness = 0; lateness < 20; ++lateness) {
        EXPECT_FALSE(mates.all_wait(1));
        mates.closed(1);
        longest = closings_until_awaited();
    }
    EXPECT_LT(longest, 1 << 20);
}

} // namespace

} // namespace nodeaware::test
