#include "runtime/job/address_space.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace nodeaware {

namespace {

constexpr uint64_t gigabyte = uint64_t{1} << 30U;

using Resource = decltype(RLIMIT_AS);

/// While it lives; more than any sanitizer takes.
class Limit {
  public:
    explicit Limit(uint64_t bytes, Resource resource = RLIMIT_AS) : resource_(resource) {
        getrlimit(resource_, &before_);
        const rlimit limit = {bytes, before_.rlim_max};
        is_set_ = setrlimit(resource_, &limit) == 0;
    }
    ~Limit() { setrlimit(resource_, &before_); }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;
    bool is_set() const { return is_set_; }

  private:
    Resource resource_;
    rlimit before_ = {};
    bool is_set_ = false;
};

} // namespace

TEST(AddressSpace, IsReadAndWrittenAndIsZeroAtFirst) {
    constexpr size_t bytes = 3 << 20;
    auto* const memory = static_cast<char*>(address_space::map(bytes, MAP_PRIVATE | MAP_ANONYMOUS));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(memory[bytes - 1], 0);
    std::memset(memory, 1, bytes);
    EXPECT_EQ(munmap(memory, bytes), 0);
    EXPECT_EQ(address_space::map(bytes, MAP_SHARED, 12345), nullptr); // no such file
}

/// In a process of its own, which keeps all that it has from now on in memory.
TEST(AddressSpace, IsNotReadAheadWhereMemoryIsLocked) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        constexpr size_t bytes = 256 << 20;
        if (mlockall(MCL_FUTURE) != 0) { _exit(2); }
        auto* const memory =
            static_cast<char*>(address_space::map(bytes, MAP_PRIVATE | MAP_ANONYMOUS));
        if (memory == nullptr) { _exit(2); } // no more may be locked
        memory[bytes / 2] = 1;
        std::vector<unsigned char> pages(bytes / 4096);
        if (mincore(memory, bytes, pages.data()) != 0) { _exit(2); }
        const auto there = std::count_if(pages.begin(), pages.end(),
                                         [](unsigned char page) { return (page & 1U) != 0; });
        _exit(there < 2048 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2) { GTEST_SKIP() << "this process may not lock its memory"; }
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(AddressSpace, IsTakenUpToAShareWhereItIsLimited) {
    {
        const Limit limit(65536 * gigabyte);
        if (!limit.is_set()) { GTEST_SKIP() << "this process may not have that limit"; }
        EXPECT_EQ(address_space::limit(), 65536 * gigabyte);
        EXPECT_FALSE(address_space::take(8193 * gigabyte));
        EXPECT_TRUE(address_space::take(5000 * gigabyte));
        EXPECT_FALSE(address_space::take(5000 * gigabyte));
        address_space::give_back(5000 * gigabyte);
        EXPECT_TRUE(address_space::take(5000 * gigabyte));
        address_space::give_back(5000 * gigabyte);
    }
    if (address_space::limit() != 0) { GTEST_SKIP() << "address space is limited here"; }
    EXPECT_TRUE(address_space::take(100000 * gigabyte));
    address_space::give_back(100000 * gigabyte);
}

TEST(AddressSpace, IsLimitedForPrivateMemoryByTheSmallerLimit) {
    const Limit data(131072 * gigabyte, RLIMIT_DATA);
    if (!data.is_set()) { GTEST_SKIP() << "this process may not have that limit"; }
    EXPECT_EQ(address_space::private_limit(), 131072 * gigabyte);
    for (const uint64_t all : {65536 * gigabyte, 262144 * gigabyte}) {
        const Limit limit(all);
        if (!limit.is_set()) { GTEST_SKIP() << "this process may not have that limit"; }
        EXPECT_EQ(address_space::limit(), all);
        EXPECT_EQ(address_space::private_limit(), std::min(all, 131072 * gigabyte));
    }
}

} // namespace nodeaware
