// Containers that are held for ranks which wait for something earlier.

#include "runtime/mailboxes/expected_traffic.hpp"
#include "runtime/mailboxes/known_containers.hpp"
#include "runtime/mailboxes/node_mates.hpp"
#include "runtime/mailboxes/outgoing_cells.hpp"
#include "runtime/memory/shared_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace nodeaware {

namespace {

bool anybody(int /*rank*/) { return true; }

TEST(HeldContainers, WaitForThoseWhoTakePart) {
    NodeMates mates(2);
    const SharedMemory memory = SharedMemory::create_alone(mates.memory_bytes());
    mates.attach(memory.data());
    mates.begin_waiting(0, 1);
    EXPECT_FALSE(mates.is_held_up(anybody));
    mates.takes_part(1, 1);
    EXPECT_TRUE(mates.is_held_up(anybody));
    EXPECT_FALSE(mates.is_held_up([](int rank) { return rank == 0; }));
    mates.closed(2); // rank 1 was late, and is excused from the next time on
    mates.closed(2);
    mates.begin_waiting(1, 3);
    for (int i = 0; i < 4; ++i) { mates.closed({}); } // in time
    EXPECT_TRUE(mates.is_held_up(anybody));
}

TEST(HeldContainers, TheShortestRoundTripCounts) {
    NodeMates mates(2);
    const SharedMemory memory = SharedMemory::create_alone(mates.memory_bytes());
    mates.attach(memory.data());
    EXPECT_EQ(mates.round_trip(), 0); // not known
    mates.note_round_trip(2);
    mates.note_round_trip(3);
    EXPECT_EQ(mates.round_trip(), 2);
    mates.note_round_trip(1);
    EXPECT_EQ(mates.round_trip(), 1);
}

TEST(HeldContainers, MessagesLeaveOneAfterTheOther) {
    NodeMates mates(2);
    const SharedMemory memory = SharedMemory::create_alone(mates.memory_bytes());
    mates.attach(memory.data());
    mates.note_sent(1);
    EXPECT_FALSE(mates.sends(1)); // not known how long that takes
    mates.note_round_trip(2);
    for (int i = 0; i < 3; ++i) { mates.note_sent(10); }
    EXPECT_TRUE(mates.sends(12.9));
    EXPECT_FALSE(mates.sends(13));
    mates.note_sent(20); // nothing was left
    EXPECT_TRUE(mates.sends(20.9));
    EXPECT_FALSE(mates.sends(21));
    for (int i = 0; i < 1000; ++i) { mates.note_sent(30); } // networks may be faster than that
    EXPECT_TRUE(mates.sends(50));
    EXPECT_FALSE(mates.sends(100));
}

TEST(HeldContainers, WhoHasJustReceivedSomethingGoesOn) {
    NodeMates mates(2);
    const SharedMemory memory = SharedMemory::create_alone(mates.memory_bytes());
    mates.attach(memory.data());
    mates.note_round_trip(12);
    mates.begin_waiting(1, 100);
    EXPECT_FALSE(mates.goes_on(1, 100));
    mates.has_taken(1, 110);
    EXPECT_TRUE(mates.goes_on(1, 110.9));
    EXPECT_FALSE(mates.goes_on(1, 111.1)); // it waits for something else
    mates.end_waiting(1, 112);
    EXPECT_TRUE(mates.goes_on(1, 114.9));
    EXPECT_FALSE(mates.goes_on(1, 115.1));
    EXPECT_FALSE(mates.goes_on(0, 112));
}

TEST(HeldContainers, WhoHasTestedOnceMayNotLookAgain) {
    NodeMates mates(3);
    const SharedMemory memory = SharedMemory::create_alone(mates.memory_bytes());
    mates.attach(memory.data());
    EXPECT_FALSE(mates.anybody_looks());
    mates.begin_waiting(1, 1, false);
    EXPECT_TRUE(mates.waits(1));
    EXPECT_FALSE(mates.anybody_looks());
    mates.looks_again(1);
    EXPECT_TRUE(mates.anybody_looks());
    mates.end_waiting(1, 2);
    EXPECT_FALSE(mates.anybody_looks());
    mates.begin_waiting(2, 3);
    EXPECT_TRUE(mates.anybody_looks());
}

TEST(HeldContainers, WhoSendsByMpiOrHasPutSomethingInIsNotMissing) {
    ExpectedTraffic expected(2, 2);
    const SharedMemory memory = SharedMemory::create_alone(expected.memory_bytes());
    expected.attach(memory.data());
    expected.set(1, 0, {3, 24});
    EXPECT_FALSE(expected.is_missing(1, 0, 0));
    expected.connect(1, 0, 1);
    EXPECT_TRUE(expected.is_missing(1, 0, 0));
    EXPECT_FALSE(expected.is_missing(0, 0, 0));
    EXPECT_FALSE(expected.is_missing(1, 1, 0));
    EXPECT_TRUE(expected.is_anybody_missing(1, 0));
    EXPECT_FALSE(expected.is_anybody_missing(0, 0));
    EXPECT_TRUE(expected.put(1, 0, 0));
    EXPECT_FALSE(expected.put(1, 0, 0)); // not the first
    EXPECT_FALSE(expected.is_missing(1, 0, 0));
    EXPECT_FALSE(expected.is_anybody_missing(1, 0));
    EXPECT_TRUE(expected.is_missing(1, 0, 1));
    expected.connect(1, 0, -1);
    EXPECT_FALSE(expected.is_missing(1, 0, 1));
}

TEST(ExpectedTraffic, TellsHowManyMessagesWouldTravelTogether) {
    ExpectedTraffic expected(2, 2);
    const SharedMemory memory = SharedMemory::create_alone(expected.memory_bytes());
    expected.attach(memory.data());
    EXPECT_EQ(expected.saved_share(), 0);
    for (int i = 1; i <= 10; ++i) {
        for (int k = 0; k < 4; ++k) { expected.sent(0, i + 0.1 * k, 0.5); }
    }
    EXPECT_DOUBLE_EQ(expected.saved_share(), 0.75);
    for (int i = 11; i <= 5000; ++i) { expected.sent(1, i, 0.5); } // older ones count less
    EXPECT_LT(expected.saved_share(), 0.05);
}

TEST(KnownContainers, TwoSightingsAreEnough) {
    KnownContainers known;
    EXPECT_FALSE(known.knows(7));
    known.complete(7);
    EXPECT_FALSE(known.knows(7));
    known.complete(7);
    EXPECT_TRUE(known.knows(7));
    EXPECT_FALSE(known.knows(8));
    for (int i = 0; i < 3; ++i) { known.complete(0); }
    EXPECT_FALSE(known.knows(0));
}

TEST(KnownContainers, WhatIsMissedIsForgotten) {
    KnownContainers known;
    for (int i = 0; i < 5; ++i) {
        known.complete(7);
        known.complete(8);
    }
    known.missed(7);
    known.missed(9);
    EXPECT_FALSE(known.knows(7));
    EXPECT_TRUE(known.knows(8));
    known.complete(7);
    EXPECT_FALSE(known.knows(7));
    known.complete(7);
    EXPECT_TRUE(known.knows(7));
}

/// Late ones until it is forgotten.
int misses(KnownContainers& known, uint64_t signature) {
    int count = 0;
    for (; known.knows(signature) && count < 1 << 20; ++count) { known.missed(signature); }
    return count;
}

TEST(KnownContainers, WhatIsHeldInVainIsKnownForLonger) {
    KnownContainers known;
    int before = 0;
    for (int i = 0; i < 5; ++i) {
        known.in_vain(7);
        EXPECT_TRUE(known.knows(7));
        const int count = misses(known, 7);
        EXPECT_GT(count, before);
        before = count;
    }
    for (int i = 0; i < 40; ++i) { known.in_vain(7); }
    EXPECT_LE(misses(known, 7), 4096);
    known.grown(7);
    known.in_vain(7);
    EXPECT_LE(misses(known, 7), 2); // as if it had never been in vain
    known.in_vain(7);
    known.grown(7);
    EXPECT_FALSE(known.knows(7));
    known.grown(9);
    EXPECT_FALSE(known.knows(9));
}

TEST(KnownContainers, TheLastOfManyAreKept) {
    constexpr uint64_t last = 200;
    KnownContainers known;
    for (uint64_t signature = 1; signature <= last; ++signature) {
        for (int i = 0; i < 3; ++i) { known.complete(signature); }
    }
    for (uint64_t signature = 1; signature <= last; ++signature) {
        EXPECT_EQ(known.knows(signature), signature + 64 > last) << signature;
    }
    known.complete(1);
    EXPECT_FALSE(known.knows(1));
    EXPECT_FALSE(known.knows(last - 63));
    EXPECT_TRUE(known.knows(last - 62));
    known.complete(1);
    EXPECT_TRUE(known.knows(1));
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
        EXPECT_TRUE(cells.close(0, generation, 1));
        cells.release(0, generation);
    }
    bool hold() { return cells.hold(0, cells.collecting(0).value()); }
    /// Containers that are not held until one is, each of a new kind.
    int closings_until_held() {
        int closings = 0;
        for (; closings < 1 << 20; ++closings) {
            put(++kinds_);
            const bool is_held = hold();
            close();
            if (is_held) { break; }
        }
        return closings;
    }
    void hold_in_vain() {
        put(++kinds_);
        hold();
        cells.learn(0, cells.collecting(0).value(), true);
        close();
    }

    OutgoingCells cells{1, 1024};

  private:
    SharedMemory memory_;
    uint64_t kinds_ = 100;
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
        cells.learn(0, cells.collecting(0).value(), false);
        close();
    }
    for (int i = 0; i < 100; ++i) {
        put(5);
        EXPECT_FALSE(hold());
        close();
    }
    cells.missed(0);
    put(5);
    EXPECT_TRUE(hold());
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
