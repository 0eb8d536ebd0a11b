#include "runtime/mailboxes/early_messages.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace nodeaware::test {

namespace {

using Sizes = std::vector<uint64_t>;

class EarlyMessagesTest : public testing::Test {
  protected:
    /// A message, known by its size.
    void keep(EarlyMessages::Name name, uint64_t size) {
        early.keep(name, {std::make_shared<std::byte>(), size});
    }
    Sizes comes(EarlyMessages::Name name) {
        Sizes sizes;
        for (const auto& [bytes, size] : early.comes(name)) { sizes.push_back(size); }
        return sizes;
    }

    EarlyMessages early;
};

TEST_F(EarlyMessagesTest, WaitForWhoIsToCome) {
    for (const uint64_t size : {1U, 2U, 3U}) {
        keep(5, size);
        keep(8, 10 * size);
    }
    EXPECT_EQ(comes(5), (Sizes{1, 2, 3}));
    keep(8, 40);
    EXPECT_EQ(comes(8), (Sizes{10, 20, 30, 40}));
    EXPECT_EQ(comes(8), Sizes{});
    EXPECT_EQ(comes(9), Sizes{});
}

TEST_F(EarlyMessagesTest, AreBounded) {
    keep(5, EarlyMessages::most_bytes + 1);
    EXPECT_EQ(early.kept(), 0U);
    for (uint64_t i = 0; i <= EarlyMessages::most; ++i) { keep(i, 7); }
    EXPECT_EQ(early.kept(), EarlyMessages::most);
    EXPECT_EQ(comes(0), Sizes{});
    EXPECT_EQ(comes(1), Sizes{7});
    EXPECT_EQ(comes(EarlyMessages::most), Sizes{7});
}

} // namespace

} // namespace nodeaware::test
