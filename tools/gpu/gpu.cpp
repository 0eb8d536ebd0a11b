#include "tools/gpu/gpu.hpp"

#include "runtime/device/driver.hpp"

#include <array>

namespace nodeaware::tool {

/// The driver, with errors as exceptions.
struct CudaDriver : device::Driver {
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
    if (const char* missing = driver_->load(false)) {
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

std::vector<GpuDescription> Gpu::describe() const {
    std::vector<GpuDescription> all;
    for (int ordinal = 0; ordinal < devices_; ++ordinal) {
        int device = 0;
        std::array<char, 128> name{};
        std::array<char, 32> pci_id{};
        size_t memory = 0;
        driver_->check(driver_->device_get(&device, ordinal), "cuDeviceGet");
        driver_->check(driver_->device_name(name.data(), name.size() - 1, device),
                       "cuDeviceGetName");
        driver_->check(driver_->device_memory(&memory, device), "cuDeviceTotalMem");
        driver_->check(driver_->device_pci_id(pci_id.data(), pci_id.size() - 1, device),
                       "cuDeviceGetPCIBusId");
        all.push_back({name.data(), memory, pci_id.data()});
    }
    return all;
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

DeviceBuffer::DeviceBuffer(Gpu& gpu, size_t bytes, bool is_managed)
    : driver_(*gpu.driver_), context_(driver_.current_context()) {
    constexpr unsigned for_all_streams = 1;
    if (is_managed) {
        driver_.check(driver_.allocate_managed(&address_, bytes, for_all_streams),
                      "cuMemAllocManaged");
    } else {
        driver_.check(driver_.allocate(&address_, bytes), "cuMemAlloc");
    }
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
