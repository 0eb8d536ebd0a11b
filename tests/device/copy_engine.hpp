#pragma once

#include <cstddef>

/// Copies, and takes as long as GPU_STAND_IN says: see cuda_stand_in.cpp. `direction`: 0 to the
/// device, 1 to the host, 2 within the device, which takes no time.
constexpr std::size_t within_device = 2;
void copy_as_a_device(std::size_t direction, void* to, const void* from, std::size_t bytes);
