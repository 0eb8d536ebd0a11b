#include "runtime/mailboxes/incoming_cells.hpp"
#include "runtime/mailboxes/rings.hpp"
#include "runtime/progress/clock.hpp"
#include "tests/unit/mailbox_items.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <sched.h>
#include <vector>

namespace nodeaware::test {

namespace {

using Bytes = std::vector<std::byte>;

Bytes item_of(uint64_t name, uint32_t rank, uint32_t bytes) {
    Bytes items;
    append(items, {name, rank, bytes});
    return items;
}

bool move(Rings& rings, int rank, const Bytes& items) {
    return rings.move(rank, items.size(), [&] { return std::span<const std::byte>(items); });
}

/// The name of what was moved first; 0: nothing was, or it is broken.
uint64_t take(Rings& rings, int rank) {
    Bytes items(rings.first_bytes(rank));
    if (items.empty()) { return 0; }
    rings.take(rank, items);
    const auto names = names_in(items);
    return names.size() == 1 ? names.front() : 0;
}

TEST(Rings, KeepOrderAndBytesAllTheWayRound) {
    Node<Rings> node(2, Rings(3, 256));
    EXPECT_EQ(node[0].first_bytes(2), 0U);
    for (uint64_t name = 1; name < 200; name += 2) {
        const auto bytes = static_cast<uint32_t>(name % 60);
        EXPECT_TRUE(move(node[0], 2, item_of(name, 2, bytes)));
        EXPECT_TRUE(move(node[0], 2, item_of(name + 1, 2, 59 - bytes)));
        EXPECT_EQ(node[1].first_bytes(1), 0U);
        EXPECT_EQ(take(node[1], 2), name);
        EXPECT_EQ(take(node[1], 2), name + 1);
        EXPECT_EQ(take(node[1], 2), 0U);
    }
}

TEST(Rings, NothingIsClaimedThatHasNoRoom) {
    Node<Rings> node(1, Rings(1, 256));
    const auto claim = [] {
        ADD_FAILURE() << "claimed";
        return std::span<const std::byte>();
    };
    EXPECT_FALSE(node[0].move(0, 256, claim));
    EXPECT_TRUE(move(node[0], 0, item_of(1, 0, 100)));
    EXPECT_FALSE(node[0].move(0, 136, claim));
    EXPECT_TRUE(move(node[0], 0, item_of(2, 0, 104))); // to the last byte
    EXPECT_FALSE(node[0].move(0, 8, claim));
    EXPECT_EQ(take(node[0], 0), 1U);
    EXPECT_TRUE(move(node[0], 0, item_of(3, 0, 100)));
    Node<Rings> none(1, Rings(1, 0));
    EXPECT_FALSE(none[0].move(0, 8, claim));
    EXPECT_EQ(none[0].first_bytes(0), 0U);
}

TEST(Rings, WhatSomebodyElseHasClaimedIsNotMoved) {
    Node<Rings> node(1, Rings(1, 256));
    EXPECT_FALSE(node[0].move(0, 8, [] { return std::span<const std::byte>(); }));
    EXPECT_EQ(node[0].first_bytes(0), 0U);
    EXPECT_TRUE(move(node[0], 0, item_of(1, 0, 8)));
    EXPECT_EQ(take(node[0], 0), 1U);
}

/// A rank takes its items out of a cell while its mates move them.
TEST(Rings, EachItemIsTakenOnceWhoeverIsFirst) {
    constexpr int mates = 3;
    constexpr uint64_t containers = 3000;
    constexpr uint32_t cell_bytes = 512;
    constexpr IncomingCells::Place place{0, 1};
    Node<IncomingCells> cells(mates + 1, IncomingCells(1, 1, 2, cell_bytes));
    Node<Rings> rings(mates + 1, Rings(2, 384));
    std::atomic<uint64_t> landed{0};
    std::atomic<uint64_t> by_rings{0};
    std::atomic<bool> is_over{false};
    std::vector<int> taken(containers + 1);
    int wrong = 0;
    const double deadline = now() + 60;
    cells[0].grant(0);
    const auto note = [&](uint64_t name) {
        ++(name > 0 && name <= containers ? taken[name] : wrong);
    };
    const auto land = [&] { // by its keeper, which is the rank itself
        IncomingCells& mine = cells[mates];
        if (landed == containers || (landed > 0 && !mine.is_empty(place))) { return; }
        if (landed > 0) { mine.next(place); }
        const uint64_t name = landed + 1;
        const auto sorted = container::sort(item_of(name, 1, static_cast<uint32_t>(name % 90)));
        const Bytes bytes = container::assemble(sorted, {}, name);
        std::memcpy(mine.memory(place).data(), bytes.data(), bytes.size());
        ASSERT_TRUE(mine.begin_sorting(place));
        mine.sorted(place, now());
        landed = name;
    };
    const auto take_from_cell = [&] {
        IncomingCells& mine = cells[mates];
        const auto items = mine.claim(place, 1, mine.items(place, 1).size());
        if (items.empty()) { return; }
        const auto names = names_in(items);
        note(names.size() == 1 ? names.front() : 0);
        mine.taken(place, 1);
    };
    side_by_side(mates + 1, [&](int mate) {
        for (uint64_t i = 0; mate == mates && !is_over; ++i) {
            land();
            if (i % 3 != 0) { take_from_cell(); }
            while (rings[mates].first_bytes(1) != 0) {
                note(take(rings[mates], 1));
                cells[mates].took_moved(1);
                ++by_rings;
            }
            is_over = (landed == containers && cells[mates].is_empty(place) &&
                       !cells[mates].has_items(1)) ||
                      now() > deadline;
            sched_yield();
        }
        while (mate < mates && !is_over) {
            cells[mate].for_each_late(place, now(), [&](int rank, uint64_t bytes) {
                const auto claim = [&] { return cells[mate].claim(place, rank, bytes); };
                if (rings[mate].move(rank, bytes, claim)) { cells[mate].moved(place); }
            });
            sched_yield();
        }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(by_rings, 0U);
    for (uint64_t name = 1; name <= containers; ++name) { ASSERT_EQ(taken[name], 1) << name; }
}

/// Nothing is late that has landed since.
TEST(Rings, OnlyWhatHasBeenThereForLongIsLate) {
    Node<IncomingCells> cells(1, IncomingCells(1, 1, 3, 512));
    const Bytes bytes = container::assemble(container::sort(item_of(7, 2, 30)), {}, 1);
    std::memcpy(cells[0].memory({0, 0}).data(), bytes.data(), bytes.size());
    const auto late = [&](double since) {
        std::vector<int> ranks;
        cells[0].for_each_late({0, 0}, since, [&](int rank, uint64_t) { ranks.push_back(rank); });
        return ranks;
    };
    EXPECT_TRUE(late(100).empty());
    ASSERT_TRUE(cells[0].begin_sorting({0, 0}));
    cells[0].sorted({0, 0}, 5);
    EXPECT_TRUE(late(4).empty());
    EXPECT_EQ(late(5), std::vector<int>{2});
    cells[0].claim({0, 0}, 2, cells[0].items({0, 0}, 2).size());
    EXPECT_TRUE(late(6).empty());
    EXPECT_FALSE(cells[0].is_empty({0, 0})); // until it is moved
    cells[0].moved({0, 0});
    EXPECT_TRUE(cells[0].is_empty({0, 0}));
    EXPECT_TRUE(cells[0].has_items(2));
    cells[0].took_moved(2);
    EXPECT_FALSE(cells[0].has_items(2));
}

} // namespace

} // namespace nodeaware::test
