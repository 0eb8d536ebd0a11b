#include "runtime/device/sharing.hpp"

#include "runtime/device/driver.hpp"

#include <atomic>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace nodeaware::device {

namespace {

std::atomic<int> processes_on_machine = 1;

/// Also those that this process does not see; 0: the system does not tell.
int gpus_of_system() {
    std::error_code error;
    const std::filesystem::directory_iterator all("/proc/driver/nvidia/gpus", error);
    return error ? 0 : static_cast<int>(std::distance(begin(all), end(all)));
}

bool have_a_server() {
    constexpr int attribute_has_server = 133; // CU_DEVICE_ATTRIBUTE_MPS_ENABLED
    const Driver& known = *driver();
    int device = 0;
    int is_there = 0;
    return known.device_attribute != nullptr && known.device_get(&device, 0) == 0 &&
           known.device_attribute(&is_there, attribute_has_server, device) == 0 && is_there != 0;
}

bool are_outnumbered(int processes) {
    int gpus = gpus_of_system();
    if (gpus == 0 && driver()->device_count(&gpus) != 0) { return false; }
    return processes > gpus && !have_a_server();
}

} // namespace

void set_processes_on_machine(int processes) { processes_on_machine = processes; }

bool are_devices_shared() {
    const int processes = processes_on_machine.load(std::memory_order_relaxed);
    if (processes == 1) { return false; }
    static const bool are_shared = are_outnumbered(processes);
    return are_shared;
}

bool is_faster_by_host(uint64_t bytes) {
    constexpr uint64_t in_a_turn = 4 << 20; // copied in both directions
    return bytes <= in_a_turn && are_devices_shared();
}

} // namespace nodeaware::device
