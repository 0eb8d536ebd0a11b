#include "runtime/device/memory.hpp"

#include "runtime/device/driver.hpp"
#include "runtime/job/log.hpp"
#include "runtime/mpi/mpi.hpp"

#include <array>
#include <dlfcn.h>

namespace nodeaware::device {

namespace {

// Of cuda.h.
constexpr int attribute_context = 1;
constexpr int attribute_memory_type = 2;
constexpr int attribute_is_managed = 8;
constexpr int attribute_device = 9;
constexpr int attribute_range_begin = 11;
constexpr int attribute_range_bytes = 12;
constexpr unsigned type_device = 2;
constexpr int capture_mode_relaxed = 2;
constexpr int invalid_value = 1;
constexpr int not_initialized = 3;
constexpr int deinitialized = 4;

void check(int code, const char* function) {
    if (code == 0) { return; }
    log(LogLevel::warn, "{}", driver()->text_of(code, function));
    throw MpiError(MPI_ERR_OTHER, function);
}

/// While it lives, the context of some memory is the one of this thread.
class InContext {
  public:
    explicit InContext(const Place& place) : ordinal_(place.ordinal) {
        // What a stream records is not concerned.
        check(driver()->capture_mode(&mode_), "cuThreadExchangeStreamCaptureMode");
        void* context = place.context;
        try {
            if (context == nullptr) { context = retain_primary(); }
            check(driver()->context_push(context), "cuCtxPushCurrent");
        } catch (...) {
            leave();
            throw;
        }
        is_pushed_ = true;
    }
    ~InContext() {
        void* popped = nullptr;
        if (is_pushed_) { driver()->context_pop(&popped); }
        leave();
    }
    InContext(const InContext&) = delete;
    InContext& operator=(const InContext&) = delete;

  private:
    /// Only one that is there: the program has made it to use its memory.
    void* retain_primary() {
        check(driver()->device_get(&device_, ordinal_), "cuDeviceGet");
        unsigned flags = 0;
        int is_active = 0;
        check(driver()->context_state(device_, &flags, &is_active), "cuDevicePrimaryCtxGetState");
        if (is_active == 0) {
            throw MpiError(MPI_ERR_BUFFER, "memory of a device without context");
        }
        void* context = nullptr;
        check(driver()->context_retain(&context, device_), "cuDevicePrimaryCtxRetain");
        is_retained_ = true;
        return context;
    }
    void leave() {
        if (is_retained_) { driver()->context_release(device_); }
        driver()->capture_mode(&mode_);
    }

    int ordinal_;
    int mode_ = capture_mode_relaxed;
    int device_ = 0;
    bool is_pushed_ = false;
    bool is_retained_ = false;
};

/// What the MPI says of itself; it may have been built for devices, and find none.
bool mpi_says_so() {
    if (auto* const open_mpi =
            reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"))) {
        return open_mpi() == 1;
    }
    constexpr int cuda = 0; // MPIX_GPU_SUPPORT_CUDA
    int answer = 0;
    auto* const mpich =
        reinterpret_cast<int (*)(int, int*)>(dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support"));
    return mpich != nullptr && mpich(cuda, &answer) == MPI_SUCCESS && answer != 0;
}

bool is_aware = false;

} // namespace

void set_mpi_awareness(DeviceAware wanted) {
    is_aware = wanted == DeviceAware::automatic ? mpi_says_so() : wanted == DeviceAware::yes;
}

bool mpi_is_aware() { return is_aware; }

Place locate(const void* address) {
    const Driver* const known = driver();
    if (known == nullptr || address == nullptr) { return {}; }
    Place place;
    unsigned type = 0;
    int is_managed = 0;
    std::array attributes = {attribute_context, attribute_memory_type, attribute_is_managed,
                             attribute_device,  attribute_range_begin, attribute_range_bytes};
    std::array<void*, attributes.size()> values = {
        &place.context,         &type, &is_managed, &place.ordinal, &place.allocation.begin,
        &place.allocation.bytes};
    const int code =
        known->attributes_of(static_cast<unsigned>(attributes.size()), attributes.data(),
                             values.data(), reinterpret_cast<uintptr_t>(address));
    // Nothing is a device's before it is initialized, or when it is no more.
    if (code == not_initialized || code == deinitialized || code == invalid_value) { return {}; }
    check(code, "cuPointerGetAttributes");
    if (type != type_device && is_managed == 0) { return {}; }
    place.is_on_device = true;
    return place;
}

void copy_to_host(const Place& place, void* to, uint64_t from, uint64_t bytes) {
    const InContext in_context(place);
    check(driver()->device_to_host(to, from, bytes), "cuMemcpyDtoH");
}

void copy_to_device(const Place& place, uint64_t to, const void* from, uint64_t bytes) {
    const InContext in_context(place);
    check(driver()->host_to_device(to, from, bytes), "cuMemcpyHtoD");
}

} // namespace nodeaware::device
