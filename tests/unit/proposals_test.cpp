#include "runtime/mailboxes/proposals.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace nodeaware {
namespace {

constexpr int ranks = 4;
constexpr uint64_t few = 2 * ranks;
constexpr uint64_t name = 77;

class ProposalsTest : public testing::Test {
  protected:
    ProposalsTest() : memory_(Proposals::memory_bytes() / sizeof(Line)) {
        all.attach(memory_.front().bytes);
        rank.emplace(all, name);
    }
    void send(uint64_t sent) {
        for (uint64_t i = 0; i < sent; ++i) { rank->sent(); }
    }
    /// Asks as often as it may, up to `most`, and is always told the same.
    uint64_t ask(bool is_accepted, bool expects_no = false, uint64_t most = 100000) {
        uint64_t asked = 0;
        for (; asked < most && rank->may_ask(expects_no); ++asked) {
            rank->asked();
            if (is_accepted) { rank->was_accepted(); }
        }
        return asked;
    }

  private:
    struct alignas(64) Line {
        std::byte bytes[64] = {};
    };
    std::vector<Line> memory_; // above what counts in it to the end

  protected:
    Proposals all{ranks};
    std::optional<Proposals::Share> rank;
};

TEST_F(ProposalsTest, WhoIsAcceptedAsksAll) { EXPECT_EQ(ask(true, false, 1000), 1000u); }

TEST_F(ProposalsTest, BeforeAnAnswerAFewAreAsked) {
    uint64_t asked = 0;
    const auto ask_all = [&] {
        for (; rank->may_ask(false); ++asked) { rank->asked(); }
    };
    ask_all();
    EXPECT_EQ(asked, few);
    for (uint64_t i = 0; i < few; ++i) { rank->was_accepted(); }
    ask_all();
    EXPECT_EQ(asked, 3 * few) << "as many, and as many more";
}

TEST_F(ProposalsTest, WhatIsDeclinedIsAskedEverMoreSeldom) {
    EXPECT_EQ(ask(false), few);
    uint64_t sent = 0;
    uint64_t asked = few;
    for (int i = 0; i < 20; ++i) {
        send(10000);
        sent += 10000;
        asked += ask(false);
        EXPECT_LE(2 * (asked - few), sent / 100);
    }
    EXPECT_GT(asked, few + 40);  // it may be otherwise by now
    EXPECT_LE(asked, few + 100); // by the hundredth 1000
}

TEST_F(ProposalsTest, WhoExpectsToBeDeclinedBeginsLate) {
    EXPECT_EQ(ask(false, true), 0u);
    send(1999); // two messages of a proposal are more than a thousandth
    EXPECT_EQ(ask(false, true), 0u);
    send(6001);
    EXPECT_EQ(ask(false, true), 4u);
    EXPECT_GE(ask(false, false), few) << "others ask as before";
}

TEST_F(ProposalsTest, OneThatIsAcceptedLetsTheNextBeAsked) {
    ask(false);
    send(2000);
    ask(false);
    ASSERT_FALSE(rank->may_ask(false));
    send(200);
    EXPECT_EQ(ask(true, false, 50), 50u) << "it has begun to receive in another way";
}

TEST_F(ProposalsTest, ConnectionsThatComeAndGoMayAlwaysCome) {
    EXPECT_EQ(ask(true, false, 4800), 4800u) << "48 connections, given back 100 times to compare";
}

TEST_F(ProposalsTest, RanksOfANodeCountTogether) {
    const Proposals::Share other(all, name);
    ask(false);
    EXPECT_FALSE(other.may_ask(false));
}

TEST_F(ProposalsTest, CommunicatorsCountApart) {
    ask(false);
    uint64_t others = 0;
    for (uint64_t other = 1; other <= 64; ++other) {
        others += Proposals::Share(all, other).may_ask(false) ? 1 : 0;
    }
    EXPECT_GT(others, 48u); // those of another hash
}

TEST_F(ProposalsTest, WhatACommunicatorHasCountedGoesWithIt) {
    const Proposals::Share next(all, name);
    ask(false);
    send(10000);
    ask(false);
    ASSERT_FALSE(next.may_ask(false));
    rank.reset();
    EXPECT_TRUE(next.may_ask(false));
}

} // namespace
} // namespace nodeaware
