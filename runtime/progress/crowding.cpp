#include "runtime/progress/crowding.hpp"

#include "runtime/progress/backoff.hpp"

#include <algorithm>
#include <bit>
#include <ctime>

namespace nodeaware {

namespace {

#if defined(NODEAWARE_VIRTUAL_TIME) // all ranks share a core there, and none waits for it
constexpr bool may_be_noticed = false;
#else
constexpr bool may_be_noticed = true;
#endif

constexpr uint32_t first_round = 4; // most waits end before, and need not ask for the time
constexpr uint32_t most_waits = 1024;
constexpr double longest_gap = 100e-6; // interrupts take less

double seconds(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

} // namespace

Crowding::Times Crowding::times_of_thread() {
    return {seconds(CLOCK_MONOTONIC), seconds(CLOCK_THREAD_CPUTIME_ID)};
}

void Crowding::spin(uint32_t round) {
    if (!may_be_noticed || is_crowded() || round < first_round || !std::has_single_bit(round)) {
        return;
    }
    const Times now = times_();
    if (round == first_round) {
        begin_ = now;
        return;
    }
    const double passed = now.passed - begin_.passed;
    const double lost = passed - (now.run - begin_.run);
    if (lost > longest_gap && lost > passed / 2) {
        waits_left_ = next_waits_;
        next_waits_ = std::min(4 * next_waits_, most_waits);
    } else if (round > backoff::spins / 2) {
        next_waits_ = fewest_waits;
    }
}

} // namespace nodeaware
