#include "runtime/mailboxes/grants.hpp"
#include "runtime/mailboxes/incoming_cells.hpp"
#include "runtime/progress/clock.hpp"
#include "tests/unit/mailbox_items.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <random>
#include <sched.h>
#include <set>
#include <vector>

namespace nodeaware::test {

namespace {

using Bytes = std::vector<std::byte>;
using Names = std::vector<uint64_t>;
using Place = IncomingCells::Place;

TEST(Grants, AreUsedOnceEach) {
    Node<Grants> node(2, Grants(2, 3));
    Grants& grants = node[0];
    EXPECT_FALSE(grants.has(1, 2));
    EXPECT_FALSE(grants.take(1, 2, 0));
    EXPECT_FALSE(grants.give(1, 2, 0));
    for (int i = 0; i < 2; ++i) { EXPECT_FALSE(node[1].give(1, 2, 3)); }
    EXPECT_TRUE(grants.has(1, 2));
    for (const auto& [to, rank] : {std::pair{1, 1}, {0, 2}}) { EXPECT_FALSE(grants.has(to, rank)); }
    const auto one = grants.take(1, 2, 0);
    const auto other = node[1].take(1, 2, 3);
    ASSERT_TRUE(one && other);
    EXPECT_EQ((std::set{*one, *other}), (std::set{0U, 3U}));
    EXPECT_FALSE(grants.has(1, 2));
    EXPECT_FALSE(grants.take(1, 2, 1));
    EXPECT_EQ(node[1].give(1, 2, *other), 3U);
    EXPECT_EQ(grants.take(1, 2, 2), other);
    EXPECT_EQ(grants.give(1, 2, *one), 0U);
    EXPECT_EQ(grants.give(1, 2, *other), 2U);
}

TEST(Grants, NothingIsTakenTwice) {
    constexpr int ranks = 4;
    Node<Grants> node(ranks, Grants(1, 1));
    std::atomic<int> users[Grants::cells] = {};
    std::atomic<int> wrong{0};
    std::atomic<int> taken{0};
    for (uint32_t cell = 0; cell < 3; ++cell) { node[0].give(0, 0, cell); }
    side_by_side(ranks, [&](int rank) {
        for (int i = 0; i < 5000; ++i) {
            const auto outgoing = static_cast<uint32_t>(rank);
            auto cell = node[rank].take(0, 0, outgoing);
            for (; !cell; cell = node[rank].take(0, 0, outgoing)) { sched_yield(); }
            ++taken;
            wrong += users[*cell].fetch_add(1);
            if (i % 16 == 0) { sched_yield(); }
            --users[*cell];
            wrong += node[rank].give(0, 0, *cell) == outgoing ? 0 : 1;
        }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(taken, 5000 * ranks);
    EXPECT_EQ(users[3], 0);
}

constexpr uint32_t cell_bytes = 512;

/// An item for each of the ranks.
Bytes container_for(const std::vector<uint32_t>& ranks, uint64_t name, uint64_t generation) {
    Bytes items;
    for (const uint32_t rank : ranks) { append(items, {name, rank, 8 + rank}); }
    return container::assemble(container::sort(items), {{static_cast<uint32_t>(name), 0}},
                               generation);
}

TEST(IncomingCells, EachRankTakesItsOwn) {
    constexpr int ranks = 3;
    Node<IncomingCells> node(ranks, IncomingCells(2, 2, ranks, cell_bytes));
    const Place place{1, 2};
    for (uint64_t generation = 1; generation < 10; ++generation) {
        const Bytes late = container_for({0, 2}, 100 + generation, generation + 1);
        std::memcpy(node[1].memory(place).data(), late.data(), late.size());
        EXPECT_FALSE(node[1].begin_sorting(place));
        const Bytes landed = container_for({0, 2}, generation, generation);
        std::memcpy(node[1].memory(place).data(), landed.data(), landed.size());
        EXPECT_TRUE(node[0].items(place, 0).empty());
        EXPECT_FALSE(node[0].begin_sorting({1, 1}));
        EXPECT_FALSE(node[0].begin_sorting({0, 2}));
        EXPECT_TRUE(node[0].begin_sorting(place));
        EXPECT_FALSE(node[1].begin_sorting(place));
        EXPECT_FALSE(node[1].is_empty(place));
        EXPECT_FALSE(node[1].has_items(0));
        node[0].sorted(place, 0);
        EXPECT_FALSE(node[1].begin_sorting(place));
        EXPECT_FALSE(node[0].has_items(1));
        EXPECT_TRUE(node[1].items(place, 1).empty());
        for (const int rank : {2, 0}) {
            EXPECT_FALSE(node[1].is_empty(place));
            EXPECT_TRUE(node[1].has_items(rank));
            EXPECT_EQ(names_in(node[1].items(place, rank)), (Names{generation}));
            const uint64_t bytes = node[1].items(place, rank).size();
            EXPECT_TRUE(node[rank].claim(place, rank, bytes + 8).empty());
            EXPECT_EQ(names_in(node[rank].claim(place, rank, bytes)), (Names{generation}));
            node[rank].taken(place, rank);
            EXPECT_TRUE(node[rank].items(place, rank).empty());
            EXPECT_FALSE(node[1].has_items(rank));
        }
        EXPECT_TRUE(node[1].is_empty(place));
        EXPECT_FALSE(node[1].is_empty({1, 1}));
        node[1].next(place);
        EXPECT_FALSE(node[0].is_empty(place));
        EXPECT_FALSE(node[0].begin_sorting(place)); // the same once more
    }
}

TEST(IncomingCells, WhatIsForNobodyNeedNotBeTaken) {
    Node<IncomingCells> node(1, IncomingCells(1, 1, 1, cell_bytes));
    const Bytes landed = container_for({}, 1, 1);
    std::memcpy(node[0].memory({0, 0}).data(), landed.data(), landed.size());
    ASSERT_TRUE(node[0].begin_sorting({0, 0}));
    EXPECT_FALSE(node[0].is_empty({0, 0}));
    node[0].sorted({0, 0}, 0);
    EXPECT_TRUE(node[0].is_empty({0, 0}));
}

TEST(IncomingCells, MemoryOfEachCellIsItsOwn) {
    const IncomingCells layout(3, 3, 2, cell_bytes);
    Node<IncomingCells> node(1, layout);
    std::vector<const std::byte*> begins;
    const std::byte* const first = node[0].memory({0, 0}).data();
    for (int sender = 0; sender < 3; ++sender) {
        for (uint32_t cell = 0; cell < IncomingCells::cells; ++cell) {
            const auto memory = node[0].memory({sender, cell});
            EXPECT_EQ(memory.size(), cell_bytes);
            EXPECT_EQ((memory.data() - first) % 64, 0);
            std::memset(memory.data(), 0xff, memory.size());
            begins.push_back(memory.data());
        }
    }
    std::sort(begins.begin(), begins.end());
    for (size_t i = 1; i < begins.size(); ++i) { EXPECT_GE(begins[i] - begins[i - 1], cell_bytes); }
    EXPECT_EQ(node[0].granted(), 0);
    EXPECT_EQ(node[0].owed(2), 0U);
    EXPECT_FALSE(node[0].begin_sorting({0, 0}));
    EXPECT_TRUE(node[0].items({0, 0}, 1).empty());
    for (const int sender : {2, 0, 1}) {
        node[0].grant(sender);
        node[0].owe(sender, 3);
    }
    EXPECT_EQ(node[0].granted(), 3);
    for (const int sender : {0, 1, 2}) {
        EXPECT_EQ(node[0].granted((sender + 1) % 3), sender);
        EXPECT_EQ(node[0].owed(sender), 8U);
    }
    EXPECT_EQ(node[0].memory({0, 0})[0], std::byte{0xff});
    EXPECT_FALSE(node[0].is_empty({0, 0}));
}

TEST(IncomingCells, OwedCellsAreTakenOnce) {
    Node<IncomingCells> node(2, IncomingCells(2, 2, 2, cell_bytes));
    EXPECT_EQ(node[0].take_owed(1), 0U);
    node[0].owe(1, 0);
    node[1].owe(1, 3);
    EXPECT_EQ(node[0].owed(0), 0U);
    EXPECT_EQ(node[0].owed(1), 9U);
    EXPECT_EQ(node[1].take_owed(1), 9U);
    EXPECT_EQ(node[0].owed(1), 0U);
    EXPECT_EQ(node[0].take_owed(1), 0U);
}

/// One rank owes cells as soon as their sender was told of the last time; all of them tell it.
TEST(IncomingCells, OwedCellsAreTakenOnceByManyRanks) {
    constexpr int ranks = 3;
    constexpr int times = 4000;
    Node<IncomingCells> node(ranks, IncomingCells(1, 1, ranks, 64));
    std::atomic<int> told[IncomingCells::cells] = {};
    std::atomic<bool> is_over{false};
    const double deadline = now() + 60;
    const auto tell = [&](int rank) {
        const uint32_t owed = node[rank].take_owed(0);
        for (uint32_t cell = 0; cell < IncomingCells::cells; ++cell) {
            if ((owed >> cell & 1U) != 0) { ++told[cell]; }
        }
        if (owed == 0) { sched_yield(); }
    };
    side_by_side(ranks, [&](int rank) {
        while (rank > 0 && !is_over) { tell(rank); }
        for (int i = 0; rank == 0 && i < times; ++i) {
            for (uint32_t cell = 0; cell < IncomingCells::cells; ++cell) {
                while (told[cell] < i && now() < deadline) { tell(rank); }
                node[rank].owe(0, cell);
            }
        }
        is_over = is_over || rank == 0;
    });
    tell(0);
    for (const auto& count : told) { EXPECT_EQ(count, times); }
}

TEST(IncomingCells, NoMoreAreGrantedThanThereAreSlots) {
    Node<IncomingCells> node(2, IncomingCells(10, 2, 2, cell_bytes));
    EXPECT_EQ(node[0].grant(7), 0);
    EXPECT_EQ(node[1].grant(3), 1);
    EXPECT_EQ(node[0].grant(9), std::nullopt);
    EXPECT_EQ(node[0].granted(), 2);
    EXPECT_EQ(node[0].granted(0), 7);
    EXPECT_EQ(node[0].granted(1), 3);
    node[0].owe(9, 1); // of a sender, granted or not
    EXPECT_EQ(node[1].take_owed(9), 2U);
}

TEST(IncomingCells, KeepersListEachSenderOnce) {
    constexpr int keepers = 3;
    constexpr int senders = 300;
    for (int round = 0; round < 20; ++round) {
        Node<IncomingCells> node(keepers + 1, IncomingCells(senders, senders, 1, 64));
        std::atomic<int> ready{0};
        std::vector<int> listed; // as they are seen, one after the other
        side_by_side(keepers + 1, [&](int rank) {
            for (++ready; ready < keepers; sched_yield()) {}
            for (int sender = rank; rank < keepers && sender < senders; sender += keepers) {
                node[rank].grant(sender);
            }
            const double deadline = now() + 60;
            while (rank == keepers && listed.size() < senders && now() < deadline) {
                const int count = node[rank].granted();
                for (int i = static_cast<int>(listed.size()); i < count; ++i) {
                    listed.push_back(node[rank].granted(i));
                }
            }
        });
        ASSERT_EQ(node[0].granted(), senders);
        ASSERT_EQ(listed.size(), static_cast<size_t>(senders));
        std::sort(listed.begin(), listed.end());
        for (int i = 0; i < senders; ++i) { EXPECT_EQ(listed[static_cast<size_t>(i)], i); }
    }
}

/// Containers come in pieces; their sender is told before it sends the next.
class ManyContainers {
  public:
    void run() {
        side_by_side(ranks, [this](int rank) { run(rank); });
        ASSERT_EQ(wrong_, 0);
        for (int id = 0; id < containers; ++id) {
            const auto& its = at(id);
            ASSERT_EQ(its.sorted, 1) << id;
            ASSERT_EQ(its.told, 1) << id;
            for (uint32_t rank = 0; rank < ranks; ++rank) {
                ASSERT_EQ(its.taken[rank], is_for(rank, id) ? 1 : 0) << id;
            }
        }
    }

  private:
    static constexpr int ranks = 4;
    static constexpr int senders = 3;
    static constexpr int generations = 40;
    static constexpr int cells = senders * static_cast<int>(IncomingCells::cells);
    static constexpr int containers = cells * generations;
    struct Container {
        std::atomic<int> sorted{0};
        std::atomic<int> told{0};
        std::atomic<int> taken[ranks] = {};
    };
    struct Arriving {
        int generation = 0;
        size_t next = 0;
        Bytes bytes;
    };

    static bool is_for(uint32_t rank, int id) {
        return (static_cast<uint32_t>(id) * 2654435761U >> (rank + 20) & 1) != 0;
    }
    static Place place_of(int cell) {
        const auto number = static_cast<uint32_t>(cell);
        return {cell / static_cast<int>(IncomingCells::cells), number % IncomingCells::cells};
    }
    Container& at(int id) { return containers_[static_cast<size_t>(id)]; }

    void run(int rank) {
        IncomingCells& incoming = node_[rank];
        std::mt19937_64 random(static_cast<uint64_t>(rank));
        std::vector<Arriving> arriving(cells);
        while (over_ < containers && wrong_ == 0 && now() < deadline_) {
            for (int cell = 0; cell < cells; ++cell) {
                if (place_of(cell).slot % ranks == rank) {
                    keep(incoming, cell, arriving[static_cast<size_t>(cell)], random());
                }
                look(incoming, cell, rank);
            }
            if (random() % 4 == 0) { tell(incoming, static_cast<int>(random() % senders)); }
            sched_yield();
        }
    }
    void keep(IncomingCells& incoming, int cell, Arriving& its, uint64_t number) {
        const Place place = place_of(cell);
        const int last = its.generation * cells + cell - cells;
        if (its.next < its.bytes.size()) {
            const size_t bytes = std::min(number % 200, its.bytes.size() - its.next);
            std::memcpy(incoming.memory(place).data() + its.next, &its.bytes[its.next], bytes);
            its.next += bytes;
        } else if (incoming.is_empty(place)) {
            for (uint32_t rank = 0; rank < ranks; ++rank) {
                wrong_ += at(last).taken[rank] == (is_for(rank, last) ? 1 : 0) ? 0 : 1;
            }
            incoming.next(place);
            incoming.owe(place.slot, place.cell);
        } else if (its.generation < generations && (last < 0 || at(last).told > 0)) {
            const int id = last + cells;
            std::vector<uint32_t> receivers;
            for (uint32_t rank = 0; rank < ranks; ++rank) {
                if (is_for(rank, id)) { receivers.insert(receivers.end(), 2, rank); }
            }
            ++its.generation;
            its.next = 0;
            its.bytes = container_for(receivers, static_cast<uint64_t>(id),
                                      static_cast<uint64_t>(its.generation));
        }
    }
    void look(IncomingCells& incoming, int cell, int rank) {
        const Place place = place_of(cell);
        if (incoming.begin_sorting(place)) {
            const auto credits = container::credits_of(incoming.memory(place));
            const auto id = static_cast<int>(credits.front().rank);
            wrong_ += id % cells == cell ? 0 : 1;
            ++at(id).sorted;
            incoming.sorted(place, 0);
        }
        const auto items = incoming.claim(place, rank, incoming.items(place, rank).size());
        if (items.empty()) { return; }
        const Names names = names_in(items);
        if (names.size() != 2 || names[0] != names[1]) {
            ++wrong_;
        } else {
            ++at(static_cast<int>(names[0])).taken[rank];
        }
        incoming.taken(place, rank);
    }
    void tell(IncomingCells& incoming, int sender) {
        const uint32_t owed = incoming.take_owed(sender);
        for (int cell = 0; cell < cells; ++cell) {
            const Place place = place_of(cell);
            if (place.slot != sender || (owed >> place.cell & 1U) == 0) { continue; }
            const int generation = told_[cell].fetch_add(1);
            if (generation < generations) { ++at(generation * cells + cell).told; }
            ++over_;
        }
    }

    Node<IncomingCells> node_{ranks, IncomingCells(senders, senders, ranks, cell_bytes)};
    std::vector<Container> containers_ = std::vector<Container>(containers);
    std::atomic<int> told_[cells] = {};
    std::atomic<int> over_{0};
    const double deadline_ = now() + 60;
    std::atomic<int> wrong_{0};
};

TEST(IncomingCells, ManyContainersAreTakenOnceByEachRank) { ManyContainers().run(); }

} // namespace

} // namespace nodeaware::test
