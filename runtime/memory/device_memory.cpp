#include "runtime/memory/device_memory.hpp"

#include <atomic>
#include <cstdint>
#include <dlfcn.h>
#include <link.h>

namespace nodeaware {

namespace {

// Of cuda.h, which is not needed to build.
constexpr int attribute_memory_type = 2;
constexpr unsigned memory_type_device = 2;
constexpr int success = 0;
using PointerGetAttribute = int (*)(void* data, int attribute, uint64_t pointer);

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

std::atomic<PointerGetAttribute> pointer_get_attribute{nullptr}; // the driver is never unloaded

} // namespace

void look_for_devices() {
    static std::atomic<uint64_t> looked_at{0};
    if (pointer_get_attribute.load(std::memory_order_relaxed) != nullptr) { return; }
    const uint64_t loaded = libraries_loaded();
    if (looked_at.exchange(loaded, std::memory_order_relaxed) == loaded) { return; }
    if (void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)) {
        pointer_get_attribute.store(
            reinterpret_cast<PointerGetAttribute>(dlsym(library, "cuPointerGetAttribute")),
            std::memory_order_release);
    }
}

bool is_device_memory(const void* address) {
    const PointerGetAttribute get = pointer_get_attribute.load(std::memory_order_acquire);
    if (get == nullptr) { return false; }
    unsigned type = 0;
    return get(&type, attribute_memory_type, reinterpret_cast<uintptr_t>(address)) == success &&
           type == memory_type_device;
}

} // namespace nodeaware
