#include "runtime/mailboxes/early_messages.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace nodeaware::test {

namespace {

using Name = EarlyMessages::Name;
using Sizes = std::vector<uint64_t>;

class EarlyMessagesTest : public testing::Test {
  protected:
    /// A message, known by its size.
    void keep(Name name, uint64_t size) { early.keep(name, {std::make_shared<std::byte>(), size}); }
    Sizes comes(Name name) {
        Sizes sizes;
        for (const auto& [bytes, size] : early.comes(name)) { sizes.push_back(size); }
        return sizes;
    }

    EarlyMessages early;
};

TEST_F(EarlyMessagesTest, NamesAreAllDifferent) {
    EXPECT_NE(EarlyMessages::name(0, 1), EarlyMessages::name(1, 1));
    EXPECT_LT(EarlyMessages::name(3, 1), EarlyMessages::name(3, 2));
    EXPECT_LT(EarlyMessages::name(3, 0xffffffffU), EarlyMessages::name(4, 0));
}

TEST_F(EarlyMessagesTest, WaitForWhoIsToCome) {
    const Name first = EarlyMessages::name(2, 5);
    const Name second = EarlyMessages::name(2, 8);
    for (const uint64_t size : {1U, 2U, 3U}) {
        keep(first, size);
        keep(second, 10 * size);
    }
    EXPECT_EQ(comes(first), (Sizes{1, 2, 3}));
    keep(second, 40);
    EXPECT_EQ(comes(second), (Sizes{10, 20, 30, 40}));
    EXPECT_EQ(comes(EarlyMessages::name(2, 9)), Sizes{});
}

TEST_F(EarlyMessagesTest, AreForNobodyIfTheirAddresseeHasGone) {
    const Name name = EarlyMessages::name(2, 5);
    keep(name, 1);
    EXPECT_EQ(comes(name), Sizes{1});
    keep(name, 2);
    EXPECT_EQ(early.awaited(), 0U);
    comes(EarlyMessages::name(2, 6));
    keep(name, 3);
    EXPECT_EQ(early.awaited(), 0U);
}

TEST_F(EarlyMessagesTest, RanksThatGiveNamesHaveNothingToDoWithEachOther) {
    const std::vector<Name> names = {EarlyMessages::name(1, 5), EarlyMessages::name(2, 1),
                                     EarlyMessages::name(2, 7), EarlyMessages::name(3, 2)};
    for (const Name name : names) { keep(name, name); }
    for (const int rank : {2, 1, 3}) { EXPECT_EQ(comes(EarlyMessages::name(rank, 0)), Sizes{}); }
    EXPECT_EQ(early.awaited(), 4U);
    EXPECT_EQ(comes(names[2]), Sizes{names[2]}); // then the other of rank 2 has gone
    EXPECT_EQ(early.awaited(), 2U);
    EXPECT_EQ(comes(names[0]), Sizes{names[0]});
    EXPECT_EQ(comes(names[3]), Sizes{names[3]});
}

/// Addressees come and go, some only on other ranks.
TEST_F(EarlyMessagesTest, OnlyThoseForWhoMayComeAreKept) {
    for (uint32_t number = 1; number <= 3000; ++number) {
        const Name name = EarlyMessages::name(7, number);
        keep(name, number);
        EXPECT_LE(early.awaited(), 3U);
        if (number % 3 == 0) { EXPECT_EQ(comes(name), Sizes{number}); }
        for (uint32_t before = 1; before <= number; before += 100) { // once more
            if (number % 3 == 0) { keep(EarlyMessages::name(7, before), 1); }
        }
    }
    EXPECT_EQ(early.awaited(), 0U);
}

} // namespace

} // namespace nodeaware::test
