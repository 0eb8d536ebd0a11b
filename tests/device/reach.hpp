#pragma once

#include <cstddef>
#include <cstdint>

/// Where the driver has memory of a device, of which the current context may use all these bytes;
/// nullptr: `code` says why not. With the lock of the driver.
char* look_up(std::uint64_t address, std::size_t bytes, int* code);
/// The same for a copy from or to the host, which is counted. Takes the lock.
char* reach(std::uint64_t address, std::size_t bytes, int* code);
