// Functions of the C library by which the library under test learns the time and lets others run.
// They are found here before those of the C library. Inside of a job time is that of the scheduler,
// and whoever sleeps lets another rank go on.

#include "tests/unit/scripted/scheduler.hpp"

#include <cerrno>
#include <cstdarg>
#include <ctime>
#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using scripted::Scheduler;

template <class Function> Function* next(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool yields() {
    Scheduler* const scheduler = Scheduler::running();
    if (scheduler == nullptr) { return false; }
    scheduler->may_switch();
    return true;
}

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int clock_gettime(clockid_t clock, timespec* time) noexcept {
    if (const Scheduler* const scheduler = Scheduler::running()) {
        constexpr uint64_t second = 1000000000;
        const uint64_t nanoseconds = 1000 * second + scheduler->nanoseconds();
        time->tv_sec = static_cast<time_t>(nanoseconds / second);
        time->tv_nsec = static_cast<long>(nanoseconds % second);
        return 0;
    }
    static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
    return real(clock, time);
}

EXPORTED int sched_yield() noexcept {
    static auto* const real = next<int()>("sched_yield");
    return yields() ? 0 : real();
}

EXPORTED int nanosleep(const timespec* time, timespec* rest) {
    static auto* const real = next<int(const timespec*, timespec*)>("nanosleep");
    return yields() ? 0 : real(time, rest);
}

/// A rank leaves its core in the middle of nothing but the calls by which it lets others run.
EXPORTED int getrusage(__rusage_who_t who, rusage* usage) noexcept {
    if (Scheduler::running() != nullptr) {
        *usage = {};
        return 0;
    }
    static auto* const real = next<int(__rusage_who_t, rusage*)>("getrusage");
    return real(who, usage);
}

EXPORTED long syscall(long number, ...) noexcept {
    if (number == SYS_futex && yields()) { return 0; }
    static auto* const real = next<long(long, ...)>("syscall");
    va_list list;
    va_start(list, number);
    long arguments[6];
    for (long& argument : arguments) { argument = va_arg(list, long); }
    va_end(list);
    return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
}
