// The kernel that copies lists, run by the host, with the lists that the library writes for it.

#include "runtime/device/list_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace nodeaware::device {
namespace {

struct Piece {
    size_t to;
    size_t from;
    size_t bytes;
};

/// Two memories; what lies at what offset of one goes to what offset of the other.
class ListCopy : public testing::Test {
  protected:
    ListCopy(size_t bytes = 1 << 20) : source_(bytes), target_(bytes), expected_(bytes) {
        for (auto& byte : source_) { byte = static_cast<unsigned char>(random_()); }
        std::fill(target_.begin(), target_.end(), untouched);
        expected_ = target_;
    }

    /// By lists, as many as are needed, each by `blocks` blocks.
    void copy(const std::vector<Piece>& runs, uint32_t blocks = 7) {
        ListWriter writer;
        for (const Piece& run : runs) {
            std::copy_n(source_.begin() + static_cast<ptrdiff_t>(run.from), run.bytes,
                        expected_.begin() + static_cast<ptrdiff_t>(run.to));
            const auto add = [&] {
                return writer.add(reinterpret_cast<uintptr_t>(target_.data() + run.to),
                                  reinterpret_cast<uintptr_t>(source_.data() + run.from),
                                  run.bytes);
            };
            if (add()) { continue; }
            carry_out(writer, blocks);
            ASSERT_TRUE(add());
        }
        carry_out(writer, blocks);
        EXPECT_EQ(target_, expected_);
    }

    /// Runs that do not overlap where they go to, in any order.
    std::vector<Piece> draw_runs(size_t most_runs, size_t most_bytes) {
        std::vector<Piece> runs;
        size_t next = draw(100);
        while (runs.size() < most_runs) {
            const size_t bytes = draw(most_bytes);
            if (next + bytes > target_.size()) { break; }
            runs.push_back({next, draw(source_.size() - bytes), bytes});
            next += bytes + draw(3) * draw(40);
        }
        std::shuffle(runs.begin(), runs.end(), random_);
        return runs;
    }
    size_t draw(size_t most) { return std::uniform_int_distribution<size_t>(0, most)(random_); }

    static constexpr unsigned char untouched = 0xcd;
    std::mt19937 random_{1};
    std::vector<unsigned char> source_, target_, expected_;
    size_t lists_ = 0;

