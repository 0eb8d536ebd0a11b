#include "runtime/mpi/tags.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace nodeaware::test {

namespace {

TEST(Tags, ContextsShareNoTag) {
    for (const int upper_bound : {(1 << 28) - 1, std::numeric_limits<int>::max(), 1 << 20}) {
        for (const int tags : {3, 17, 1001}) {
            int64_t end = tags::first_nonblocking;
            int fewest = std::numeric_limits<int>::max();
            for (int number = 0; number < 5000; ++number) {
                const auto range = tags::range_of_context(number, tags, upper_bound);
                if (!range) { break; }
                EXPECT_GE(range->first, end);
                end = range->first + int64_t{range->operations} * tags;
                EXPECT_LE(end, int64_t{upper_bound} + 1);
                fewest = std::min(fewest, range->operations);
            }
            EXPECT_GE(fewest, 64);
        }
    }
}

TEST(Tags, LanesOfAContextShareNoTag) {
    constexpr int tags = 17;
    for (const int lanes : {0, 1, 4, 32}) {
        for (const int operations : {64 * 65, 5000, 1000000}) {
            const tags::Range whole{40000, operations};
            int end = whole.first;
            for (int lane = 0; lane <= lanes; ++lane) {
                const tags::Range range = tags::range_of_lane(whole, lane, lanes, tags);
                EXPECT_GE(range.first, end);
                EXPECT_EQ((range.first - whole.first) % tags, 0);
                EXPECT_GE(range.operations, operations / 2 / std::max(lanes, 1));
                end = range.first + range.operations * tags;
            }
            EXPECT_LE(end, whole.first + whole.operations * tags);
        }
    }
}

TEST(Tags, FirstContextsHaveMany) {
    const int upper_bound = (1 << 28) - 1; // MPICH
    EXPECT_GT(tags::range_of_context(0, 101, upper_bound)->operations, 500000);
    EXPECT_GT(tags::range_of_context(9, 101, upper_bound)->operations, 10000);
    EXPECT_TRUE(tags::range_of_context(2000, 101, upper_bound));
}

TEST(Tags, NoneAreLeftInTheEnd) {
    EXPECT_FALSE(tags::range_of_context(0, 3, 32767)); // all that the standard promises
    EXPECT_FALSE(tags::range_of_context(100000, 101, (1 << 28) - 1));
}

} // namespace

} // namespace nodeaware::test
