#include "runtime/memory/call_memory.hpp"

#include "runtime/device/driver.hpp"

#include <algorithm>
#include <array>

namespace nodeaware {

CallMemory memory_of(const Exchange& exchange) {
    if (device::driver() == nullptr) { return CallMemory::host; }
    const auto is_on_device = [](const UserMemory& memory) { return memory.place.is_on_device; };
    const bool any =
        std::any_of(exchange.outgoing.begin(), exchange.outgoing.end(), is_on_device) ||
        std::any_of(exchange.incoming.begin(), exchange.incoming.end(), is_on_device);
    if (!any) { return CallMemory::host; }
    return device::mpi_is_aware() ? CallMemory::devices_of_mpi : CallMemory::devices;
}

std::string_view text_of(CallMemory memory) {
    constexpr std::array<std::string_view, call_memories> texts = {
        "", ", memory of devices (MPI is device-aware)",
        ", memory of devices (MPI is not device-aware)"};
    return texts.at(static_cast<size_t>(memory));
}

} // namespace nodeaware
