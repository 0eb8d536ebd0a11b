#include "runtime/mailboxes/proposals.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace nodeaware {
namespace {

constexpr int ranks = 4;
constexpr uint64_t few = 2 * ranks;
constexpr uint64_t name = 77;

class ProposalsTest : public testing::Test {
  protected:
    ProposalsTest() : memory_(Proposals::memory_bytes() / sizeof(Line)) {
        proposals.attach(memory_.front().bytes);
    }
    void send(uint64_t messages) {
        for (uint64_t i = 0; i < messages; ++i) { proposals.sent(name); }
    }
    /// Asks as often as it may, up to `most`, and is always told the same.
    uint64_t ask(bool is_accepted, bool likely = false, uint64_t most = 100000) {
        uint64_t asked = 0;
        for (; asked < most && proposals.may_ask(name, likely); ++asked) {
            proposals.asked(name);
            if (is_accepted) {
                proposals.accepted(name);
            } else {
                proposals.declined(name);
            }
        }
        return asked;
    }

    Proposals proposals{ranks};

  private:
    struct alignas(64) Line {
        std::byte bytes[64] = {};
    };
    std::vector<Line> memory_;
};

TEST_F(ProposalsTest, WhoIsAcceptedAsksAll) {
    EXPECT_EQ(ask(true, false, 1000), 1000u);
    EXPECT_FALSE(proposals.are_mostly_declined(name));
}

TEST_F(ProposalsTest, BeforeAnAnswerAFewAreAsked) {
    uint64_t asked = 0;
    for (; proposals.may_ask(name, false); ++asked) { proposals.asked(name); }
    EXPECT_EQ(asked, few);
    EXPECT_FALSE(proposals.are_mostly_declined(name));
    for (uint64_t i = 0; i < few; ++i) { proposals.accepted(name); } // as many, and as many more
    for (; proposals.may_ask(name, false); ++asked) { proposals.asked(name); }
    EXPECT_EQ(asked, 3 * few);
}

TEST_F(ProposalsTest, WhatIsDeclinedIsAskedEverMoreSeldom) {
    EXPECT_EQ(ask(false), few);
    EXPECT_TRUE(proposals.are_mostly_declined(name));
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
    ASSERT_FALSE(proposals.may_ask(name, false));
    send(200);
    EXPECT_EQ(ask(true, false, 50), 50u) << "a program has begun to receive in another way";
    EXPECT_FALSE(proposals.are_mostly_declined(name));
}

TEST_F(ProposalsTest, CommunicatorsCountApart) {
    ask(false);
    uint64_t others = 0;
    for (uint64_t other = 1; other <= 64; ++other) {
        others += proposals.may_ask(other, false) ? 1 : 0;
    }
    EXPECT_GT(others, 48u); // those of another hash
}

} // namespace
} // namespace nodeaware
