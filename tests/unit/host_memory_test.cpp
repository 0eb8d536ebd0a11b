// Memory of the host that is kept for copies to and from devices.

#include "runtime/device/host_memory.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace nodeaware::device {
namespace {

constexpr uint64_t small = 1 << 20;
constexpr uint64_t nearly_all = 200 << 20;

const std::byte* place_of(uint64_t bytes) { return HostMemory(bytes).data(); }

TEST(HostMemory, IsTheSameTheNextTime) {
    const std::byte* const once = place_of(small);
    EXPECT_EQ(place_of(small), once);
    EXPECT_EQ(place_of(small - 1), once);
    const HostMemory used(small);
    EXPECT_EQ(used.data(), once);
    EXPECT_NE(place_of(small), once);
}

/// One message takes nearly all that may be kept: others use that when it is over, and not memory
/// that is not kept, which is never pinned.
TEST(HostMemory, OfALargeMessageServesSmallOnes) {
    { const HostMemory two_blocks[] = {HostMemory(small), HostMemory(small)}; }
    const std::byte* const large = place_of(nearly_all / 2);
    EXPECT_EQ(place_of(nearly_all / 2), large);
    const HostMemory first(small);
    const HostMemory second(small);
    EXPECT_NE(first.data(), large); // as long as there are others
    EXPECT_NE(second.data(), large);
    const HostMemory rest(nearly_all / 4);
    const HostMemory of_large(nearly_all / 4);
    EXPECT_EQ(of_large.data(), large);
    // What is in use is nobody else's.
    EXPECT_NE(HostMemory(nearly_all / 2).data(), large);
}

} // namespace
} // namespace nodeaware::device
