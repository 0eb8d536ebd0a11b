#include "runtime/device/sharing.hpp"

#include "runtime/device/driver.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <system_error>

namespace nodeaware::device {

namespace {

std::atomic<int> processes_on_machine = 1;

/// Also those that this process does not see; 0: the system does not tell.
int gpus_of_system() {
    std::error_code error;
    std::filesystem::directory_iterator next("/proc/driver/nvidia/gpus", error);
    int gpus = 0;
    for (const std::filesystem::directory_iterator end; !error && next != end;) {
        ++gpus;
        next.increment(error);
    }
    return error ? 0 : gpus;
}

/// Those that the process sees, unless they are chosen for it, as launchers do it for each rank.
int gpus_of_process() {
    int gpus = 0;
    if (std::getenv("CUDA_VISIBLE_DEVICES") != nullptr) { return 0; }
    return driver()->device_count(&gpus) == 0 ? gpus : 0;
}

bool have_a_server() {
    constexpr int attribute_has_server = 133; // CU_DEVICE_ATTRIBUTE_MPS_ENABLED
    const Driver& known = *driver();
    int device = 0;
    int is_there = 0;
    return known.device_attribute != nullptr && known.device_get(&device, 0) == 0 &&
           known.device_attribute(&is_there, attribute_has_server, device) == 0 && is_there != 0;
}

enum class Answer : uint8_t { not_asked, no, yes };

/// Where nobody tells how many GPUs there are, each process has its own.
Answer ask(int processes) {
    try {
        int gpus = gpus_of_system();
        if (gpus == 0) { gpus = gpus_of_process(); }
        return gpus > 0 && processes > gpus && !have_a_server() ? Answer::yes : Answer::no;
    } catch (const std::bad_alloc&) { return Answer::not_asked; }
}

} // namespace

void set_processes_on_machine(int processes) { processes_on_machine = processes; }

bool are_devices_shared() {
    static std::atomic<Answer> known = Answer::not_asked;
    const int processes = processes_on_machine.load(std::memory_order_relaxed);
    if (processes == 1) { return false; }
    Answer answer = known.load(std::memory_order_relaxed);
    if (answer == Answer::not_asked) {
        answer = ask(processes);
        known.store(answer, std::memory_order_relaxed);
    }
    return answer == Answer::yes;
}

bool is_faster_by_host(uint64_t bytes) {
    constexpr uint64_t in_a_turn = 4 << 20; // copied in both directions
    return bytes <= in_a_turn && are_devices_shared();
}

} // namespace nodeaware::device
