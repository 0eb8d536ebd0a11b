#include "strategies/sparse_block.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace nodeaware::sparse {

namespace {

constexpr int ranks = 300;

std::vector<std::byte> block_of(const std::vector<Entry>& entries, bool is_whole, uint64_t bytes) {
    std::vector<std::byte> block(bytes);
    const auto list = list_of(entries);
    write_header(block.data(), {list.size(), is_whole, !is_whole});
    if (has_room(list.size(), bytes)) {
        std::copy(list.begin(), list.end(), block.begin() + header_bytes);
    }
    return block;
}

} // namespace

TEST(SparseBlock, ListsAreReadAsTheyWereWritten) {
    const std::vector<Entry> entries = {{0, 0},
                                        {299, 1},
                                        {5, 127},
                                        {5, 128},
                                        {127, 16383},
                                        {128, 16384},
                                        {7, uint64_t{1} << 40},
                                        {1, std::numeric_limits<uint64_t>::max()}};
    const auto read = read_list(list_of(entries), ranks);
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, entries);
    EXPECT_EQ(list_of(std::vector<Entry>{{3, 100}}).size(), 2U);
    EXPECT_TRUE(read_list({}, ranks)->empty());
}

TEST(SparseBlock, WhatIsCutOrNamesNobodyIsNoList) {
    const std::vector<Entry> entries = {{200, 1000}, {299, 70000}};
    const auto list = list_of(entries);
    const size_t first = list_of(std::vector<Entry>{entries[0]}).size();
    for (size_t bytes = 1; bytes < list.size(); ++bytes) {
        const auto read = read_list(std::span(list).first(bytes), ranks);
        EXPECT_EQ(read.has_value(), bytes == first) << bytes;
    }
    EXPECT_FALSE(read_list(list, 299));
    const std::vector<std::byte> endless(20, std::byte{0xff});
    EXPECT_FALSE(read_list(endless, ranks));
}

TEST(SparseBlock, HeadersAreReadAsTheyWereWritten) {
    std::vector<std::byte> block(header_bytes);
    EXPECT_EQ(read_header(block.data()), Header());
    for (const Header& header :
         {Header{7, true, true}, Header{0, false, true}, Header{uint64_t{1} << 40, false, false},
          Header{64, true, false}}) {
        write_header(block.data(), header);
        EXPECT_EQ(read_header(block.data()), header);
    }
}

TEST(SparseBlock, ABlockTellsWhatItHolds) {
    constexpr uint64_t bytes = 64;
    const std::vector<Entry> few = {{1, 20}, {2, 30}};
    EXPECT_TRUE(is_whole(list_of(few).size(), 50, bytes));
    EXPECT_FALSE(is_whole(list_of(few).size(), 53, bytes));
    const auto whole = read_block(block_of(few, true, bytes), ranks);
    ASSERT_TRUE(whole);
    EXPECT_TRUE(whole->is_listed);
    EXPECT_EQ(whole->entries, few);
    EXPECT_EQ(whole->payload, header_bytes + 4);

    const std::vector<Entry> large = {{1, 20}, {2, 3000}};
    const auto listed = read_block(block_of(large, false, bytes), ranks);
    ASSERT_TRUE(listed);
    EXPECT_TRUE(listed->is_listed);
    EXPECT_TRUE(listed->header.has_more);
    EXPECT_EQ(listed->entries, large);

    const std::vector<Entry> many(60, {1, 1});
    const auto counted = read_block(block_of(many, false, bytes), ranks);
    ASSERT_TRUE(counted);
    EXPECT_FALSE(counted->is_listed);
    EXPECT_EQ(counted->header.list_bytes, 120U);
}

TEST(SparseBlock, WhatCannotBeIsRefused) {
    constexpr uint64_t bytes = 64;
    EXPECT_FALSE(read_block(block_of({{1, 20}, {2, 3000}}, true, bytes), ranks));
    EXPECT_FALSE(read_block(block_of(std::vector<Entry>(60, {1, 1}), true, bytes), ranks));
    EXPECT_FALSE(read_block(
        block_of({{1, std::numeric_limits<uint64_t>::max()}, {2, 1}}, true, bytes), ranks));
}

/// Whatever comes is read within its bounds (which the sanitizers see to) or refused.
TEST(SparseBlock, RandomBytesDoNoHarm) {
    std::mt19937 random(1);
    for (int i = 0; i < 20000; ++i) {
        std::vector<std::byte> block(header_bytes + random() % 60);
        for (std::byte& byte : block) { byte = static_cast<std::byte>(random()); }
        if (i % 2 == 0) { write_header(block.data(), {random() % 70, i % 4 == 0, false}); }
        const auto read = read_block(block, ranks);
        if (!read || !read->header.is_whole) { continue; }
        uint64_t end = read->payload;
        for (const Entry& entry : read->entries) { end += entry.bytes; }
        EXPECT_LE(end, block.size());
    }
}

} // namespace nodeaware::sparse
