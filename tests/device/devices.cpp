// What the devices of the stand-in are: two, on the sockets of
// tests/data/two_sockets_with_gpus.xml.

#include "tests/device/stand_in.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr std::array pci_ids = {"0000:3B:00.0", "0000:AF:00.0"};

int tell(char* text, int length, const char* format, int device) {
    if (device < 0 || device >= static_cast<int>(pci_ids.size())) { return invalid_value; }
    const char* const pci_id = pci_ids[static_cast<std::size_t>(device)];
    return std::snprintf(text, static_cast<std::size_t>(length), format, pci_id) < length
               ? success
               : invalid_value;
}

} // namespace

#define DRIVER extern "C" __attribute__((visibility("default"))) int

DRIVER cuDeviceGetName(char* name, int length, int device) {
    return tell(name, length, "Stand-in at %s", device);
}
DRIVER cuDeviceGetPCIBusId(char* text, int length, int device) {
    return tell(text, length, "%s", device);
}
DRIVER cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
    *bytes = std::size_t{1} << 28U;
    return device >= 0 && device < static_cast<int>(pci_ids.size()) ? success : invalid_value;
}

// Seen by the MPI's users only where this library is preloaded: then the MPI is device-aware.
// NOLINTNEXTLINE(readability-identifier-naming)
DRIVER MPIX_Query_cuda_support() { return std::getenv("GPU_STAND_IN_OPEN") != nullptr ? 1 : 0; }
