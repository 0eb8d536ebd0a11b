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
