// A stand-in for libcuda.so.1: enough of it for the library to recognise memory of a device.

#include "tests/mpi/device/stand_in.hpp"

#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>

namespace {

constexpr std::size_t size = 1U << 26U;

struct Device {
    char* memory = static_cast<char*>(
        mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    std::size_t used = 0;
};

Device& device() {
    static Device made;
    if (made.memory == MAP_FAILED) { std::abort(); }
    return made;
}

} // namespace

extern "C" void* stand_in_allocate(std::size_t bytes) {
    Device& from = device();
    if (bytes > size - from.used) { std::abort(); }
    from.used += bytes;
    return from.memory + (from.used - bytes);
}

extern "C" void stand_in_open(bool open) {
    if (mprotect(device().memory, size, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) {
        std::abort();
    }
}

extern "C" int cuPointerGetAttribute(void* data, int attribute, std::uint64_t pointer) {
    const auto begin = reinterpret_cast<std::uintptr_t>(device().memory);
    if (attribute != 2 || pointer < begin || pointer >= begin + size) { return 1; }
    *static_cast<unsigned*>(data) = 2;
    return 0;
}
