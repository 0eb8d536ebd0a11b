#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <sched.h>

/// How a rank waits for what nobody announces: it spins for a short time, then yields the core,
/// then sleeps. With more ranks than cores a spinning rank keeps the one from running that it waits
/// for, so there it yields at once.
namespace nodeaware::backoff {

// In rounds of waiting. A round costs a look at the conditions and at MPI, some 0.1 to 1
// microseconds.
inline constexpr uint32_t spins = 2000;
inline constexpr uint32_t yields = 20000;

inline constexpr long sleep_nanoseconds = 20000;

inline void relax() {
#if defined(NODEAWARE_VIRTUAL_TIME) // which passes only where the rank says that it waits
    sched_yield();
#elif defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

inline void nap() {
    const timespec time{0, sleep_nanoseconds};
    nanosleep(&time, nullptr);
}

/// The same where other threads want to look, too: who has waited in vain for long gives way for
/// longer, up to two milliseconds.
inline void step_aside(uint32_t round) {
    constexpr uint32_t shortly = 32;
    constexpr long shortest = 16000; // nanoseconds
    constexpr uint32_t most_doublings = 7;
    if (round < shortly) {
        sched_yield();
        return;
    }
    const timespec time{0, shortest << std::min(round / shortly - 1, most_doublings)};
    nanosleep(&time, nullptr);
}

/// The `round`-th round in vain.
inline void pause(uint32_t round, bool oversubscribed) {
    const uint32_t spin_until = oversubscribed ? 0 : spins;
    if (round < spin_until) {
        relax();
    } else if (round < spin_until + yields) {
        sched_yield();
    } else {
        nap();
    }
}

} // namespace nodeaware::backoff
