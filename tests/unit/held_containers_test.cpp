// Containers that are held for ranks which wait for something earlier.

#include "runtime/mailboxes/node_mates.hpp"
#include "runtime/mailboxes/outgoing_cells.hpp"
#include "runtime/memory/shared_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace nodeaware {

namespace {

bool anybody(int /*rank*/) { return true; }

TEST(HeldContainers, WaitForRanksThatWaitSinceBefore) {
    NodeMates mates(2);
    const SharedMemory memory = SharedMemory::create_alone(mates.memory_bytes());
    mates.attach(memory.data());
    for (int rank = 0; rank < 2; ++rank) { mates.takes_part(rank, 1); }
    mates.begin_waiting(0, 1);
    mates.begin_waiting(1, 3);
    EXPECT_TRUE(mates.all_wait(2)); // since rank 0 waits, though not for this one
    EXPECT_TRUE(mates.is_held_up(2, anybody));
    EXPECT_FALSE(mates.is_held_up(2, [](int rank) { return rank == 1; }));
    mates.end_waiting(0);
    EXPECT_FALSE(mates.all_wait(2)); // it may be about to put something in
    EXPECT_FALSE(mates.is_held_up(2, anybody));
    mates.begin_waiting(0, 4);
    EXPECT_TRUE(mates.all_wait(2));
    EXPECT_FALSE(mates.is_held_up(2, anybody));
    mates.end_waiting(0); // has waited since
    EXPECT_TRUE(mates.all_wait(2));
}

TEST(HeldContainers, WhoTakesNoPartHoldsNobodyUp) {
    NodeMates mates(1);
    const SharedMemory memory = SharedMemory::create_alone(mates.memory_bytes());
    mates.attach(memory.data());
    mates.begin_waiting(0, 1);
    EXPECT_FALSE(mates.is_held_up(2, anybody));
}

class HeldCells : public testing::Test {
  protected:
    HeldCells() : memory_(SharedMemory::create_alone(cells.memory_bytes())) {
        cells.attach(memory_.data());
        cells.initialize();
    }
    void put(uint64_t signature) {
        std::optional<uint32_t> full;
        const auto place = cells.reserve(0, 8, {1, 2}, &full);
        ASSERT_TRUE(place);
        cells.commit(*place, signature);
    }
    void close() {
        const uint32_t generation = cells.collecting(0).value();
        EXPECT_TRUE(cells.close(0, generation));
        cells.release(0, generation);
    }
    bool hold() { return cells.hold(0, cells.collecting(0).value()); }
    /// Containers that are not held until one is.
    int closings_until_held() {
        int closings = 0;
        for (; closings < 1 << 20; ++closings) {
            put(5);
            const bool is_held = hold();
            close();
            if (is_held) { break; }
        }
        return closings;
    }
    void hold_in_vain() {
        put(5);
        hold();
        close();
        cells.held_in_vain(0);
    }

    OutgoingCells cells{1, 1024};

  private:
    SharedMemory memory_;
};

TEST_F(HeldCells, AreHeldEverMoreSeldomInVain) {
    int before = closings_until_held();
    EXPECT_EQ(before, 0);
    for (int i = 0; i < 5; ++i) {
        hold_in_vain();
        const int closings = closings_until_held();
        EXPECT_GT(closings, before);
        before = closings;
    }
    for (int i = 0; i < 20; ++i) { hold_in_vain(); }
    EXPECT_LE(closings_until_held(), 4096);
}

TEST_F(HeldCells, AreHeldAgainWhereMoreHasCome) {
    for (int i = 0; i < 5; ++i) { hold_in_vain(); }
    const int before = closings_until_held();
    put(5);
    EXPECT_TRUE(hold());
    put(6);
    EXPECT_TRUE(hold()); // once it is, it stays so
    close();
    hold_in_vain();
    EXPECT_LT(closings_until_held(), before);
}

TEST_F(HeldCells, AreNotHeldIfTheyAreKnown) {
    for (int i = 0; i < 2; ++i) {
        put(5);
        cells.learn(0, cells.collecting(0).value());
        close();
    }
    int held = 0;
    for (int i = 0; i < 2000; ++i) {
        put(5);
        held += hold() ? 1 : 0;
        close();
    }
    EXPECT_GT(held, 0); // for they may have become less than all
    EXPECT_LT(held, 800);
}

TEST_F(HeldCells, AwaitOthersUntilTheyAreEmptied) {
    std::optional<uint32_t> full;
    const auto place = cells.reserve(0, 8, {1, 2}, &full);
    ASSERT_TRUE(place);
    cells.await_others(*place);
    cells.commit(*place, 5);
    EXPECT_TRUE(cells.awaits_others(0, place->generation));
    close();
    EXPECT_FALSE(cells.awaits_others(0, place->generation));
    put(5);
    EXPECT_FALSE(cells.awaits_others(0, cells.collecting(0).value()));
}

TEST_F(HeldCells, AreLonelyIfOneMessageAtATimeAwaitsOthersInVain) {
    const auto collect = [&](bool awaits, uint64_t messages) {
        std::optional<uint32_t> full;
        const auto place = cells.reserve(0, 8, {1, 2}, &full);
        ASSERT_TRUE(place);
        if (awaits) { cells.await_others(*place); }
        cells.commit(*place, 5);
        cells.note_messages(0, place->generation, messages);
        close();
    };
    for (int i = 0; i < 20; ++i) { collect(false, 1); } // which was not to be gathered
    EXPECT_FALSE(cells.is_lonely(0));
    for (int i = 0; i < 20; ++i) { collect(true, 1); }
    EXPECT_TRUE(cells.is_lonely(0));
    collect(true, 2);
    EXPECT_FALSE(cells.is_lonely(0));
}

} // namespace

} // namespace nodeaware
