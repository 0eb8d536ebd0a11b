#include "runtime/mailboxes/outgoing_cells.hpp"
#include "tests/unit/mailbox_items.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <sched.h>
#include <set>
#include <vector>

namespace nodeaware::test {

namespace {

using container::Item;

constexpr uint32_t capacity = 1024;
constexpr uint32_t cells_of_node = OutgoingCells::cells;
using Names = std::vector<uint64_t>;
using Generation = std::optional<uint32_t>;

class OutgoingCellsTest : public testing::Test {
  protected:
    OutgoingCellsTest() { cells.initialize(); }

    /// The generation that took it.
    Generation put(int rank, int to, uint64_t name, uint32_t bytes, uint64_t signature = 0) {
        const auto place =
            node[rank].reserve(to, static_cast<uint32_t>(container::size_of_item(bytes)),
                               {static_cast<double>(name), 2.0 * static_cast<double>(name)}, &full);
        if (!place) { return std::nullopt; }
        write(node[rank].at(*place), {name, 0, bytes});
        node[rank].commit(*place, signature);
        return place->generation;
    }
    void keep_next(double seconds) {
        const Generation generation = put(0, 0, 1, 8);
        ASSERT_TRUE(generation && cells.close(0, *generation, 1));
        cells.keep(0, *generation, seconds);
    }
    /// Whether a container with these signatures is known.
    bool is_known(const std::vector<uint64_t>& signatures, bool is_complete) {
        const Generation first = put(0, 0, 1, 8, signatures.front());
        for (size_t i = 1; i < signatures.size(); ++i) { put(1, 0, 1, 8, signatures[i]); }
        const bool is_known = cells.is_known(0, *first);
        if (is_complete) { cells.learn(0, *first, false); }
        EXPECT_TRUE(cells.close(0, *first, 1));
        cells.release(0, *first);
        return is_known;
    }

