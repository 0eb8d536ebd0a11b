// A stand-in for libcuda.so.1 whose copies take a known time: alpha and beta of both directions are
// GPU_STAND_IN="ALPHA BETA ALPHA BETA" (seconds, seconds per byte; host to device first). As on a
// device with one copy engine, copies of several processes follow one another. Its memory is that
// of the host, so any MPI can send from it.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace {

constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int not_initialized = 3;
constexpr int invalid_context = 201;

int context_of_device = 0;
bool initialized = false;
int retained = 0;
bool current = false;

double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Sleeps for most of the time, so that ranks without a core of their own get to theirs.
void wait_until(double end) {
    constexpr double to_wake_up = 100e-6;
    const double left = end - now();
    if (left > to_wake_up) {
        const auto nap = static_cast<long>(1e9 * (left - to_wake_up));
        const timespec time{nap / 1'000'000'000, nap % 1'000'000'000};
        nanosleep(&time, nullptr);
    }
    while (now() < end) {}
}

/// The lock that all processes share is on this library itself: nothing is left behind.
int engine() {
    static const int file = [] {
        Dl_info info{};
        if (dladdr(&context_of_device, &info) == 0) { std::abort(); }
        const int opened = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
        if (opened < 0) { std::abort(); }
        prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
        return opened;
    }();
    return file;
}

std::array<double, 4> costs() {
    std::array<double, 4> all{};
    const char* text = std::getenv("GPU_STAND_IN");
    if (text == nullptr) { std::abort(); }
    for (double& cost : all) {
        char* end = nullptr;
        cost = std::strtod(text, &end);
        text = end;
    }
    return all;
}

int copy(std::size_t direction, void* to, const void* from, std::size_t bytes) {
    static const std::array<double, 4> set = costs();
    if (!current) { return invalid_context; }
    if (flock(engine(), LOCK_EX) != 0) { std::abort(); }
    const double end =
        now() + set[2 * direction] + set[2 * direction + 1] * static_cast<double>(bytes);
    std::memcpy(to, from, bytes);
    wait_until(end);
    flock(engine(), LOCK_UN);
    return success;
}

} // namespace

#define DRIVER extern "C" __attribute__((visibility("default"))) int

DRIVER cuInit(unsigned flags) {
    initialized = flags == 0;
    return initialized ? success : invalid_value;
}
DRIVER cuDeviceGetCount(int* count) {
    // One rank may be without.
    const char* without = std::getenv("GPU_STAND_IN_WITHOUT");
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    if (rank == nullptr) { rank = std::getenv("PMI_RANK"); }
    *count = without != nullptr && rank != nullptr && std::strcmp(rank, without) == 0 ? 0 : 1;
    return initialized ? success : not_initialized;
}
DRIVER cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return initialized && ordinal == 0 ? success : invalid_value;
}
DRIVER cuDevicePrimaryCtxRetain(void** context, int device) {
    ++retained;
    *context = &context_of_device;
    return device == 0 ? success : invalid_value;
}
DRIVER cuDevicePrimaryCtxRelease(int device) {
    return device == 0 && --retained >= 0 ? success : invalid_value;
}
DRIVER cuCtxSetCurrent(void* context) {
    current = context == &context_of_device && retained > 0;
    return current || context == nullptr ? success : invalid_context;
}
DRIVER cuCtxGetCurrent(void** context) {
    *context = current ? &context_of_device : nullptr;
    return success;
}
DRIVER cuCtxSynchronize() { return current ? success : invalid_context; }
DRIVER cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
    if (!current) { return invalid_context; }
    *address = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
    return success;
}
DRIVER cuMemFree_v2(std::uint64_t address) {
    std::free(reinterpret_cast<void*>(address));
    return current ? success : invalid_context;
}
DRIVER cuMemAllocHost_v2(void** address, std::size_t bytes) {
    if (!current) { return invalid_context; }
    *address = std::malloc(bytes);
    return success;
}
DRIVER cuMemFreeHost(void* address) {
    std::free(address);
    return current ? success : invalid_context;
}
DRIVER cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
    return copy(0, reinterpret_cast<void*>(to), from, bytes);
}
DRIVER cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
    return copy(1, to, reinterpret_cast<void*>(from), bytes);
}
DRIVER cuGetErrorString(int code, const char** text) {
    *text = code == invalid_context ? "stand-in: no context" : "stand-in: failed";
    return success;
}

// Seen by the MPI's users only where this library is preloaded: then the MPI is device-aware.
// NOLINTNEXTLINE(readability-identifier-naming)
DRIVER MPIX_Query_cuda_support() { return 1; }
