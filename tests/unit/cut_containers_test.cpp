// Containers that leave as several messages, where MPI would ask the receiver before it sends one.

#include "runtime/mailboxes/container.hpp"
#include "runtime/mailboxes/eager_limit.hpp"
#include "runtime/mailboxes/grants.hpp"
#include "runtime/mailboxes/outgoing_cells.hpp"
#include "tests/unit/mailbox_items.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <sched.h>
#include <vector>

namespace nodeaware::test {

namespace {

constexpr double round_trip = 1e-3;

/// An MPI that asks before it sends more than `eager` bytes, and sometimes is held up.
class Network {
  public:
    Network(EagerLimit& limit, uint32_t eager) : limit_(limit), eager_(eager) {}
    void send(uint32_t bytes, bool is_held_up = false) {
        const double seconds = is_held_up || bytes > eager_ ? 3 * round_trip : round_trip / 100;
        limit_.note(bytes, seconds * 0.9, seconds, round_trip);
    }

  private:
    EagerLimit& limit_;
    uint32_t eager_;
};

class EagerLimitTest : public testing::Test {
  protected:
    Node<EagerLimit> node{1, EagerLimit()};
    EagerLimit& limit = node[0];
};

} // namespace

TEST_F(EagerLimitTest, IsFoundByWhatIsSent) {
    for (const uint32_t eager : {17000U, 19500U, 24000U, 31000U}) {
        Node<EagerLimit> other{1, EagerLimit()};
        limit = other[0];
        Network network(limit, eager);
        EXPECT_FALSE(limit.limit_for(32000));
        for (int i = 0; i < 40; ++i) {
            const auto cut = limit.limit_for(32000);
            network.send(cut.value_or(32000));
        }
        const auto found = limit.limit_for(32000);
        ASSERT_TRUE(found) << eager;
        EXPECT_LE(*found, eager);
        EXPECT_GE(*found, eager - eager / 4);
        EXPECT_FALSE(limit.limit_for(*found));
    }
}

TEST_F(EagerLimitTest, IsNotThereWhereNothingIsAsked) {
    Network network(limit, 1 << 20);
    for (int i = 0; i < 1000; ++i) {
        network.send(20000 + static_cast<uint32_t>(i), i % 4 == 0); // some are late
        EXPECT_FALSE(limit.limit_for(32000));
    }
}

TEST_F(EagerLimitTest, CutsNothingWherePartsWouldBeAskedForToo) {
    Network network(limit, 8000);
    for (int i = 0; i < 100; ++i) { network.send(limit.limit_for(32000).value_or(32000)); }
    EXPECT_FALSE(limit.limit_for(32000));
}

TEST_F(EagerLimitTest, IsForgottenWhenItIsNotTrueAnyMore) {
    Network slow(limit, 17000);
    for (int i = 0; i < 40; ++i) { slow.send(limit.limit_for(32000).value_or(32000)); }
    ASSERT_TRUE(limit.limit_for(32000));
    Network network(limit, 1 << 20);
    bool is_cut = true;
    for (int i = 0; i < 1000 && is_cut; ++i) {
        is_cut = limit.limit_for(32000).has_value();
        if (!is_cut) { network.send(32000); }
    }
    EXPECT_FALSE(limit.limit_for(32000));
}

TEST_F(EagerLimitTest, IsNotLearnedWithoutARoundTrip) {
    for (int i = 0; i < 100; ++i) { limit.note(30000, 1, 2, 0); }
    EXPECT_FALSE(limit.limit_for(32000));
}

TEST(CutContainers, HoldEverythingOnceAndNoMoreThanTheLimit) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::byte> items;
        const int count = 1 + static_cast<int>(random() % 60);
        for (int i = 1; i <= count; ++i) {
            append(items, {static_cast<uint64_t>(i), static_cast<uint32_t>(random() % 9),
                           static_cast<uint32_t>(random() % 500)});
        }
        const container::Sorted sorted = container::sort(items);
        const uint64_t most = 500 + random() % 5000;
        std::vector<uint64_t> names;
        const auto lists = container::cut(sorted.parts, most);
        for (const auto& list : lists) {
            const auto bytes = container::assemble(list, sorted.items, {{1, 2}}, 7);
            ASSERT_TRUE(container::is_whole(bytes, 7));
            ASSERT_EQ(container::credits_of(bytes).size(), 1U);
            if (list.size() > 1) { EXPECT_LE(bytes.size(), most + sizeof(container::Credit)); }
            for (const container::Part& part : container::parts_of(bytes)) {
                const auto here =
                    names_in(std::span(bytes).subspan(part.offset, part.bytes)); // intact
                names.insert(names.end(), here.begin(), here.end());
            }
        }
        std::sort(names.begin(), names.end());
        std::vector<uint64_t> all(static_cast<size_t>(count));
        for (size_t i = 0; i < all.size(); ++i) { all[i] = i + 1; }
        EXPECT_EQ(names, all);
        EXPECT_EQ(container::cut(sorted.parts, uint64_t{1} << 40).size(), 1U);
    }
    EXPECT_TRUE(container::cut({}, 100).empty());
}

