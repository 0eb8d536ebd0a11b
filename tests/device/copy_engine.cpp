#include "tests/device/copy_engine.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace {

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
        if (dladdr(reinterpret_cast<void*>(&copy_as_a_device), &info) == 0) { std::abort(); }
        const int opened = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
        if (opened < 0) { std::abort(); }
        prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
        return opened;
    }();
    return file;
}

/// None if copies take no time.
const std::array<double, 4>* costs() {
    static std::array<double, 4> all{};
    static const bool are_set = [] {
        const char* text = std::getenv("GPU_STAND_IN");
        if (text == nullptr) { return false; }
        for (double& cost : all) {
            char* end = nullptr;
            cost = std::strtod(text, &end);
            text = end;
        }
        return true;
    }();
    return are_set ? &all : nullptr;
}

} // namespace

void copy_as_a_device(std::size_t direction, void* to, const void* from, std::size_t bytes) {
    const auto* const set = costs();
    if (set == nullptr || direction == within_device) {
        std::memcpy(to, from, bytes);
        return;
    }
    if (flock(engine(), LOCK_EX) != 0) { std::abort(); }
    const double end =
        now() + (*set)[2 * direction] + (*set)[2 * direction + 1] * static_cast<double>(bytes);
    std::memcpy(to, from, bytes);
    wait_until(end);
    flock(engine(), LOCK_UN);
}
