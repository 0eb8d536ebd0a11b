#include "runtime/point_to_point/credits.hpp"
#include "runtime/point_to_point/payload_tags.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <set>

namespace nodeaware {

namespace {

constexpr int outermost = PayloadTags::outermost;
constexpr int served = PayloadTags::served;

TEST(PayloadTags, AreApart) {
    constexpr int largest = (1 << 28) - 1;
    std::set<int> all;
    for (int part = 0; part < PayloadTags::parts; ++part) {
        const PayloadTags tags(largest, part);
        for (const int from_end : {0, 1, outermost - 1, outermost, outermost + 1, served - 1}) {
            for (const int tag : {from_end, largest - from_end}) {
                const uint32_t window = tags.window(tag);
                ASSERT_EQ(window, from_end < outermost ? 4096U : 512U);
                for (const uint32_t number : {0U, 1U, window - 1}) {
                    const auto made = tags.of(tag, number);
                    ASSERT_TRUE(made);
                    EXPECT_GE(*made, 0);
                    EXPECT_LE(*made, largest);
                    EXPECT_TRUE(all.insert(*made).second);
                }
                EXPECT_EQ(tags.of(tag, 5), tags.of(tag, 5 + 3 * window));
            }
        }
        EXPECT_FALSE(tags.of(served, 0));
        EXPECT_FALSE(tags.of(largest - served, 0));
        EXPECT_FALSE(tags.of(-1, 0));
    }
}

TEST(PayloadTags, FitAnyMpi) {
    EXPECT_EQ(PayloadTags().window(0), 0U);
    EXPECT_EQ(PayloadTags(32767, 0).window(1), 0U);
    EXPECT_FALSE(PayloadTags(32767, 0).of(1, 1));
    constexpr int largest = std::numeric_limits<int>::max();
    const PayloadTags tags(largest, PayloadTags::parts - 1);
    for (const int tag : {largest, largest - served + 1}) {
        EXPECT_GE(tags.window(tag), 512U);
        EXPECT_GT(tags.of(tag, tags.window(tag) - 1).value(), 0);
    }
}

TEST(Credits, CopiesAreBounded) {
    Credits credits(
        {.tags = PayloadTags((1 << 24) - 1, 0), .channel_bytes = 1000, .total_bytes = 3000});
    const Channel one{1, 0};
    const auto send = [&](const Channel& channel, uint64_t bytes) {
        const Credits::Mark mark = credits.mark(channel, bytes);
        credits.note_sent(mark);
        return mark;
    };
    EXPECT_TRUE(credits.may_copy(one, 1000));
    EXPECT_FALSE(credits.may_copy(one, 1001));
    EXPECT_FALSE(send(one, 100).is_wanted);
    const Credits::Mark asked = send(one, 300);
    EXPECT_TRUE(asked.is_wanted); // more than a quarter
    EXPECT_FALSE(credits.may_copy(one, 700));
    send(one, 10);
    credits.note_matched(asked);
    EXPECT_EQ(credits.outstanding(), 10U);
    EXPECT_TRUE(credits.may_copy(one, 990));
    for (int tag = 1; tag < 4; ++tag) { send({1, tag}, 990); }
    EXPECT_FALSE(credits.may_copy({2, 0}, 100)); // of all channels together
    EXPECT_FALSE(credits.must_fit(100));
    EXPECT_TRUE(send({2, 0}, 1).is_wanted);               // whatever is left counts
    EXPECT_TRUE(Credits({}).must_fit(uint64_t{1} << 40)); // somehow it has to go
}

/// A sender that is told late, and a receiver that opens its receives: whatever they do, a payload
/// finds no receive but its own open.
TEST(Credits, PayloadsMeetTheirReceivesOnly) {
    constexpr int largest = (1 << 24) - 1;
    const PayloadTags tags(largest, 0);
    const Channel channel{3, 7};
    std::mt19937_64 random(1);
    for (int round = 0; round < 200; ++round) {
        Credits credits({.tags = tags});
        std::deque<Credits::Mark> on_the_way; // what the receiver has told
        std::deque<Credits::Mark> asked;
        uint32_t matched = 0;
        uint32_t straight = 0;
        for (int step = 0; step < 3000; ++step) {
            const uint32_t next = credits.next(channel);
            switch (random() % 4) {
            case 0:
            case 1: {
                if (credits.may_go_straight(channel)) {
                    ++straight;
                    const uint32_t first_open = matched;
                    const uint32_t last_open = matched + tags.window(7) / 2;
                    for (uint32_t open = first_open; open < last_open; ++open) {
                        ASSERT_TRUE(open == next || tags.of(7, open) != tags.of(7, next));
                    }
                }
                const Credits::Mark mark = credits.mark(channel, 0);
                if (mark.is_wanted) { asked.push_back(mark); }
                credits.note_sent(mark);
                break;
            }
            case 2:
                if (matched < next) { ++matched; }
                while (!asked.empty() && asked.front().number < matched) {
                    on_the_way.push_back(asked.front());
                    asked.pop_front();
                }
                break;
            default:
                if (!on_the_way.empty() && random() % 3 == 0) {
                    credits.note_matched(on_the_way.front());
                    on_the_way.pop_front();
                }
            }
        }
        EXPECT_GT(straight, 0U);
        // When everything is matched and told there is room again.
        for (const auto* list : {&on_the_way, &asked}) {
            for (const Credits::Mark& mark : *list) { credits.note_matched(mark); }
        }
        EXPECT_TRUE(credits.may_go_straight(channel));
    }
}

} // namespace

} // namespace nodeaware
