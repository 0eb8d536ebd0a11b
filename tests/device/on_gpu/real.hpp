#pragma once

#include "tests/device/driver_function.hpp"

#include <cstddef>
#include <cstdint>

// The driver that all is handed on to.

constexpr int not_found = 500;

/// nullptr: it has none of that name. GPU_REAL_DRIVER is the driver's path, else it is looked for.
void* find_in_real_driver(const char* name);

template <class Function> struct Real;
template <class... Arguments> struct Real<int(Arguments...)> {
    using Function = int(Arguments...);

    static int missing(Arguments...) { return not_found; }
    static Function* find(const char* name) {
        void* const found = find_in_real_driver(name);
        return found != nullptr ? reinterpret_cast<Function*>(found) : &missing;
    }
};
/// The driver's own function, of which nothing is counted.
#define REAL(name)                                                                                 \
    ([] {                                                                                          \
        static auto* const function = Real<decltype(name)>::find(#name);                           \
        return function;                                                                           \
    }())

// Those that the tests do not call, and some that several files here do.
extern "C" {
int cuCtxPopCurrent_v2(void** context);
int cuCtxPushCurrent_v2(void* context);
int cuDeviceGetCount(int* count);
int cuGraphDestroy(void* graph);
int cuMemAllocAsync(std::uint64_t* address, std::size_t bytes, void* stream);
int cuStreamBeginCapture_v2(void* stream, int mode);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamDestroy_v2(void* stream);
int cuStreamEndCapture(void* stream, void** graph);
int cuStreamSynchronize(void* stream);
}

/// Calls `work` while that context is current.
template <class Work> int in_context(void* context, Work work) {
    const int code = REAL(cuCtxPushCurrent_v2)(context);
    if (code != success) { return code; }
    const int result = work();
    void* popped = nullptr;
    REAL(cuCtxPopCurrent_v2)(&popped);
    return result;
}

/// Tests use two devices. Where there is one, the second is another name of it.
bool is_one_device();
int real_device(int device);