TEST(CutContainers, AreKeptUntilAllOfTheirMessagesHaveReturned) {
    Node<OutgoingCells> node{1, OutgoingCells(1, 1 << 10)};
    OutgoingCells& cells = node[0];
    cells.initialize();
    for (uint32_t messages = 1; messages <= 4; ++messages) {
        std::optional<uint32_t> full;
        const auto place = cells.reserve(0, 16, {1, 2}, &full);
        ASSERT_TRUE(place);
        cells.commit(*place, 1);
        ASSERT_TRUE(cells.close(0, place->generation, 1));
        cells.keep(0, place->generation, 1, messages);
        for (uint32_t i = 0; i < messages; ++i) {
            EXPECT_EQ(cells.kept_since(0, 2), place->generation) << i << " of " << messages;
            cells.returned(0, OutgoingCells::cell_of(place->generation));
        }
        EXPECT_FALSE(cells.kept_since(0, 2));
    }
}

TEST(CutContainers, WhatWasGrantedIsTakenTogetherAndMayBeForgotten) {
    Node<Grants> node{1, Grants(1, 1)};
    Grants& grants = node[0];
    for (uint32_t i = 0; i < 3; ++i) { EXPECT_FALSE(grants.give(0, 0, i)); }
    std::vector<uint32_t> taken(4);
    ASSERT_EQ(grants.take(0, 0, 2, std::span(taken)), 3U);
    EXPECT_FALSE(grants.has(0, 0));
    grants.forget(0, 0, taken[0]);
    EXPECT_FALSE(grants.has(0, 0)); // it is under way nevertheless
    EXPECT_FALSE(grants.give(0, 0, taken[0]));
    EXPECT_TRUE(grants.has(0, 0));
    grants.forget(0, 0, taken[0]); // too late
    EXPECT_TRUE(grants.has(0, 0));
    EXPECT_EQ(grants.give(0, 0, taken[1]), 2U);
}

/// A container that could not be sent as a whole is sent once more, and counted anew: what has come
/// back of the first time must have been counted by then.
TEST(CutContainers, NothingIsToldOfWhatIsForgotten) {
    constexpr int rounds = 3000;
    Node<Grants> node(2, Grants(1, 1));
    node[0].give(0, 0, 0);
    std::atomic<int> round{0}; ///< that has begun
    std::atomic<int> telling{0};
    std::atomic<int> told{0};
    std::atomic<bool> is_forgotten{false};
    int wrong = 0;
    side_by_side(2, [&](int rank) {
        for (int i = 1; i <= rounds; ++i) {
            if (rank == 0) {
                is_forgotten = false;
                EXPECT_EQ(node[0].take(0, 0, 2), 0U);
                round = i;
                while (i % 2 == 0 && telling < i) { sched_yield(); }
                node[0].forget(0, 0, 0);
                is_forgotten = true;
                while (told < i) { sched_yield(); }
                continue;
            }
            while (round < i) { sched_yield(); }
            node[1].give(0, 0, 0, [&](uint32_t /*outgoing*/) {
                telling = i;
                for (int looks = 0; looks < 3; ++looks) {
                    sched_yield();
                    wrong += is_forgotten ? 1 : 0;
                }
            });
            told = i;
        }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(node[0].has(0, 0));
}

} // namespace nodeaware::test
