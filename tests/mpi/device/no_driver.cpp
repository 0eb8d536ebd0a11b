// In the place of the stand-in, in the program of ranks that have no driver: there is none that the
// library could find.

#include "tests/device/stand_in.hpp"

namespace {
constexpr int not_initialized = 3;
}

extern "C" {
int cuInit(unsigned /*flags*/) { return not_initialized; }
int cuDevicePrimaryCtxRetain(void** /*context*/, int /*device*/) { return not_initialized; }
int cuDevicePrimaryCtxReset_v2(int /*device*/) { return not_initialized; }
int cuDevicePrimaryCtxGetState(int /*device*/, unsigned* /*flags*/, int* /*is_active*/) {
    return not_initialized;
}
int cuCtxSetCurrent(void* /*context*/) { return not_initialized; }
int cuMemAlloc_v2(std::uint64_t* /*address*/, std::size_t /*bytes*/) { return not_initialized; }
int cuMemAllocManaged(std::uint64_t* /*address*/, std::size_t /*bytes*/, unsigned /*flags*/) {
    return not_initialized;
}
int cuMemFree_v2(std::uint64_t /*address*/) { return not_initialized; }
int cuMemcpyHtoD_v2(std::uint64_t /*to*/, const void* /*from*/, std::size_t /*bytes*/) {
    return not_initialized;
}
int cuMemcpyDtoH_v2(void* /*to*/, std::uint64_t /*from*/, std::size_t /*bytes*/) {
    return not_initialized;
}
int stand_in_allocate_from_pool(std::uint64_t* /*address*/, std::size_t /*bytes*/, int /*device*/) {
    return not_initialized;
}
StandInCounts stand_in_counts() { return {}; }
void stand_in_may_fail(bool /*may_fail*/) {}
std::size_t stand_in_allocations() { return 0; }
std::size_t stand_in_imports() { return 0; }
}
