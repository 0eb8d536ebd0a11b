#include "tools/nodeaware/gpu.hpp"

#include <dlfcn.h>
#include <type_traits>

namespace nodeaware::tool {

/// Of cuda.h, which is not needed to build: CUresult, CUdevice are int, CUcontext is a pointer,
/// CUdeviceptr has 64 bits.
struct CudaDriver {
    int (*init)(unsigned flags) = nullptr;
    int (*device_count)(int* count) = nullptr;
    int (*device_get)(int* device, int ordinal) = nullptr;
    int (*context_retain)(void** context, int device) = nullptr;
    int (*context_release)(int device) = nullptr;
    int (*context_set)(void* context) = nullptr;
    int (*context_get)(void** context) = nullptr;
    int (*synchronize)() = nullptr;
    int (*allocate)(uint64_t* address, size_t bytes) = nullptr;
    int (*free)(uint64_t address) = nullptr;
    int (*allocate_host)(void** address, size_t bytes) = nullptr;
    int (*free_host)(void* address) = nullptr;
    int (*host_to_device)(uint64_t to, const void* from, size_t bytes) = nullptr;
    int (*device_to_host)(void* to, uint64_t from, size_t bytes) = nullptr;
    int (*error_string)(int code, const char** text) = nullptr;

    /// The first thing that is missing; nullptr: nothing. The driver is never unloaded: it does not
    /// expect to be.
    const char* load() {
        void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) { return "libcuda.so.1"; }
        const char* missing = nullptr;
        const auto find = [&](auto& function, const char* name) {
            function =
                reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
            if (function == nullptr && missing == nullptr) { missing = name; }
        };
        find(init, "cuInit");
        find(device_count, "cuDeviceGetCount");
        find(device_get, "cuDeviceGet");
        find(context_retain, "cuDevicePrimaryCtxRetain");
        find(context_release, "cuDevicePrimaryCtxRelease");
        find(context_set, "cuCtxSetCurrent");
        find(context_get, "cuCtxGetCurrent");
        find(synchronize, "cuCtxSynchronize");
        find(allocate, "cuMemAlloc_v2");
        find(free, "cuMemFree_v2");
        find(allocate_host, "cuMemAllocHost_v2");
        find(free_host, "cuMemFreeHost");
        find(host_to_device, "cuMemcpyHtoD_v2");
        find(device_to_host, "cuMemcpyDtoH_v2");
        find(error_string, "cuGetErrorString");
        return missing;
    }

    std::string text_of(int code, const char* function) const {
        const char* text = nullptr;
        if (error_string(code, &text) != 0 || text == nullptr) { text = "unknown error"; }
        return std::string(function) + ": " + text + " (" + std::to_string(code) + ")";
    }

    void check(int code, const char* function) const {
        if (code != 0) { throw GpuError(text_of(code, function)); }
    }

    /// For destructors: no exception leaves, and what is in use stays in use.
    template <class Release> void release_in(void* context, Release release) const {
        void* used = nullptr;
        context_get(&used);
        if (context_set(context) == 0) { release(); }
        context_set(used);
    }

    void* current_context() const {
        void* context = nullptr;
        check(context_get(&context), "cuCtxGetCurrent");
        return context;
    }
};

Gpu::Gpu() : driver_(std::make_unique<CudaDriver>()) {}

Gpu::~Gpu() {
    if (!contexts_.empty()) { driver_->context_set(nullptr); }
    for (const auto& [device, context] : contexts_) { driver_->context_release(device); }
}

std::string Gpu::open() {
    if (opened_) { return complaint_; }
    opened_ = true;
    if (const char* missing = driver_->load()) {
        complaint_ = "there is no " + std::string(missing);
        return complaint_;
    }
    try {
        driver_->check(driver_->init(0), "cuInit");
        driver_->check(driver_->device_count(&devices_), "cuDeviceGetCount");
        if (devices_ == 0) { complaint_ = "the driver has no device"; }
    } catch (const GpuError& error) {
        complaint_ = error.what();
        devices_ = 0;
    }
    return complaint_;
}

void Gpu::use(int device) {
    int handle = 0;
    driver_->check(driver_->device_get(&handle, device), "cuDeviceGet");
    if (!contexts_.contains(handle)) {
        void* context = nullptr;
        driver_->check(driver_->context_retain(&context, handle), "cuDevicePrimaryCtxRetain");
        contexts_[handle] = context;
    }
    driver_->check(driver_->context_set(contexts_[handle]), "cuCtxSetCurrent");
}

void Gpu::copy_to_device(uint64_t to, const void* from, size_t bytes) const {
    driver_->check(driver_->host_to_device(to, from, bytes), "cuMemcpyHtoD");
}

void Gpu::copy_to_host(void* to, uint64_t from, size_t bytes) const {
    driver_->check(driver_->device_to_host(to, from, bytes), "cuMemcpyDtoH");
}

void Gpu::synchronize() const { driver_->check(driver_->synchronize(), "cuCtxSynchronize"); }

DeviceBuffer::DeviceBuffer(Gpu& gpu, size_t bytes)
    : driver_(*gpu.driver_), context_(driver_.current_context()) {
    driver_.check(driver_.allocate(&address_, bytes), "cuMemAlloc");
}

DeviceBuffer::~DeviceBuffer() {
    driver_.release_in(context_, [this] { driver_.free(address_); });
}

PinnedBuffer::PinnedBuffer(Gpu& gpu, size_t bytes)
    : driver_(*gpu.driver_), context_(driver_.current_context()) {
    driver_.check(driver_.allocate_host(&address_, bytes), "cuMemAllocHost");
}

PinnedBuffer::~PinnedBuffer() {
    driver_.release_in(context_, [this] { driver_.free_host(address_); });
}

} // namespace nodeaware::tool
