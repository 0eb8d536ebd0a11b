// Functions of the C library by which a core learns the time, waits and copies. The cores are
// linked so that they come here instead (see CMakeLists.txt).

#include "tools/simulate/virtual_time.hpp"

#include <atomic>
#include <cstdarg>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace virtual_time = nodeaware::simulation::virtual_time;

// NOLINTBEGIN(readability-identifier-naming): names that --wrap of the linker gives.
#define FOR_CORES extern "C" __attribute__((visibility("default")))

FOR_CORES int __wrap_clock_gettime(clockid_t /*clock*/, timespec* time) {
    constexpr double begin = 1000; // of no clock is the time 0
    const double now = begin + virtual_time::now();
    time->tv_sec = static_cast<time_t>(now);
    time->tv_nsec = static_cast<long>((now - static_cast<double>(time->tv_sec)) * 1e9);
    return 0;
}

FOR_CORES int __wrap_sched_yield() {
    virtual_time::pause();
    return 0;
}

FOR_CORES int __wrap_nanosleep(const timespec* /*time*/, timespec* /*rest*/) {
    virtual_time::pause();
    return 0;
}

FOR_CORES long __wrap_syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long arguments[6];
    for (long& argument : arguments) { argument = va_arg(list, long); }
    va_end(list);
    if (number != SYS_futex) {
        return syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                       arguments[5]);
    }
    if (arguments[1] == FUTEX_WAKE) {
        virtual_time::wake();
        return 0;
    }
    const auto* const word = reinterpret_cast<const std::atomic<uint32_t>*>(arguments[0]); // NOLINT
    const auto* const most = reinterpret_cast<const timespec*>(arguments[3]);              // NOLINT
    virtual_time::sleep(*word, static_cast<uint32_t>(arguments[2]),
                        static_cast<double>(most->tv_sec) +
                            1e-9 * static_cast<double>(most->tv_nsec));
    return 0; // the caller looks in any case
}

FOR_CORES void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
    virtual_time::charge_copy(bytes);
    return std::memcpy(to, from, bytes);
}

FOR_CORES void* __wrap_memmove(void* to, const void* from, size_t bytes) {
    virtual_time::charge_copy(bytes);
    return std::memmove(to, from, bytes);
}

/// The driver of devices, which the simulated machine has none of. The loader takes long to find
/// out that a file is not there where thousands of cores are loaded.
FOR_CORES void* __wrap_dlopen(const char* /*file*/, int /*flags*/) { return nullptr; }

// NOLINTEND(readability-identifier-naming)
