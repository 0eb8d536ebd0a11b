#include "runtime/device/driver.hpp"

#include <atomic>
#include <dlfcn.h>
#include <link.h>
#include <mutex>
#include <type_traits>

namespace nodeaware::device {

const char* Driver::load(bool is_loaded_only) {
    const int only = is_loaded_only ? RTLD_NOLOAD : 0;
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | only);
    if (library == nullptr) { return "libcuda.so.1"; }
    const char* missing = nullptr;
    const auto look_for = [&](auto& function, const char* name) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    const auto find = [&](auto& function, const char* name) {
        look_for(function, name);
        if (function == nullptr && missing == nullptr) { missing = name; }
    };
    find(host_to_device, "cuMemcpyHtoD_v2");
    find(device_to_host, "cuMemcpyDtoH_v2");
    find(host_to_device_later, "cuMemcpyHtoDAsync_v2");
    find(device_to_host_later, "cuMemcpyDtoHAsync_v2");
    find(device_to_device_later, "cuMemcpyDtoDAsync_v2");
    look_for(rows_later, "cuMemcpy2DAsync_v2");
    find(stream_synchronize, "cuStreamSynchronize");
    find(pin, "cuMemHostRegister_v2");
    find(unpin, "cuMemHostUnregister");
    find(event_create, "cuEventCreate");
    find(event_record, "cuEventRecord");
    find(event_query, "cuEventQuery");
    find(event_synchronize, "cuEventSynchronize");
    find(event_destroy, "cuEventDestroy_v2");
    find(attributes_of, "cuPointerGetAttributes");
    look_for(set_attribute, "cuPointerSetAttribute");
    find(context_get, "cuCtxGetCurrent");
    find(context_set, "cuCtxSetCurrent");
    find(context_push, "cuCtxPushCurrent_v2");
    find(context_pop, "cuCtxPopCurrent_v2");
    find(context_retain, "cuDevicePrimaryCtxRetain");
    find(context_release, "cuDevicePrimaryCtxRelease");
    find(context_state, "cuDevicePrimaryCtxGetState");
    find(capture_mode, "cuThreadExchangeStreamCaptureMode");
    look_for(export_memory, "cuIpcGetMemHandle");
    look_for(open_memory, "cuIpcOpenMemHandle_v2");
    look_for(close_memory, "cuIpcCloseMemHandle");
    find(error_string, "cuGetErrorString");
    look_for(stream_wait_event, "cuStreamWaitEvent");
    look_for(context_number, "cuCtxGetId");
    look_for(module_load, "cuModuleLoadData");
    look_for(module_unload, "cuModuleUnload");
    look_for(module_function, "cuModuleGetFunction");
    look_for(launch, "cuLaunchKernel");
    look_for(pinned_address, "cuMemHostGetDevicePointer_v2");
    find(init, "cuInit");
    find(device_count, "cuDeviceGetCount");
    find(device_get, "cuDeviceGet");
    look_for(device_attribute, "cuDeviceGetAttribute");
    find(device_name, "cuDeviceGetName");
    find(device_memory, "cuDeviceTotalMem_v2");
    find(device_pci_id, "cuDeviceGetPCIBusId");
    find(synchronize, "cuCtxSynchronize");
    find(stream_create, "cuStreamCreate");
    find(stream_destroy, "cuStreamDestroy_v2");
    find(allocate, "cuMemAlloc_v2");
    find(allocate_managed, "cuMemAllocManaged");
    find(free, "cuMemFree_v2");
    find(allocate_host, "cuMemAllocHost_v2");
    find(free_host, "cuMemFreeHost");
    return missing;
}

std::string Driver::text_of(int code, const char* function) const {
    const char* text = nullptr;
    if (error_string(code, &text) != 0 || text == nullptr) { text = "unknown error"; }
    return std::string(function) + ": " + text + " (" + std::to_string(code) + ")";
}

namespace {

/// Changes whenever a library is loaded.
uint64_t libraries_loaded() {
    uint64_t loaded = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
            *static_cast<uint64_t*>(data) = info->dlpi_adds;
            return 1;
        },
        &loaded);
    return loaded;
}

std::atomic<const Driver*> found{nullptr};

} // namespace

void look_for_driver() {
    static std::atomic<uint64_t> looked_at{0};
    if (driver() != nullptr) { return; }
    const uint64_t loaded = libraries_loaded();
    if (looked_at.load(std::memory_order_acquire) == loaded) { return; }
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    static Driver of_process;
    if (driver() != nullptr) { return; }
    if (of_process.load(true) == nullptr) { found.store(&of_process, std::memory_order_release); }
    looked_at.store(loaded, std::memory_order_release); // others may go on, and find it
}

const Driver* driver() { return found.load(std::memory_order_acquire); }

} // namespace nodeaware::device
