// Streams, events, kernels, and memory of the host that is pinned.

#include "tests/device/on_gpu/real.hpp"
#include "tests/device/on_gpu/seen.hpp"

#include <map>
#include <mutex>

namespace {

using Handles = std::map<void*, void*>;

int note_made(int code, Handles Seen::*kind, void* const* handle) {
    if (code != success) { return code; }
    void* const context = context_now();
    const std::lock_guard lock(driver_mutex());
    (seen().*kind)[*handle] = context;
    return code;
}
int note_gone(int code, Handles Seen::*kind, void* handle) {
    if (code != success) { return code; }
    const std::lock_guard lock(driver_mutex());
    (seen().*kind).erase(handle);
    return code;
}

int note_pinned(int code, const void* memory, std::size_t bytes, bool is_registered) {
    if (code != success) { return code; }
    void* const context = context_now();
    const std::lock_guard lock(driver_mutex());
    seen().pinned[reinterpret_cast<std::uintptr_t>(memory)] = {bytes, context, is_registered};
    return code;
}
int note_unpinned(int code, const void* memory) {
    if (code != success) { return code; }
    const std::lock_guard lock(driver_mutex());
    seen().pinned.erase(reinterpret_cast<std::uintptr_t>(memory));
    return code;
}

} // namespace

DRIVER cuStreamCreate(void** stream, unsigned flags) {
    MAY_FAIL
    return note_made(REAL(cuStreamCreate)(stream, flags), &Seen::streams, stream);
}
DRIVER cuStreamDestroy_v2(void* stream) {
    MAY_FAIL
    return note_gone(REAL(cuStreamDestroy_v2)(stream), &Seen::streams, stream);
}
DRIVER cuStreamSynchronize(void* stream) {
    MAY_FAIL
    return REAL(cuStreamSynchronize)(stream);
}
DRIVER cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
    MAY_FAIL
    return REAL(cuStreamWaitEvent)(stream, event, flags);
}
DRIVER cuEventCreate(void** event, unsigned flags) {
    MAY_FAIL
    return note_made(REAL(cuEventCreate)(event, flags), &Seen::events, event);
}
DRIVER cuEventRecord(void* event, void* stream) {
    MAY_FAIL
    return REAL(cuEventRecord)(event, stream);
}
DRIVER cuEventQuery(void* event) {
    MAY_FAIL
    return REAL(cuEventQuery)(event);
}
DRIVER cuEventSynchronize(void* event) {
    MAY_FAIL
    return REAL(cuEventSynchronize)(event);
}
DRIVER cuEventDestroy_v2(void* event) {
    MAY_FAIL
    return note_gone(REAL(cuEventDestroy_v2)(event), &Seen::events, event);
}

DRIVER cuModuleLoadData(void** module, const void* image) {
    MAY_FAIL
    return note_made(REAL(cuModuleLoadData)(module, image), &Seen::modules, module);
}
DRIVER cuModuleUnload(void* module) {
    MAY_FAIL
    return note_gone(REAL(cuModuleUnload)(module), &Seen::modules, module);
}
DRIVER cuModuleGetFunction(void** function, void* module, const char* name) {
    MAY_FAIL
    return REAL(cuModuleGetFunction)(function, module, name);
}
/// What kernels copy is not among the bytes: their lists may be where only they read.
DRIVER cuLaunchKernel(void* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                      unsigned threads_x, unsigned threads_y, unsigned threads_z,
                      unsigned shared_bytes, void* stream, void** parameters, void** extra) {
    MAY_FAIL
    const int code =
        REAL(cuLaunchKernel)(function, blocks_x, blocks_y, blocks_z, threads_x, threads_y,
                             threads_z, shared_bytes, stream, parameters, extra);
    if (code != success) { return code; }
    const std::lock_guard lock(driver_mutex());
    ++counts().launches;
    return code;
}

DRIVER cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags) {
    MAY_FAIL
    const int code = REAL(cuMemHostRegister_v2)(memory, bytes, flags);
    if (code == already_pinned) {
        const std::lock_guard lock(driver_mutex());
        ++counts().pinned_again;
    }
    return note_pinned(code, memory, bytes, true);
}
DRIVER cuMemHostUnregister(void* memory) {
    MAY_FAIL
    return note_unpinned(REAL(cuMemHostUnregister)(memory), memory);
}
DRIVER cuMemHostGetDevicePointer_v2(std::uint64_t* address, void* memory, unsigned flags) {
    MAY_FAIL
    return REAL(cuMemHostGetDevicePointer_v2)(address, memory, flags);
}
DRIVER cuMemAllocHost_v2(void** address, std::size_t bytes) {
    const int code = REAL(cuMemAllocHost_v2)(address, bytes);
    return note_pinned(code, code == success ? *address : nullptr, bytes, false);
}
DRIVER cuMemFreeHost(void* address) { return note_unpinned(REAL(cuMemFreeHost)(address), address); }
