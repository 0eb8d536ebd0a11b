#pragma once

#include "runtime/memory/exchange.hpp"

#include <cstdint>
#include <string_view>

namespace nodeaware {

/// What memory the messages of a call begin and end in, as far as it matters for what they cost.
/// Each rank knows its own; where ranks agree, the largest of them counts for all.
enum class CallMemory : uint8_t {
    host,
    devices_of_mpi, ///< of devices, and this rank's MPI is device-aware
    devices         ///< of devices that this rank's MPI does not know
};
inline constexpr int call_memories = 3;

CallMemory memory_of(const Exchange& exchange);

/// ", memory of devices (...)", or nothing: for the log.
std::string_view text_of(CallMemory memory);

} // namespace nodeaware