    Node<OutgoingCells> node{2, OutgoingCells(2, capacity)};
    OutgoingCells& cells = node[0];
    Generation full;
};

TEST_F(OutgoingCellsTest, MessagesOfAllRanksLeaveTogether) {
    EXPECT_FALSE(cells.collecting(0));
    const Generation first = put(0, 0, 5, 20);
    ASSERT_TRUE(first);
    EXPECT_EQ(put(1, 0, 3, 0), first);
    EXPECT_EQ(put(0, 0, 4, 100), first);
    ASSERT_TRUE(put(1, 1, 9, 8));
    OutgoingCells& other = node[1];
    EXPECT_EQ(other.collecting(0), first);
    EXPECT_TRUE(other.has_to_leave(0, *first));
    EXPECT_EQ(other.times(0, *first).now, 3);
    EXPECT_EQ(other.times(0, *first).leaves_at, 6);
    EXPECT_FALSE(other.close(0, *first + 1, 1));
    EXPECT_TRUE(other.close(0, *first, 1));
    EXPECT_FALSE(cells.close(0, *first, 1));
    EXPECT_FALSE(cells.collecting(0));
    EXPECT_EQ(names_in(other.content(0, *first)), (Names{5, 3, 4}));
    const Generation second = put(0, 0, 6, 8);
    EXPECT_EQ(second, *first + 1);
    EXPECT_EQ(names_in(other.content(0, *first)), (Names{5, 3, 4}));
    EXPECT_EQ(names_in(cells.content(0, *second)), (Names{6}));
    EXPECT_EQ(names_in(cells.content(1, *cells.collecting(1))), (Names{9}));
}

TEST_F(OutgoingCellsTest, ACellForgetsItsLastContainer) {
    for (uint64_t name = 1; name < 20; ++name) {
        const uint32_t generation = put(0, 0, name, 8, name).value();
        EXPECT_EQ(cells.times(0, generation).now, name);
        EXPECT_EQ(cells.times(0, generation).leaves_at, 2 * name);
        EXPECT_EQ(names_in(cells.content(0, generation)), (Names{name}));
        ASSERT_TRUE(cells.close(0, generation, 1));
        cells.release(0, generation);
    }
}

TEST_F(OutgoingCellsTest, FullCellsAreReported) {
    EXPECT_FALSE(put(0, 0, 1, capacity - 8)); // fits in none
    EXPECT_FALSE(full);
    const uint32_t half = capacity / 2 - sizeof(Item);
    const Generation first = put(0, 0, 1, half);
    ASSERT_EQ(put(1, 0, 2, half), first);
    EXPECT_FALSE(full);
    EXPECT_FALSE(put(0, 0, 3, 0));
    EXPECT_EQ(full, first);
    ASSERT_TRUE(cells.close(0, *first, 1));
    EXPECT_EQ(names_in(cells.content(0, *first)), (Names{1, 2}));
    EXPECT_EQ(put(0, 0, 3, 0), *first + 1);
    EXPECT_FALSE(full);
}

TEST_F(OutgoingCellsTest, NothingIsReservedWhileAllAreTaken) {
    for (const bool looks : {true, false}) { // and takes note that they are taken
        for (uint32_t i = 0; i < 3 * cells_of_node; ++i) {
            std::vector<uint32_t> taken;
            for (uint32_t cell = 0; cell < cells_of_node; ++cell) {
                taken.push_back(put(0, 0, 1, 8).value());
                ASSERT_TRUE(cells.close(0, taken.back(), 1));
                if ((taken.back() + i) % 2 == 0) { cells.keep(0, taken.back(), 1); }
            }
            if (looks) {
                EXPECT_FALSE(put(1, 0, 2, 8));
                EXPECT_FALSE(full);
            }
            ASSERT_TRUE(put(1, 1, 2, 8)); // another node
            const uint32_t last = taken.back();
            std::rotate(taken.begin(), taken.begin() + i % cells_of_node, taken.end());
            Generation next;
            for (const uint32_t generation : taken) {
                if ((generation + i) % 2 == 0) {
                    cells.returned(0, OutgoingCells::cell_of(generation));
                } else {
                    cells.release(0, generation);
                }
                if (!looks) { continue; }
                const Generation collecting = put(1, 0, 2, 8); // in the first that is free
                if (!next) {
                    next = collecting;
                    ASSERT_TRUE(next && *next > last && *next <= last + cells_of_node);
                    EXPECT_EQ(OutgoingCells::cell_of(*next), OutgoingCells::cell_of(generation));
                }
                EXPECT_EQ(collecting, next);
            }
            if (!looks) { next = last + 1; }
            EXPECT_EQ(put(0, 0, 2, 8), next);
            ASSERT_TRUE(cells.close(0, *next, 1));
            cells.release(0, *next);
        }
    }
}

/// Of others a credit stays away for long.
TEST_F(OutgoingCellsTest, CellsThatAreNotFreeAreLeftOut) {
    for (uint32_t missing = 1; missing < cells_of_node; ++missing) {
        const Generation first = put(0, 0, 1, 8); // what is kept begins with another cell
        ASSERT_TRUE(first && cells.close(0, *first, 1));
        cells.release(0, *first);
        std::set<uint32_t> away;
        for (uint32_t i = 0; i < missing; ++i) {
            const Generation generation = put(0, 0, 1, 8);
            ASSERT_TRUE(generation && cells.close(0, *generation, 1));
            cells.keep(0, *generation, 1);
            away.insert(OutgoingCells::cell_of(*generation));
        }
        uint32_t last = *first + missing;
        std::set<uint32_t> used;
        for (uint64_t name = 1; name < uint64_t{5} * cells_of_node; ++name) {
            const Generation generation = put(0, 0, name, 8);
            ASSERT_TRUE(generation) << missing << " are kept, message " << name;
            EXPECT_GT(*generation, last);
            EXPECT_EQ(put(1, 0, name + 1, 8), generation);
            EXPECT_EQ(node[1].collecting(0), generation);
            used.insert(OutgoingCells::cell_of(*generation));
            ASSERT_TRUE(cells.close(0, *generation, 1));
            EXPECT_EQ(names_in(cells.content(0, *generation)), (Names{name, name + 1}));
            cells.release(0, *generation);
            last = *generation;
        }
        EXPECT_EQ(used.size(), cells_of_node - missing);
        for (const uint32_t cell : away) { EXPECT_EQ(used.count(cell), 0U); }
        for (const uint32_t cell : away) { cells.returned(0, cell); }
        used.clear();
        for (uint32_t i = 1; i <= cells_of_node; ++i) { // all are used again, in turn
            const Generation generation = put(0, 0, 1, 8);
            EXPECT_EQ(generation, last + i);
            ASSERT_TRUE(generation && cells.close(0, *generation, 1));
            cells.release(0, *generation);
        }
    }
}

TEST_F(OutgoingCellsTest, TheLastCellIsOneOfWhichNoneIsFreeNorLongUnderWay) {
    const auto is_last = [&](double seconds) {
        return cells.is_last(0, *cells.collecting(0), seconds);
    };
    for (uint32_t i = 1; i < cells_of_node; ++i) {
        const Generation collecting = put(0, 0, 1, 8);
        EXPECT_FALSE(is_last(0));
        EXPECT_TRUE(cells.close(0, *collecting, 1));
        cells.keep(0, *collecting, 10 + i);
    }
    const Generation last = put(0, 0, 1, 8);
    EXPECT_TRUE(is_last(11));
    EXPECT_FALSE(is_last(11.5)); // the first may not be back for long
    EXPECT_FALSE(cells.is_last(1, 0, 0));
    cells.returned(0, OutgoingCells::cell_of(*last + 1));
    EXPECT_FALSE(is_last(11));
}

TEST_F(OutgoingCellsTest, ANodeIsFullWhileAllOfItsCellsAreUnderWay) {
    for (uint32_t cell = 0; cell < cells_of_node; ++cell) {
        EXPECT_FALSE(cells.is_full_since(0, 0));
        keep_next(10 + cell);
    }
    EXPECT_TRUE(cells.is_full_since(0, 9 + cells_of_node));
    EXPECT_FALSE(cells.is_full_since(0, 10 + cells_of_node)); // nothing comes back
    EXPECT_FALSE(cells.is_full_since(1, 0));
    cells.returned(0, 0);
    EXPECT_FALSE(cells.is_full_since(0, 0));
    EXPECT_TRUE(put(0, 0, 2, 8));
    EXPECT_FALSE(cells.is_full_since(0, 0)); // there is room in that one
}

TEST_F(OutgoingCellsTest, WhatIsKeptForLongIsSentOnceMore) {
    keep_next(10);
    keep_next(20);
    EXPECT_FALSE(cells.kept_since(0, 10));
    EXPECT_FALSE(cells.kept_since(1, 11));
    EXPECT_EQ(cells.kept_since(0, 15), 0U);
    EXPECT_FALSE(cells.send_again(0, 4));
    EXPECT_TRUE(cells.send_again(0, 0));
    EXPECT_FALSE(node[1].send_again(0, 0));
    EXPECT_EQ(cells.kept_since(0, 25), 1U);
    EXPECT_EQ(names_in(cells.content(0, 0)), (Names{1}));
    cells.sent_again(0, 0);
    EXPECT_FALSE(cells.kept_since(0, 15));
    EXPECT_FALSE(cells.send_again(0, 0));
    keep_next(30);
    keep_next(30);
    EXPECT_FALSE(put(0, 0, 2, 8));
    cells.returned(0, 0);
    EXPECT_EQ(put(0, 0, 2, 8), 4U);
    EXPECT_FALSE(cells.send_again(0, 4));
}

TEST_F(OutgoingCellsTest, WhatIsSentOnceMoreStaysMeanwhile) {
    for (uint32_t cell = 0; cell < cells_of_node; ++cell) { keep_next(10); }
    ASSERT_TRUE(cells.send_again(0, 0));
    node[1].returned(0, 0);
    EXPECT_FALSE(put(1, 0, 2, 8));
    EXPECT_EQ(names_in(cells.content(0, 0)), (Names{1}));
    cells.sent_again(0, 0);
    EXPECT_EQ(put(1, 0, 2, 8), 4U);
    EXPECT_EQ(put(1, 0, 3, 8), 4U);
    EXPECT_EQ(names_in(cells.content(0, 4)), (Names{2, 3}));
}

TEST_F(OutgoingCellsTest, WhatCouldNotBeSentIsSentByWhoeverLooksNext) {
    for (const bool is_kept : {false, true}) {
        const uint32_t first = put(0, 0, 1, 8).value();
        ASSERT_EQ(put(1, 0, 2, 40), first);
        ASSERT_TRUE(cells.close(0, first, 1));
        EXPECT_FALSE(node[1].has_to_leave(0, first));
        if (is_kept) { cells.keep(0, first, 1); }
        cells.put_back(0, first);
        EXPECT_FALSE(node[1].collecting(0));
        const uint32_t second = put(0, 0, 3, 8).value(); // is not held up, nor mixed with it
        EXPECT_EQ(second, first + 1);
        EXPECT_TRUE(node[1].has_to_leave(0, first));
        EXPECT_FALSE(node[1].kept_since(0, 2));
        EXPECT_FALSE(node[1].not_sent(1));
        ASSERT_EQ(node[1].not_sent(0), first);
        ASSERT_TRUE(node[1].close(0, first, 1));
        EXPECT_FALSE(cells.close(0, first, 1));
        EXPECT_FALSE(cells.not_sent(0));
        EXPECT_EQ(names_in(node[1].content(0, first)), (Names{1, 2}));
        node[1].keep(0, first, 1);
        cells.returned(0, OutgoingCells::cell_of(first));
        EXPECT_EQ(names_in(cells.content(0, second)), (Names{3}));
        ASSERT_TRUE(cells.close(0, second, 1));
        cells.release(0, second);
        EXPECT_FALSE(cells.has_to_leave(0, first));
    }
}

TEST_F(OutgoingCellsTest, WhatOthersHaveSentOnceMoreNeedNotBeSent) {
    keep_next(1);
    ASSERT_TRUE(node[1].send_again(0, 0));
    node[1].sent_again(0, 0);
    cells.put_back(0, 0);
    EXPECT_FALSE(cells.not_sent(0));
    EXPECT_FALSE(cells.has_to_leave(0, 0));
    for (uint32_t generation = 1; generation <= cells_of_node; ++generation) {
        EXPECT_EQ(put(0, 0, 1, 8), generation);
        ASSERT_TRUE(cells.close(0, generation, 1));
    }
}

TEST_F(OutgoingCellsTest, WhatCouldNotBeSentOnceMoreIsTriedAgain) {
    keep_next(1);
    ASSERT_TRUE(cells.send_again(0, 0));
    cells.sent_again(0, 0, false);
    ASSERT_EQ(node[1].kept_since(0, 2), 0U);
    ASSERT_TRUE(node[1].send_again(0, 0));
    EXPECT_EQ(names_in(node[1].content(0, 0)), (Names{1}));
    cells.returned(0, 0);
    node[1].sent_again(0, 0, false); // nor need be
    EXPECT_FALSE(cells.kept_since(0, 2));
    for (uint32_t generation = 1; generation <= cells_of_node; ++generation) {
        EXPECT_EQ(put(0, 0, 1, 8), generation);
        ASSERT_TRUE(cells.close(0, generation, 1));
    }
}

TEST_F(OutgoingCellsTest, CompleteContainersAreLearned) {
    EXPECT_FALSE(is_known({5, 6}, true));
    EXPECT_FALSE(is_known({6, 5}, true));
    EXPECT_TRUE(is_known({5, 6}, false));
    EXPECT_TRUE(is_known({6, 5}, false));
    EXPECT_FALSE(is_known({5}, false));
    EXPECT_FALSE(is_known({5, 6, 1}, false));
    ASSERT_TRUE(put(0, 1, 1, 8, 11));
    EXPECT_FALSE(cells.is_known(1, 0)); // to the other node
}

TEST_F(OutgoingCellsTest, WhatHasLeftIsMissedOnce) {
    for (int i = 0; i < 2; ++i) { is_known({5}, true); }
    EXPECT_TRUE(is_known({5}, false));
    EXPECT_FALSE(cells.left_since(0, 2)); // it was closed at 1
    EXPECT_FALSE(cells.left_since(1, 0.5));
    const Generation left = cells.left_since(0, 0.5);
    ASSERT_TRUE(left);
    EXPECT_EQ(put(0, 0, 1, 8, 6), *left + 1);
    cells.missed(0);
    EXPECT_FALSE(cells.left_since(0, 0.5));
    ASSERT_TRUE(cells.close(0, *left + 1, 1));
    cells.release(0, *left + 1);
    EXPECT_FALSE(is_known({5}, false));
}

/// Returned by one rank while another finds that it was kept for too long.
TEST_F(OutgoingCellsTest, WhatIsSentOnceMoreIsReturnedOnce) {
    constexpr int containers = 30000;
    std::atomic<bool> is_over{false};
    std::atomic<int> broken{0};
    const auto keep_and_return = [&] {
        for (int i = 0; i < containers && broken == 0; ++i) {
            auto place = cells.reserve(0, container::size_of_item(24), {1, 2}, &full);
            for (; !place; place = cells.reserve(0, container::size_of_item(24), {1, 2}, &full)) {
                sched_yield();
            }
            write(cells.at(*place), {place->generation + 1, 0, 24});
            cells.commit(*place, 0);
            cells.close(0, place->generation, 1);
            cells.keep(0, place->generation, 1);
            cells.returned(0, OutgoingCells::cell_of(place->generation));
        }
        is_over = true;
    };
    const auto send_again = [&] {
        while (!is_over) {
            const auto generation = node[1].kept_since(0, 2);
            if (!generation || !node[1].send_again(0, *generation)) {
                sched_yield();
                continue;
            }
            const auto names = names_in(node[1].content(0, *generation));
            broken += names == std::vector<uint64_t>{*generation + 1} ? 0 : 1;
            node[1].sent_again(0, *generation);
        }
    };
    side_by_side(2, [&](int rank) { rank == 0 ? keep_and_return() : send_again(); });
    EXPECT_EQ(broken, 0);
}

} // namespace

} // namespace nodeaware::test
