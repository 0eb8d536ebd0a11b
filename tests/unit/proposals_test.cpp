#include "runtime/mailboxes/proposals.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace nodeaware {
namespace {

using Answer = Proposals::Answer;

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
    /// Asks as often as it may, up to `most`, each time for another connection, and is always told
    /// the same.
    uint64_t ask(Answer told, bool expects_no = false, uint64_t most = 100000) {
        uint64_t asked = 0;
        for (; asked < most && rank->may_ask(expects_no); ++asked) {
            Answer of_connection = Answer::none;
            rank->asked();
            rank->answered(told, of_connection);
        }
        return asked;
    }

    Proposals all{ranks};
    std::optional<Proposals::Share> rank;

  private:
    struct alignas(64) Line {
        std::byte bytes[64] = {};
    };
    std::vector<Line> memory_;
};

TEST_F(ProposalsTest, WhoIsAcceptedAsksAll) {
    EXPECT_EQ(ask(Answer::accepted, false, 1000), 1000u);
    EXPECT_FALSE(rank->are_mostly_declined());
}

TEST_F(ProposalsTest, BeforeAnAnswerAFewAreAsked) {
    std::vector<Answer> connections;
    const auto ask_all = [&] {
        for (; rank->may_ask(false); connections.push_back(Answer::none)) { rank->asked(); }
    };
    ask_all();
    EXPECT_EQ(connections.size(), few);
    EXPECT_FALSE(rank->are_mostly_declined());
    for (Answer& connection : connections) { rank->answered(Answer::accepted, connection); }
    ask_all();
    EXPECT_EQ(connections.size(), 3 * few) << "as many, and as many more";
}

TEST_F(ProposalsTest, WhatIsDeclinedIsAskedEverMoreSeldom) {
    EXPECT_EQ(ask(Answer::declined), few);
    EXPECT_TRUE(rank->are_mostly_declined());
    uint64_t sent = 0;
    uint64_t asked = few;
    for (int i = 0; i < 20; ++i) {
        send(10000);
        sent += 10000;
        asked += ask(Answer::declined);
        EXPECT_LE(2 * (asked - few), sent / 100);
    }
    EXPECT_GT(asked, few + 40);  // it may be otherwise by now
    EXPECT_LE(asked, few + 100); // by the hundredth 1000
}

TEST_F(ProposalsTest, WhoExpectsToBeDeclinedBeginsLate) {
    EXPECT_EQ(ask(Answer::declined, true), 0u);
    send(1999); // two messages of a proposal are more than a thousandth
    EXPECT_EQ(ask(Answer::declined, true), 0u);
    send(6001);
    EXPECT_EQ(ask(Answer::declined, true), 4u);
    EXPECT_GE(ask(Answer::declined, false), few) << "others ask as before";
}

TEST_F(ProposalsTest, OneThatIsAcceptedLetsTheNextBeAsked) {
    ask(Answer::declined);
    send(2000);
    ask(Answer::declined);
    ASSERT_FALSE(rank->may_ask(false));
    send(200);
    EXPECT_EQ(ask(Answer::accepted, false, 50), 50u) << "it has begun to receive in another way";
    EXPECT_FALSE(rank->are_mostly_declined());
}

TEST_F(ProposalsTest, WhoDeclinesAgainCountsOnce) {
    ask(Answer::accepted, false, 4);
    Answer listener = Answer::none;
    for (int i = 0; i < 1000; ++i) {
        rank->asked();
        rank->answered(Answer::declined, listener);
    }
    EXPECT_FALSE(rank->are_mostly_declined());
}

TEST_F(ProposalsTest, ConnectionsThatComeAndGoMayAlwaysCome) {
    std::vector<Answer> connections(48, Answer::none);
    for (int comparison = 0; comparison < 100; ++comparison) {
        for (Answer& connection : connections) {
            ASSERT_TRUE(rank->may_ask(false)) << comparison;
            rank->asked();
            rank->answered(Answer::accepted, connection);
        }
    }
}

TEST_F(ProposalsTest, ConnectionsMayChangeTheirMind) {
    std::vector<Answer> connections(2 * few, Answer::none);
    for (const Answer told : {Answer::declined, Answer::accepted, Answer::declined}) {
        for (Answer& connection : connections) { rank->answered(told, connection); }
        EXPECT_EQ(rank->are_mostly_declined(), told == Answer::declined);
    }
}

TEST_F(ProposalsTest, RanksOfANodeCountTogether) {
    const Proposals::Share other(all, name);
    ask(Answer::declined);
    EXPECT_FALSE(other.may_ask(false));
    EXPECT_TRUE(other.are_mostly_declined());
}

TEST_F(ProposalsTest, CommunicatorsCountApart) {
    ask(Answer::declined);
    uint64_t others = 0;
    for (uint64_t other = 1; other <= 64; ++other) {
        others += Proposals::Share(all, other).may_ask(false) ? 1 : 0;
    }
    EXPECT_GT(others, 48u); // those of another hash
}

TEST_F(ProposalsTest, WhatACommunicatorHasCountedGoesWithIt) {
    const Proposals::Share next(all, name);
    ask(Answer::declined);
    send(10000);
    ask(Answer::declined);
    ASSERT_FALSE(next.may_ask(false));
    rank.reset();
    EXPECT_TRUE(next.may_ask(false));
    EXPECT_FALSE(next.are_mostly_declined());
}

} // namespace
} // namespace nodeaware
