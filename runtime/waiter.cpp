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
constexpr uint32_t rounds_between_checks = 128;

// Microseconds. The bell ends a sleep at once; the limits are for MPI, which may have work to do
// for others. They double, so that such work waits little longer than this rank has waited.
constexpr uint32_t shortest_sleep = 200;
constexpr uint32_t doublings = 6;
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
    // With more ranks than cores, a rank that only waits for the bell leaves its core to others
    // without delay.
    const uint32_t yield_until = oversubscribed_ && only_bell ? 0 : spin_until + yields;
    const uint32_t round = idle_++;
    if (round % rounds_between_checks == rounds_between_checks - 1 && check_) { check_(); }
    if (round < spin_until) {
        relax();
    } else if (round < yield_until) {
        sched_yield();
    } else if (only_bell) {
        arena_.sleep(bell, shortest_sleep << std::min(round - yield_until, doublings));
    } else {
        const timespec time{0, sleep_with_requests * 1000L};
        nanosleep(&time, nullptr);
    }
    if (only_bell) { progress_mpi(); }
}

void Waiter::progress_mpi() {
    int flag = 0;
    MPI_CALL(Iprobe, MPI_ANY_SOURCE, tags::never_used, comm_, &flag, MPI_STATUS_IGNORE);
}

} // namespace nodeaware
