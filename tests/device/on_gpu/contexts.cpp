// Contexts, and a stream of the application that records.

#include "tests/device/on_gpu/real.hpp"
#include "tests/device/on_gpu/seen.hpp"

#include <map>
#include <mutex>
#include <utility>

namespace {

thread_local std::size_t pushed = 0;
constexpr int global = 0;
thread_local int capture_mode = global;

struct Capture {
    void* context = nullptr;
    void* stream = nullptr; ///< nullptr: none records
};
thread_local Capture capture;

/// By the numbers that programs use. With the lock of the driver.
std::map<int, int>& retained() {
    static auto* const all = new std::map<int, int>;
    return *all;
}
std::map<int, void*>& primary_contexts() { // of devices that there are
    static auto* const all = new std::map<int, void*>;
    return *all;
}

/// With the lock of the driver: how often, by any name.
int times_retained(int real) {
    int times = 0;
    for (const auto& [device, number] : retained()) {
        if (real_device(device) == real) { times += number; }
    }
    return times;
}

} // namespace

DRIVER cuInit(unsigned flags) {
    MAY_FAIL
    return REAL(cuInit)(flags);
}
DRIVER cuDeviceGet(int* device, int ordinal) {
    MAY_FAIL
    return REAL(cuDeviceGet)(device, ordinal);
}
DRIVER cuDevicePrimaryCtxRetain(void** context, int device) {
    MAY_FAIL
    const int real = real_device(device);
    const int code = REAL(cuDevicePrimaryCtxRetain)(context, real);
    if (code != success) { return code; }
    const std::lock_guard lock(driver_mutex());
    ++retained()[device];
    primary_contexts()[real] = *context;
    return code;
}
DRIVER cuDevicePrimaryCtxRelease(int device) {
    const int real = real_device(device);
    const int code = REAL(cuDevicePrimaryCtxRelease)(real);
    const std::lock_guard lock(driver_mutex());
    int& times = retained()[device];
    if (times > 0 && --times == 0 && times_retained(real) == 0) {
        forget(primary_contexts()[real]);
    }
    return code;
}
DRIVER cuDevicePrimaryCtxReset_v2(int device) {
    const int real = real_device(device);
    int others = 0;
    {
        // What is in use by its other name stays, for it is another device's.
        const std::lock_guard lock(driver_mutex());
        others = times_retained(real) - retained()[device];
        if (real != device && others > 0) {
            for (int& times = retained()[device]; times > 0; --times) {
                REAL(cuDevicePrimaryCtxRelease)(real);
            }
            return success;
        }
    }
    const int code = REAL(cuDevicePrimaryCtxReset_v2)(real);
    if (code != success) { return code; }
    const std::lock_guard lock(driver_mutex());
    for (auto& [name, times] : retained()) {
        if (real_device(name) == real) { times = 0; }
    }
    forget(primary_contexts()[real]);
    return code;
}
DRIVER cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* is_active) {
    MAY_FAIL
    const int real = real_device(device);
    const int code = REAL(cuDevicePrimaryCtxGetState)(real, flags, is_active);
    if (code != success || real == device) { return code; }
    const std::lock_guard lock(driver_mutex());
    *is_active = *is_active != 0 && retained()[device] > 0 ? 1 : 0;
    return code;
}
DRIVER cuCtxSetCurrent(void* context) { return REAL(cuCtxSetCurrent)(context); }
DRIVER cuCtxGetCurrent(void** context) {
    MAY_FAIL
    return REAL(cuCtxGetCurrent)(context);
}
DRIVER cuCtxPushCurrent_v2(void* context) {
    MAY_FAIL
    const int code = REAL(cuCtxPushCurrent_v2)(context);
    if (code == success) { ++pushed; }
    return code;
}
DRIVER cuCtxPopCurrent_v2(void** context) {
    const int code = REAL(cuCtxPopCurrent_v2)(context);
    if (code == success) { --pushed; }
    return code;
}
DRIVER cuCtxSynchronize() { return REAL(cuCtxSynchronize)(); }
DRIVER cuCtxGetId(void* context, unsigned long long* number) {
    MAY_FAIL
    return REAL(cuCtxGetId)(context, number);
}
DRIVER cuThreadExchangeStreamCaptureMode(int* mode) {
    MAY_FAIL
    const int wanted = *mode;
    const int code = REAL(cuThreadExchangeStreamCaptureMode)(mode);
    if (code == success) { capture_mode = wanted; }
    return code;
}
DRIVER cuStreamBeginCapture_v2(void* stream, int mode) {
    return REAL(cuStreamBeginCapture_v2)(stream, mode);
}
DRIVER cuStreamEndCapture(void* stream, void** graph) {
    return REAL(cuStreamEndCapture)(stream, graph);
}
DRIVER cuGetErrorString(int code, const char** text) { return REAL(cuGetErrorString)(code, text); }

extern "C" __attribute__((visibility("default"))) int stand_in_retained() {
    const std::lock_guard lock(driver_mutex());
    int times = 0;
    for (const auto& [device, number] : retained()) { times += number; }
    return times;
}
extern "C" __attribute__((visibility("default"))) StandInThread stand_in_thread() {
    return {pushed, capture_mode};
}

// One of its own each time, which no reset takes away: the strictest mode, in the thread that
// calls the library.
extern "C" __attribute__((visibility("default"))) void stand_in_begin_capture() {
    constexpr unsigned non_blocking = 1;
    void* context = context_now();
    const bool is_borrowed = context == nullptr;
    if (is_borrowed) {
        unsigned flags = 0;
        int is_active = 0;
        const bool is_there = REAL(cuDevicePrimaryCtxGetState)(0, &flags, &is_active) == success;
        if (!is_there || is_active == 0) { return; }
        if (REAL(cuDevicePrimaryCtxRetain)(&context, 0) != success) { return; }
    }
    in_context(context, [&] {
        void* stream = nullptr;
        const int code = REAL(cuStreamCreate)(&stream, non_blocking);
        if (code != success) { return code; }
        const int begun = REAL(cuStreamBeginCapture_v2)(stream, global);
        if (begun == success) {
            capture = {context, stream};
        } else {
            REAL(cuStreamDestroy_v2)(stream);
        }
        return begun;
    });
    if (is_borrowed) { REAL(cuDevicePrimaryCtxRelease)(0); }
}
extern "C" __attribute__((visibility("default"))) bool stand_in_end_capture() {
    const Capture ended = std::exchange(capture, {});
    if (ended.stream == nullptr) { return true; }
    const int code = in_context(ended.context, [&] {
        void* graph = nullptr;
        const int result = REAL(cuStreamEndCapture)(ended.stream, &graph);
        if (graph != nullptr) { REAL(cuGraphDestroy)(graph); }
        REAL(cuStreamDestroy_v2)(ended.stream);
        return result;
    });
    return code == success;
}
