// What blocks of threads tell each other by, through memory that all of them see: the same names
// for a GPU, where nvcc compiles them, and for the host, where threads stand for blocks.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define SPTRSV_ON_DEVICE __device__ inline
#else
#define SPTRSV_ON_DEVICE inline
#include <atomic>
#include <chrono>
#include <thread>
#endif

namespace bench::sptrsv_gpu {

#ifdef __CUDACC__

// Whether `*word` is `value`; if so, all that was written before the release of that value is seen.
__device__ inline bool acquired(int* word, int value) {
    if (*static_cast<volatile int*>(word) != value) return false;
    __threadfence();
    return true;
}

__device__ inline int peek(int* word) { return *static_cast<volatile int*>(word); }

// After all that this thread, and those that it has met at a barrier, have written.
__device__ inline void release(int* word, int value) {
    __threadfence();
    *static_cast<volatile int*>(word) = value;
}

// Counts down, and tells whether this was the last: who is last sees what all others have written.
__device__ inline bool count_down(int* word) {
    __threadfence();
    if (atomicSub(word, 1) != 1) return false;
    __threadfence();
    return true;
}

__device__ inline int take_next(int* word) { return atomicAdd(word, 1); }

__device__ inline bool claim(int* word, int value) { return atomicCAS(word, 0, value) == 0; }

__device__ inline void add(double* sum, double term) { atomicAdd(sum, term); }

// What another block has written: not from the cache of this multiprocessor.
__device__ inline double fresh(const double* value) { return __ldcg(value); }

__device__ inline std::uint64_t nanoseconds() {
    std::uint64_t time = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

__device__ inline void pause() {}

#else

inline bool acquired(int* word, int value) {
    return std::atomic_ref(*word).load(std::memory_order_acquire) == value;
}
inline int peek(int* word) { return std::atomic_ref(*word).load(std::memory_order_relaxed); }
inline void release(int* word, int value) {
    std::atomic_ref(*word).store(value, std::memory_order_release);
}
inline bool count_down(int* word) {
    return std::atomic_ref(*word).fetch_sub(1, std::memory_order_acq_rel) == 1;
}
inline int take_next(int* word) {
    return std::atomic_ref(*word).fetch_add(1, std::memory_order_relaxed);
}
inline bool claim(int* word, int value) {
    int nothing = 0;
    return std::atomic_ref(*word).compare_exchange_strong(nothing, value);
}
inline void add(double* sum, double term) {
    std::atomic_ref(*sum).fetch_add(term, std::memory_order_relaxed);
}
inline double fresh(const double* value) { return *value; }
inline std::uint64_t nanoseconds() {
    return static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}
// There are more threads than cores.
inline void pause() { std::this_thread::yield(); }

#endif

} // namespace bench::sptrsv_gpu
