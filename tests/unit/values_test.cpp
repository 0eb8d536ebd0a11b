#include "runtime/trace/contents.hpp"
#include "runtime/trace/text.hpp"
#include "runtime/trace/values.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

namespace nodeaware::trace {

namespace {

/// Pages with one behind them that nobody may touch.
class Pages {
  public:
    explicit Pages(size_t count)
        : bytes_(count * page()),
          begin_(static_cast<std::byte*>(mmap(nullptr, bytes_ + page(), PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        EXPECT_EQ(mprotect(begin_ + bytes_, page(), PROT_NONE), 0);
    }
    ~Pages() { munmap(begin_, bytes_ + page()); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    static size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
    std::byte* end() const { return begin_ + bytes_; }

  private:
    size_t bytes_;
    std::byte* begin_;
};

std::vector<BlockBytes> blocks_of(const std::vector<std::byte>& bytes, size_t size) {
    std::vector<BlockBytes> blocks;
    for (size_t at = 0; at < bytes.size(); at += size) {
        blocks.push_back({bytes.data() + at, size});
    }
    return blocks;
}

Contents with_world(int ranks, const Limits& limits = {}) {
    Contents contents(limits);
    contents.add_communicator({0, ranks, false, {{0, 1, ranks}}});
    return contents;
}

const std::vector<Block> three = {{0, 8}, {1, 8}, {2, 8}};
const std::vector<Block> to_all = {{Block::every_rank, 8}};

/// Calls that send these blocks. Returns the numbers of those that are sampled.
std::vector<int> add_calls(Contents& contents, int calls, const Firsts& firsts,
                           const std::vector<Block>& blocks = three, const Firsts& data = {}) {
    std::vector<int> sampled;
    for (int i = 1; i <= calls; ++i) {
        const Call call{"MPI_Alltoallv", nullptr, 0, Memory::host, 0, 1};
        const int pattern = contents.add_exchange(call, 1, blocks, false, data);
        if (!contents.next_sample(pattern)) { continue; }
        contents.add_sample(pattern, firsts);
        sampled.push_back(i);
    }
    return sampled;
}

nlohmann::json pattern_of(const Contents& contents) {
    std::istringstream lines(text_of({"job", 0, 4, 0, "host"}, contents, {}, 1000, true));
    for (std::string line; std::getline(lines, line);) {
        auto json = nlohmann::json::parse(line);
        if (json["type"] == "pattern") { return json; }
    }
    return {};
}

} // namespace

TEST(Values, AreEqualWhereEveryByteIs) {
    for (const size_t size : {1U, 7U, 8U, 33U, 4096U}) {
        std::vector<std::byte> bytes(6 * size, std::byte{3});
        bytes[2 * size - 1] = std::byte{4};
        bytes[4 * size] = std::byte{4};
        const Firsts expected = {0, 1, 0, 0, size == 1 ? 1 : 4, 0};
        EXPECT_EQ(equal_blocks(blocks_of(bytes, size), {}, 0), expected);
    }
    std::vector<std::byte> bytes(24, std::byte{3});
    const std::vector<BlockBytes> other_sizes = {
        {bytes.data(), 8}, {bytes.data(), 9}, {bytes.data() + 9, 8}, {nullptr, 8}, {nullptr, 8}};
    EXPECT_EQ(equal_blocks(other_sizes, {}, 0), (Firsts{0, 1, 0, 3, 4}));
}

TEST(Values, OfTheSameMemoryAreReadOnce) {
    const std::vector<std::byte> bytes(8, std::byte{3});
    const std::vector<BlockBytes> blocks = {
        {bytes.data(), 4}, {bytes.data() + 4, 4}, {nullptr, 4}, {nullptr, 4}, {nullptr, 4}};
    EXPECT_EQ(equal_blocks(blocks, {0, 1, 1, 3, 3}, 0), (Firsts{0, 0, 0, 3, 3}));
    EXPECT_EQ(equal_blocks(blocks, {0, 0, 0, 0, 0}, 0), Firsts()); // nothing to compare
    EXPECT_EQ(equal_blocks(blocks, {0, 1}, 0), Firsts());
}

// One byte is hit sooner or later; and nothing outside the block is read.
TEST(Values, OfLargeBlocksArePiecesThatLieElsewhereInTheNextSample) {
    constexpr size_t size = 20000;
    std::vector<std::byte> bytes(3 * size);
    bytes[2 * size + 7000] = std::byte{1};
    int found = 0;
    for (uint64_t sample = 0; sample < 100; ++sample) {
        const Firsts firsts = equal_blocks(blocks_of(bytes, size), {}, sample);
        EXPECT_EQ(firsts[1], 0);
        found += firsts[2] == 2 ? 1 : 0;
    }
    EXPECT_GT(found, 5);
    EXPECT_LT(found, 60);
    const Pages pages(40);
    for (uint64_t sample = 0; sample < 100; ++sample) {
        for (const size_t part : {4096U, 4097U, 4353U, 65536U}) {
            const std::vector<BlockBytes> blocks = {{pages.end() - part, part},
                                                    {pages.end() - 2 * part, part}};
            EXPECT_EQ(equal_blocks(blocks, {}, sample), (Firsts{0, 0}));
        }
    }
}

TEST(Values, ThatCannotBeReadAreNotTold) {
    const Pages pages(1);
    EXPECT_EQ(equal_blocks({{pages.end(), 8}, {pages.end() + 8, 8}}, {}, 0), Firsts());
    EXPECT_EQ(equal_blocks({{pages.end() - 8, 8}, {pages.end() - 4, 8}}, {}, 0), (Firsts{0, 1}));
    EXPECT_EQ(equal_blocks({{nullptr, 8}, {nullptr, 8}}, {}, 0), Firsts());
    EXPECT_EQ(equal_blocks({}, {}, 0), Firsts());
}

TEST(Values, OfHugeBlocksAreCompared) {
    constexpr size_t size = size_t{3} << 30;
    auto* const bytes = static_cast<std::byte*>(
        mmap(nullptr, 2 * size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    ASSERT_NE(bytes, MAP_FAILED);
    EXPECT_EQ(equal_blocks({{bytes, size}, {bytes + size, size}}, {}, 0), (Firsts{0, 0}));
    EXPECT_EQ(equal_blocks({{bytes, size}, {bytes + size, size_t{1} << 62}}, {}, 0),
              (Firsts{0, 1}));
    munmap(bytes, 2 * size);
}

// More than the system takes at once; less of each than where they are few.
TEST(Values, OfManyBlocksAreCompared) {
    std::vector<std::byte> bytes(most_blocks_in_sample * 512);
    for (size_t i = 0; i < bytes.size(); i += 2 * 512) {
        for (size_t k = 0; k < 512; ++k) { bytes[i + k] = std::byte{1}; }
    }
    std::vector<BlockBytes> blocks = blocks_of(bytes, 512);
    const Firsts firsts = equal_blocks(blocks, {}, 3);
    ASSERT_EQ(firsts.size(), blocks.size());
    for (size_t i = 0; i < firsts.size(); ++i) { EXPECT_EQ(firsts[i], static_cast<int>(i % 2)); }
    blocks.push_back(blocks.front());
    EXPECT_EQ(equal_blocks(blocks, {}, 3), Firsts());
}

TEST(Values, AreEqualOnlyIfTheyAreSoInEverySample) {
    EXPECT_EQ(common_classes({0, 0, 0, 3, 3}, {0, 1, 0, 1, 1}), (Firsts{0, 1, 0, 3, 3}));
    EXPECT_TRUE(are_all_apart({0, 1, 2}, {}));
    EXPECT_FALSE(are_all_apart({0, 0, 2}, {}));
    EXPECT_TRUE(are_all_apart({0, 0, 2}, {0, 0, 2}));
    Contents contents = with_world(4);
    EXPECT_EQ(add_calls(contents, 1, {0, 0, 0}), (std::vector<int>{1}));
    EXPECT_EQ(add_calls(contents, 1, {0, 0, 2}), (std::vector<int>{1}));
    EXPECT_EQ(add_calls(contents, 11, {0, 0, 0}), (std::vector<int>{1, 3, 6, 11})); // 3, 5, 8, 13
    EXPECT_EQ(pattern_of(contents)["values"], (Firsts{0, 0, 2}));
    EXPECT_EQ(pattern_of(contents)["samples"], 6);
    add_calls(contents, 8, {0, 1, 0}); // the 21st
    EXPECT_FALSE(pattern_of(contents).contains("values"));
    EXPECT_EQ(pattern_of(contents)["samples"], 7);
    EXPECT_EQ(add_calls(contents, 100, {0, 0, 0}), std::vector<int>()); // never again
}

TEST(Values, ArePartOfWhatIsKnownOfMemory) {
    Contents contents = with_world(4);
    add_calls(contents, 3, {0, 0, 2}, three, {0, 0, 2});
    EXPECT_FALSE(pattern_of(contents).contains("values")); // it says no more than `data`
    EXPECT_EQ(pattern_of(contents)["samples"], 1);
    Contents others = with_world(4);
    add_calls(others, 3, {0, 0, 0}, three, {0, 0, 2});
    EXPECT_EQ(pattern_of(others)["values"], (Firsts{0, 0, 0}));
    EXPECT_EQ(pattern_of(others)["samples"], 3);
}

TEST(Values, OfOneBlockForEveryRankAreThoseOfTheRanks) {
    Contents contents = with_world(4);
    add_calls(contents, 2, {0, 1, 0, 1}, to_all);
    EXPECT_EQ(pattern_of(contents)["values"], (Firsts{0, 1, 0, 1}));
    Contents alone = with_world(1);
    EXPECT_EQ(add_calls(alone, 5, {0}, to_all), std::vector<int>());
    Contents many = with_world(most_blocks_in_sample + 1);
    EXPECT_EQ(add_calls(many, 5, {0}, to_all), std::vector<int>());
}

TEST(Values, ThatAreNotKnownAreNotAskedForAgain) {
    Contents contents = with_world(4);
    EXPECT_EQ(add_calls(contents, 5, {}), (std::vector<int>{1}));
    EXPECT_FALSE(pattern_of(contents).contains("samples"));
}

TEST(Values, ThatHaveNoRoomAreNotKept) {
    Limits limits;
    limits.values = 6;
    Contents contents = with_world(4, limits);
    std::vector<Block> blocks = three;
    for (size_t i = 0; i < 4; ++i) {
        blocks[0].bytes = i + 1;
        add_calls(contents, 2, {0, 0, 0}, blocks);
        EXPECT_EQ(contents.patterns()[i].values.size(), i < 2 ? 3U : 0U);
        EXPECT_EQ(contents.patterns()[i].samples, i < 2 ? 2U : 0U);
    }
    blocks[0].bytes = 1; // what turns out to be apart gives its room back
    add_calls(contents, 1, {0, 1, 2}, blocks);
    blocks[0].bytes = 9;
    add_calls(contents, 1, {0, 0, 0}, blocks);
    EXPECT_EQ(contents.patterns().back().values.size(), 3U);
}

} // namespace nodeaware::trace
