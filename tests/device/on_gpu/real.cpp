#include "tests/device/on_gpu/real.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace {

constexpr std::array usual_places = {
    "/usr/lib/x86_64-linux-gnu", "/usr/lib64",
    "/usr/local/nvidia/lib64",   "/usr/local/nvidia/lib",
    "/usr/lib/wsl/lib",          "/usr/lib/aarch64-linux-gnu",
    "/usr/local/cuda/compat",    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu"};

/// By its path: the name alone would be this library's. nullptr: none, or it is this library, which
/// would hand on to itself for ever.
void* open_other(const char* path) {
    void* const opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) { return nullptr; }
    const bool is_this = dlsym(opened, "stand_in_is_on_gpu") != nullptr;
    if (is_this) { dlclose(opened); }
    return is_this ? nullptr : opened;
}

void* open_real_driver() {
    const char* const path = std::getenv("GPU_REAL_DRIVER");
    if (path != nullptr && *path != '\0') {
        void* const opened = open_other(path);
        if (opened == nullptr) {
            const char* const reason = dlerror();
            std::fprintf(stderr, "on_gpu: %s: %s\n", path,
                         reason != nullptr ? reason : "is this library");
        }
        return opened;
    }
    for (const char* const place : usual_places) {
        std::array<char, 256> file{};
        std::snprintf(file.data(), file.size(), "%s/libcuda.so.1", place);
        void* const opened = open_other(file.data());
        if (opened != nullptr) { return opened; }
    }
    std::fprintf(stderr, "on_gpu: no driver is found; GPU_REAL_DRIVER tells where it is\n");
    return nullptr;
}

/// 0: not known yet.
int devices_there() {
    static const char* const wanted = std::getenv("GPU_REAL_DEVICES");
    if (wanted != nullptr) { return std::atoi(wanted); }
    int count = 0;
    return REAL(cuDeviceGetCount)(&count) == success ? count : 0;
}

} // namespace

void* find_in_real_driver(const char* name) {
    static void* const driver = open_real_driver();
    return driver != nullptr ? dlsym(driver, name) : nullptr;
}

bool is_one_device() { return devices_there() == 1; }
int real_device(int device) { return device == 1 && is_one_device() ? 0 : device; }

/// What this library is known by.
DRIVER stand_in_is_on_gpu() { return 1; }

DRIVER cuDeviceGetCount(int* count) {
    const int code = REAL(cuDeviceGetCount)(count);
    if (code == success && is_one_device()) { *count = 1; }
    return code;
}
DRIVER cuDeviceGetName(char* name, int length, int device) {
    return REAL(cuDeviceGetName)(name, length, real_device(device));
}
DRIVER cuDeviceGetPCIBusId(char* text, int length, int device) {
    return REAL(cuDeviceGetPCIBusId)(text, length, real_device(device));
}
DRIVER cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
    return REAL(cuDeviceTotalMem_v2)(bytes, real_device(device));
}