  private:
    void carry_out(ListWriter& writer, uint32_t blocks) {
        ++lists_;
        // Nothing behind the list is read: sanitizers see to it.
        std::vector<uint64_t> memory((writer.prepare() + 7) / 8);
        auto* const list = reinterpret_cast<std::byte*>(memory.data());
        const CopyList written = writer.write(list, reinterpret_cast<uintptr_t>(list));
        for (uint32_t block = 0; block < blocks; ++block) {
            for (uint32_t thread = 0; thread < list_block; ++thread) {
                copy_as_thread(written, block, blocks, thread);
            }
        }
        writer.clear();
    }
};

class LongListCopy : public ListCopy {
  protected:
    LongListCopy() : ListCopy(10 << 20) {}
};

TEST_F(ListCopy, empty) {
    copy({});
    copy({{5, 9, 0}});
}

TEST_F(ListCopy, all_alignments_and_lengths) {
    std::vector<Piece> runs;
    size_t next = 0;
    for (size_t to = 0; to < 16; ++to) {
        for (size_t from = 0; from < 16; ++from) {
            for (size_t bytes = 0; bytes < 70; ++bytes) {
                runs.push_back({next + to, from, bytes});
                next += 112;
                if (next + 112 > target_.size()) {
                    copy(runs);
                    runs.clear();
                    next = 0;
                    std::fill(target_.begin(), target_.end(), untouched);
                    expected_ = target_;
                }
            }
        }
    }
    copy(runs);
}

TEST_F(ListCopy, one_run_of_many_lengths) {
    for (const size_t bytes : {1UL, 15UL, 16UL, 4095UL, 16384UL, 16385UL, 65535UL, 65536UL}) {
        for (const size_t apart : {0UL, 1UL, 2UL, 4UL, 8UL, 16UL}) {
            copy({{3 + apart, 3, bytes}});
            copy({{16 + apart, 32, bytes}}, 1);
        }
    }
}

TEST_F(ListCopy, random_lists) {
    for (int i = 0; i < 60; ++i) {
        const size_t most_bytes = size_t{1} << draw(16);
        copy(draw_runs(1 + draw(500), most_bytes), 1 + static_cast<uint32_t>(draw(40)));
    }
}

TEST_F(LongListCopy, many_runs_take_several_lists) {
    constexpr size_t count = ListWriter::most_runs + 10'000;
    std::vector<Piece> runs;
    for (size_t i = 0; i < count; ++i) { runs.push_back({8 * i, 8 * (count - 1 - i), 5}); }
    copy(runs, 33);
    EXPECT_EQ(lists_, 2U);
}

/// Four at a time, some of which are no words, or not aligned.
TEST_F(LongListCopy, words) {
    for (const size_t bytes : {4, 8, 16}) {
        std::vector<Piece> runs;
        for (size_t i = 0; i < 10'000; ++i) { runs.push_back({bytes * i, 3 * bytes * i, bytes}); }
        copy(runs, 5);
        for (size_t i = 0; i < runs.size(); i += 700) { runs[i].bytes = bytes - 1; }
        for (size_t i = 300; i < runs.size(); i += 900) { runs[i].from += 2; }
        copy(runs, 5);
    }
}

TEST_F(ListCopy, runs_come_back_as_they_were_added) {
    ListWriter writer;
    const std::vector<Piece> runs = {{7, 1 << 20, 60'000}, {1 << 30, 3, 1}, {0, 9, 65'536}};
    for (const Piece& run : runs) { EXPECT_TRUE(writer.add(run.to, run.from, run.bytes)); }
    size_t next = 0;
    writer.for_each([&](uint64_t to, uint64_t from, uint64_t bytes) {
        EXPECT_EQ(to, runs[next].to);
        EXPECT_EQ(from, runs[next].from);
        EXPECT_EQ(bytes, runs[next++].bytes);
    });
    EXPECT_EQ(next, runs.size());
    EXPECT_EQ(writer.bytes(), 125'537U);
}

TEST_F(ListCopy, what_is_far_away_or_long_is_for_another_list) {
    ListWriter writer;
    const uint64_t middle = uint64_t{1} << 40U;
    EXPECT_FALSE(writer.add(middle, middle, ListWriter::most_bytes + 1));
    EXPECT_TRUE(writer.add(middle, middle, 1));
    EXPECT_TRUE(writer.add(middle + (uint64_t{1} << 31U) - 1, middle, 1));
    EXPECT_TRUE(writer.add(middle - (uint64_t{1} << 31U), middle, 1));
    EXPECT_FALSE(writer.add(middle + (uint64_t{1} << 31U), middle, 1));
    EXPECT_FALSE(writer.add(middle, middle - (uint64_t{1} << 31U) - 1, 1));
    EXPECT_EQ(writer.runs(), 3U);
}

/// Long runs are cut: the last part is where it should be, too.
TEST_F(ListCopy, no_run_leaves_the_reach_of_its_list) {
    const uint64_t middle = uint64_t{1} << 40U;
    const uint64_t end = middle + (uint64_t{1} << 31U);
    const uint64_t bytes = ListWriter::most_bytes;
    ListWriter writer;
    EXPECT_TRUE(writer.add(middle, middle, bytes));
    EXPECT_FALSE(writer.add(end - bytes + 1, middle, bytes));
    EXPECT_FALSE(writer.add(middle, end - bytes + 1, bytes));
    EXPECT_TRUE(writer.add(end - bytes, end - bytes, bytes));
    std::vector<uint64_t> memory((writer.prepare() + 7) / 8);
    auto* const at = reinterpret_cast<std::byte*>(memory.data());
    const CopyList list = writer.write(at, reinterpret_cast<uintptr_t>(at));
    const auto* const entries = reinterpret_cast<const ListEntry*>(list.entries);
    uint64_t last = 0;
    for (size_t i = 0; i < 2 * bytes / 16'384; ++i) {
        EXPECT_GE(list.to + entries[i].to, middle);
        last = std::max(last, list.to + entries[i].to + entries[i].bytes);
    }
    EXPECT_EQ(last, end);
}

/// No part is much more work than another, and a few long runs are shared by many blocks.
TEST_F(ListCopy, work_is_divided) {
    ListWriter writer;
    for (size_t i = 0; i < 1000; ++i) { writer.add(1000 * i, 1000 * i, 1 + i % 900); }
    for (size_t i = 0; i < 8; ++i) { writer.add(100'000 * i, 100'000 * i, 65'536); }
    std::vector<uint64_t> memory((writer.prepare() + 7) / 8);
    auto* const at = reinterpret_cast<std::byte*>(memory.data());
    const CopyList list = writer.write(at, reinterpret_cast<uintptr_t>(at));
    const auto* const parts = reinterpret_cast<const ListPart*>(list.parts);
    const auto* const entries = reinterpret_cast<const ListEntry*>(list.entries);
    uint64_t all = 0;
    EXPECT_GE(list.part_count, 8U * 4U + 1000U * 450U / 33'000U);
    EXPECT_LE(list.part_count, 80U);
    for (size_t i = 0; i < list.part_count; ++i) {
        uint64_t bytes = 0;
        for (uint32_t k = 0; k < parts[i].entries; ++k) {
            const uint32_t length = entries[parts[i].first + k].bytes;
            bytes += length;
            const uint32_t lanes = parts[i].lanes;
            EXPECT_LE(length, (lanes < 8 ? 16U : 64U) * lanes);
            EXPECT_GT(length, lanes <= 8 ? 8U * lanes - 8U : 32U * lanes - 16U);
        }
        EXPECT_LT(bytes, 2U * 16'384U);
        all += bytes;
    }
    EXPECT_EQ(all, writer.bytes());
}

} // namespace
} // namespace nodeaware::device
