#pragma once

#include <cstddef>
#include <cstdint>

// What tests use of the stand-in for the CUDA driver, beside the driver's own functions: see
// cuda_stand_in.cpp.

extern "C" {
// Of cuda.h.
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuDevicePrimaryCtxRelease(int device);
int cuDevicePrimaryCtxReset_v2(int device);
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* is_active);
int cuCtxSetCurrent(void* context);
int cuCtxGetCurrent(void** context);
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes);
int cuMemAllocManaged(std::uint64_t* address, std::size_t bytes, unsigned flags);
int cuMemFree_v2(std::uint64_t address);
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes);
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes);
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream);

/// Memory of a pool: it has no context of its own.
int stand_in_allocate_from_pool(std::uint64_t* address, std::size_t bytes, int device);

/// Calls so far.
struct StandInCounts {
    std::uint64_t calls; ///< of all functions that exchanges need
    std::uint64_t queries;
    std::uint64_t copies; ///< of all directions
    std::uint64_t bytes;
    std::uint64_t unpinned;          ///< of the copies
    std::uint64_t faults;            ///< made to happen by GPU_STAND_IN_FAIL
    std::uint64_t pinned_again;      ///< refused, for some of it was pinned before
    std::uint64_t pinned_and_copied; ///< its pages would be others after a fork
    std::uint64_t freed_too_early;   ///< allocations, while copies used them
    std::uint64_t freed_while_open;  ///< by other processes
    std::uint64_t launches;          ///< of kernels
    std::uint64_t synchronous;       ///< allocations whose copies were made synchronous
    std::uint64_t synchronous_again; ///< though they were so
    // And what there is now.
    std::uint64_t under_way; ///< copies that have begun and not ended
    std::uint64_t events;
    std::uint64_t streams;         ///< created, in contexts that are there still
    std::uint64_t pinned;          ///< pieces of memory
    std::uint64_t pinned_and_gone; ///< of those, unmapped
    std::uint64_t modules;         ///< loaded, in contexts that are there still
};
StandInCounts stand_in_counts();
/// Whether GPU_STAND_IN_FAIL counts the calls of this thread from now on.
void stand_in_may_fail(bool may_fail);
/// Allocations that are not freed.
std::size_t stand_in_allocations();
/// From now on the `call`-th call of the function fails, for once, as by GPU_STAND_IN_FAIL.
void stand_in_fail(const char* function, long call);
/// What failing calls return from now on.
void stand_in_fail_with(int code);
/// How often contexts are retained.
int stand_in_retained();
/// Of this thread.
struct StandInThread {
    std::size_t contexts; ///< pushed
    int capture_mode;
};
StandInThread stand_in_thread();
/// Between these a stream of the application records what it is given; false: some call has spoilt
/// that.
void stand_in_begin_capture();
bool stand_in_end_capture();
/// Memory of other processes that is open.
std::size_t stand_in_imports();
}
