#include "runtime/job/address_space.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <sys/mman.h>
#include <sys/resource.h>

namespace nodeaware::address_space {

namespace {

std::atomic<uint64_t> taken{0};

uint64_t limit_of(decltype(RLIMIT_AS) resource) {
    rlimit found = {};
    const bool is_limited = getrlimit(resource, &found) == 0 && found.rlim_cur != RLIM_INFINITY;
    return is_limited ? found.rlim_cur : 0;
}

} // namespace

/// Pages that may not be touched are not filled when they are mapped, and those that are locked no
/// more are not when they may be touched.
void* map(size_t bytes, int flags, int descriptor) {
    void* const memory = mmap(nullptr, bytes, PROT_NONE, flags | MAP_NORESERVE, descriptor, 0);
    if (memory == MAP_FAILED) { return nullptr; }
    munlock(memory, bytes); // fails where nothing can be locked
    if (mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0) { return memory; }
    const int error = errno;
    munmap(memory, bytes);
    errno = error;
    return nullptr;
}

uint64_t limit() { return limit_of(RLIMIT_AS); }

uint64_t private_limit() {
    const uint64_t all = limit();
    const uint64_t data = limit_of(RLIMIT_DATA);
    return all == 0 || data == 0 ? std::max(all, data) : std::min(all, data);
}

bool take(size_t bytes) {
    constexpr uint64_t share = 8;
    const uint64_t all = limit();
    const uint64_t after = taken.fetch_add(bytes) + bytes;
    if (all == 0 || after <= all / share) { return true; }
    taken.fetch_sub(bytes);
    return false;
}

void take_promised(size_t bytes) { taken.fetch_add(bytes); }

void give_back(size_t bytes) { taken.fetch_sub(bytes); }

} // namespace nodeaware::address_space
