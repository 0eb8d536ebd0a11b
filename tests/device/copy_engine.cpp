// The engines are times in shared memory at which they are free, so that a process which is killed
// takes none with it. A node is who shares /dev/shm. Every process holds a lock on the file,
// whoever is the last removes it, and who opens it looks whether it is still there.

#include "tests/device/copy_engine.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

constexpr std::size_t directions = 2;
constexpr std::size_t most_devices = 8;

/// When it is free.
using Engine = std::atomic<Time>;
static_assert(Engine::is_always_lock_free);
using Engines = std::array<Engine, directions * most_devices>;

int file_of_node = -1;
pid_t user_of_file = 0; ///< not its children

std::string path_of_file() { return "/dev/shm/stand-in-engines." + std::to_string(getuid()); }

/// It has been opened, and nobody removes it any more.
bool is_there_to_stay(int file) {
    struct stat opened {};
    struct stat named {};
    return flock(file, LOCK_SH) == 0 && fstat(file, &opened) == 0 &&
           stat(path_of_file().c_str(), &named) == 0 && opened.st_ino == named.st_ino;
}

Engines* open_engines() {
    int file = -1;
    while (file < 0) {
        constexpr int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
        file = open(path_of_file().c_str(), flags, S_IRUSR | S_IWUSR);
        if (file < 0) { std::abort(); }
        if (!is_there_to_stay(file)) {
            close(file);
            file = -1;
        }
    }
    if (ftruncate(file, sizeof(Engines)) != 0) { std::abort(); } // does nothing to one in use
    void* const mapped =
        mmap(nullptr, sizeof(Engines), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) { std::abort(); }
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    file_of_node = file;
    user_of_file = getpid();
    return static_cast<Engines*>(mapped);
}

Engine& engine(int device, std::size_t direction) {
    static Engines* const all = open_engines();
    return all->at(static_cast<std::size_t>(device) * directions + direction);
}

__attribute__((destructor)) void remove_file_of_node() {
    if (user_of_file != getpid()) { return; }
    if (flock(file_of_node, LOCK_EX | LOCK_NB) == 0) { unlink(path_of_file().c_str()); }
}

/// Seconds, and seconds per byte, of each direction. None if copies take no time.
const std::array<double, 2 * directions>* costs() {
    static std::array<double, 2 * directions> all{};
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

bool copies_take_time() { return costs() != nullptr; }

Time now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return Time{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void wait_until(Time end) {
    constexpr Time to_wake_up = 100'000;
    const Time left = end - now();
    if (left > to_wake_up) {
        const Time nap = left - to_wake_up;
        const timespec time{nap / 1'000'000'000, nap % 1'000'000'000};
        nanosleep(&time, nullptr);
    }
    while (now() < end) { sched_yield(); }
}

Time reserve_engine(int device, std::size_t direction, std::size_t bytes, Time ready) {
    const auto& set = *costs();
    const double seconds = set[2 * direction] + set[2 * direction + 1] * static_cast<double>(bytes);
    const auto duration = static_cast<Time>(1e9 * seconds);
    Engine& used = engine(device, direction);
    Time free = used.load();
    for (;;) {
        if (ready > std::max(free, now())) { return not_known; }
        const Time end = std::max(free, ready) + duration;
        if (used.compare_exchange_weak(free, end)) { return end; }
    }
}
