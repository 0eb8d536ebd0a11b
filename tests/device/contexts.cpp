// Contexts, and what threads may call while a stream records what it is given.

#include "tests/device/contexts.hpp"

#include "tests/device/driver_function.hpp"
#include "tests/device/shared_allocations.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace {

thread_local std::array<Context*, 16> contexts{};
thread_local std::size_t depth = 0; ///< of contexts, below the current one

constexpr int global = 0;
constexpr int relaxed = 2;
constexpr int spoilt_capture = 901;
thread_local int capture_mode = global;
std::atomic<bool> is_recording = false;
std::atomic<bool> is_spoilt = false;

/// With the lock of the driver. Never freed: programs may still have its address.
Context*& primary(int device) {
    static std::array<Context*, devices> all = {new Context{0}, new Context{1}};
    return all.at(static_cast<std::size_t>(device));
}

bool is_a_device(int device) { return device >= 0 && device < devices; }

/// With the lock of the driver.
void end(Context*& context) {
    forget_copies(context);
    forget_imports(context);
    forget_pinned(context);
    forget_allocations(context);
    context->is_over = true;
    context = new Context{context->device};
}

} // namespace

Context* primary_context(int device) { return primary(device); }
Context* current() { return contexts[depth]; }
void* current_context() {
    const Context* const used = current();
    return used != nullptr && !used->is_over ? contexts[depth] : nullptr;
}

unsigned long long number_of(const void* context) {
    const auto* const known = static_cast<const Context*>(context);
    const bool is_there = known != nullptr && !known->is_over && known->retained > 0;
    return is_there ? reinterpret_cast<std::uintptr_t>(known) : 0; // no other has the address
}

bool may_not_be_called() {
    if (!is_recording || capture_mode == relaxed) { return false; }
    is_spoilt = true;
    return true;
}

bool would_wait_for_all_streams() {
    if (is_recording) { is_spoilt = true; }
    return is_recording;
}

DRIVER cuDevicePrimaryCtxRetain(void** context, int device) {
    MAY_FAIL
    if (!is_a_device(device)) { return invalid_value; }
    const std::lock_guard lock(driver_mutex());
    ++primary(device)->retained;
    *context = primary(device);
    return success;
}
DRIVER cuDevicePrimaryCtxRelease(int device) {
    if (!is_a_device(device)) { return invalid_value; }
    const std::lock_guard lock(driver_mutex());
    if (primary(device)->retained == 0) { return invalid_context; }
    if (--primary(device)->retained == 0) { end(primary(device)); }
    return success;
}
DRIVER cuDevicePrimaryCtxReset_v2(int device) {
    if (!is_a_device(device)) { return invalid_value; }
    const std::lock_guard lock(driver_mutex());
    end(primary(device));
    return success;
}
DRIVER cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* is_active) {
    MAY_FAIL
    if (!is_a_device(device)) { return invalid_value; }
    const std::lock_guard lock(driver_mutex());
    *flags = 0;
    *is_active = primary(device)->retained > 0 ? 1 : 0;
    return success;
}
DRIVER cuCtxSetCurrent(void* context) {
    contexts[depth] = static_cast<Context*>(context);
    return success;
}
DRIVER cuCtxGetCurrent(void** context) {
    MAY_FAIL
    *context = current();
    return success;
}
DRIVER cuCtxPushCurrent_v2(void* context) {
    MAY_FAIL
    if (context == nullptr || depth + 1 == contexts.size()) { return invalid_context; }
    const std::lock_guard lock(driver_mutex());
    auto* const pushed = static_cast<Context*>(context);
    if (pushed->retained == 0 || pushed->is_over) { return invalid_context; }
    contexts[++depth] = pushed;
    return success;
}
DRIVER cuCtxPopCurrent_v2(void** context) {
    *context = current();
    if (depth == 0) { return invalid_context; }
    --depth;
    return success;
}
DRIVER cuThreadExchangeStreamCaptureMode(int* mode) {
    MAY_FAIL
    if (*mode < global || *mode > relaxed) { return invalid_value; }
    std::swap(*mode, capture_mode);
    return success;
}
// What records is not looked at: the graph is empty.
DRIVER cuStreamBeginCapture_v2(void* /*stream*/, int /*mode*/) {
    is_spoilt = false;
    is_recording = true;
    return success;
}
DRIVER cuStreamEndCapture(void* /*stream*/, void** graph) {
    *graph = nullptr;
    is_recording = false;
    return is_spoilt ? spoilt_capture : success;
}

extern "C" __attribute__((visibility("default"))) void stand_in_begin_capture() {
    is_spoilt = false;
    is_recording = true;
}
extern "C" __attribute__((visibility("default"))) bool stand_in_end_capture() {
    is_recording = false;
    return !is_spoilt;
}
extern "C" __attribute__((visibility("default"))) StandInThread stand_in_thread() {
    return {depth, capture_mode};
}
extern "C" __attribute__((visibility("default"))) int stand_in_retained() {
    const std::lock_guard lock(driver_mutex());
    return primary(0)->retained + primary(1)->retained;
}
