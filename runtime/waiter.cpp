#include "runtime/waiter.hpp"

#include "runtime/tags.hpp"

#include <algorithm>
#include <ctime>
#include <sched.h>

namespace nodeaware {

namespace {

// In rounds of waiting. A round costs a look at the conditions and at MPI, some 0.1 to 1
// microseconds.
constexpr uint32_t spins = 2000;
constexpr uint32_t yields = 20000;
constexpr uint32_t yields_oversubscribed = 4;

constexpr uint32_t rounds_between_checks = 128;

constexpr uint32_t shortest_sleep = 50; // microseconds; only what rings no bell waits so long
constexpr uint32_t longest_sleep = 1000;
constexpr uint32_t sleep_with_requests = 20;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

} // namespace

void Waiter::pause(uint32_t bell, bool only_bell) {
    const uint32_t spin_until = oversubscribed_ ? 0 : spins;
    const uint32_t yield_until =
        oversubscribed_ && only_bell ? yields_oversubscribed : spin_until + yields;
    const uint32_t round = idle_++;
    if (round % rounds_between_checks == rounds_between_checks - 1 && check_) { check_(); }
    if (round < spin_until) {
        relax();
    } else if (round < yield_until) {
        sched_yield();
    } else if (only_bell) {
        const uint32_t slept = std::min(round - yield_until, 10U);
        arena_.sleep(bell, std::min(shortest_sleep << slept, longest_sleep));
    } else {
        const timespec time{0, sleep_with_requests * 1000L};
        nanosleep(&time, nullptr);
    }
}

void Waiter::progress_mpi() {
    int flag = 0;
    MPI_CALL(Iprobe, MPI_ANY_SOURCE, tags::never_used, comm_, &flag, MPI_STATUS_IGNORE);
}

} // namespace nodeaware
