#pragma once

#include <cstddef>
#include <cstdint>

/// What the driver tells of an address.
struct Known {
    void* context = nullptr;
    unsigned type = 0; ///< 1 the host's, as far as it is pinned; 2 a device's
    int is_managed = 0;
    int device = -2;
    std::uint64_t begin = 0;
    std::size_t bytes = 0;
    std::uint64_t serial = 0;
};

/// With the lock of the driver.
Known look_at(std::uint64_t address);
/// The same: the driver has begun.
bool is_initialized();
