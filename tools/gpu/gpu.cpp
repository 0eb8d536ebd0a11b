#include "tools/gpu/gpu.hpp"

#include "runtime/device/driver.hpp"
#include "runtime/device/mpi_support.hpp"

#include <array>

namespace nodeaware::tool {

bool mpi_takes_devices() { return device::mpi_says_it_is_aware(); }

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
        size_t memory = 0;
        driver_->check(driver_->device_get(&device, ordinal), "cuDeviceGet");
        driver_->check(driver_->device_name(name.data(), name.size() - 1, device),
                       "cuDeviceGetName");
        driver_->check(driver_->device_memory(&memory, device), "cuDeviceTotalMem");
        all.push_back({name.data(), memory, bus_id(ordinal)});
    }
    return all;
}

std::string Gpu::bus_id(int device) const {
    int handle = 0;
    driver_->check(driver_->device_get(&handle, device), "cuDeviceGet");
    std::array<char, 32> text{};
    driver_->check(driver_->device_pci_id(text.data(), static_cast<int>(text.size()), handle),
                   "cuDeviceGetPCIBusId");
    return text.data();
}

int Gpu::find(const std::string& bus_id) const {
    for (int device = 0; device < devices_; ++device) {
        if (this->bus_id(device) == bus_id) { return device; }
    }
    return -1;
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

void Gpu::begin_to_device(uint64_t to, const void* from, size_t bytes, void* stream) const {
    driver_->check(driver_->host_to_device_later(to, from, bytes, stream), "cuMemcpyHtoDAsync");
}

void Gpu::begin_to_device_by_engine(uint64_t to, const void* from, size_t bytes,
                                    void* stream) const {
    if (driver_->rows_later == nullptr) { return begin_to_device(to, from, bytes, stream); }
    device::RowsCopy copy;
    copy.from_kind = device::RowsCopy::on_host;
    copy.from_host = reinterpret_cast<uintptr_t>(from);
    copy.to_kind = device::RowsCopy::on_device;
    copy.to_device = to;
    copy.rows = 2;
    copy.bytes = bytes / copy.rows;
    copy.from_stride = copy.bytes;
    copy.to_stride = copy.bytes;
    driver_->check(driver_->rows_later(&copy, stream), "cuMemcpy2DAsync");
}

void Gpu::begin_to_host(void* to, uint64_t from, size_t bytes, void* stream) const {
    driver_->check(driver_->device_to_host_later(to, from, bytes, stream), "cuMemcpyDtoHAsync");
}

void Gpu::wait(void* stream) const {
    driver_->check(driver_->stream_synchronize(stream), "cuStreamSynchronize");
}

void* Gpu::stream_of_thread() {
    return reinterpret_cast<void*>(uintptr_t{2}); // CU_STREAM_PER_THREAD
}

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

ReachableMemory::ReachableMemory(Gpu& gpu, void* address, size_t bytes)
    : driver_(*gpu.driver_), context_(driver_.current_context()), address_(address) {
    constexpr unsigned for_all_contexts = 1;
    driver_.check(driver_.pin(address, bytes, for_all_contexts), "cuMemHostRegister");
}

ReachableMemory::~ReachableMemory() {
    driver_.release_in(context_, [this] { driver_.unpin(address_); });
}

Stream::Stream(Gpu& gpu) : driver_(*gpu.driver_), context_(driver_.current_context()) {
    constexpr unsigned does_not_wait = 1;
    driver_.check(driver_.stream_create(&handle_, does_not_wait), "cuStreamCreate");
}

Stream::~Stream() {
    driver_.release_in(context_, [this] { driver_.stream_destroy(handle_); });
}

} // namespace nodeaware::tool
