// Lists for the kernel that are made once for all exchanges that have them.

#include "runtime/device/kept_lists.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace nodeaware::device {
namespace {

constexpr uint64_t target = uint64_t{1} << 40U;
constexpr uint64_t source = uint64_t{1} << 41U;
constexpr uint64_t apart = 100;

class KeptLists : public testing::Test {
  protected:
    ~KeptLists() override { forget_kept_lists(); }

    /// `runs` of these bytes, from these addresses on.
    static void fill(ListWriter& writer, size_t runs, uint64_t bytes, uint64_t moved = 0) {
        writer.clear();
        for (size_t i = 0; i < runs; ++i) {
            ASSERT_TRUE(
                writer.add(target + moved + i * apart, source + 2 * moved + i * bytes, bytes));
        }
    }
};

TEST_F(KeptLists, AreTheSameWhereverMemoryBegins) {
    ListWriter writer;
    fill(writer, 1000, 24);
    const auto once = kept_list(writer);
    for (const uint64_t moved : {0, 1, 4096}) {
        fill(writer, 1000, 24, moved);
        EXPECT_EQ(kept_list(writer), once);
        const uint64_t address = 1 << 20;
        const CopyList list = writer.written(address, once->parts());
        std::vector<std::byte> anew(writer.prepare());
        const CopyList expected = writer.write(anew.data(), address);
        EXPECT_EQ(list.to, expected.to);
        EXPECT_EQ(list.from, expected.from);
        EXPECT_EQ(list.entries, expected.entries);
        EXPECT_EQ(list.parts, expected.parts);
        EXPECT_EQ(list.part_count, expected.part_count);
        EXPECT_TRUE(std::equal(anew.begin(), anew.end(), once->memory().data()));
    }
}

TEST_F(KeptLists, OfOtherRunsAreOthers) {
    ListWriter writer;
    fill(writer, 1000, 24);
    const auto once = kept_list(writer);
    fill(writer, 1000, 25);
    EXPECT_NE(kept_list(writer), once);
    fill(writer, 999, 24);
    EXPECT_NE(kept_list(writer), once);
    EXPECT_FALSE(once->is_of(writer));
}

/// The memory for copies is not only theirs; those that were used last stay.
TEST_F(KeptLists, TakeAPartOfTheMemory) {
    ListWriter writer;
    fill(writer, 10, 24);
    const auto small = kept_list(writer);
    for (uint64_t bytes = 1; bytes <= 80; ++bytes) { // of 1 MiB each
        fill(writer, ListWriter::most_runs, bytes);
        const std::weak_ptr<const KeptList> large = kept_list(writer);
        EXPECT_FALSE(large.expired());
        fill(writer, 10, 24);
        ASSERT_EQ(kept_list(writer), small);
    }
    std::vector<HostMemory> others;
    for (uint64_t bytes = 0; bytes < HostMemory::most_kept / 2; bytes += 1 << 20) {
        others.emplace_back(1 << 20);
        ASSERT_TRUE(others.back().can_be_pinned());
    }
}

TEST_F(KeptLists, ManySmallOnesAreForgotten) {
    ListWriter writer;
    fill(writer, 1, 1);
    const std::weak_ptr<const KeptList> first = kept_list(writer);
    for (size_t runs = 2; runs < 2000 && !first.expired(); ++runs) {
        fill(writer, runs, 1);
        kept_list(writer);
    }
    EXPECT_TRUE(first.expired());
}

TEST_F(KeptLists, WhatIsLostIsNeverUsedAgain) {
    ListWriter writer;
    fill(writer, 100, 24);
    const std::byte* place = nullptr;
    {
        const auto list = kept_list(writer);
        place = list->memory().data();
        list->lose();
    }
    forget_kept_lists();
    std::vector<HostMemory> others;
    for (int i = 0; i < 100; ++i) {
        others.emplace_back(1);
        EXPECT_NE(others.back().data(), place);
    }
}

/// Beyond the limit, memory that devices do not reach is not what is found for ever.
TEST_F(KeptLists, AreNotKeptInOrdinaryMemory) {
    ListWriter writer;
    fill(writer, 100, 24);
    forget_kept_lists();
    {
        std::vector<HostMemory> all;
        do { all.emplace_back(1 << 20); } while (all.back().can_be_pinned());
        do { all.emplace_back(1); } while (all.back().can_be_pinned());
        EXPECT_FALSE(kept_list(writer)->memory().can_be_pinned());
    }
    EXPECT_TRUE(kept_list(writer)->memory().can_be_pinned());
}

} // namespace
} // namespace nodeaware::device
