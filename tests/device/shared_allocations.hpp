#pragma once

#include <cstddef>
#include <cstdint>

// What the memory of the stand-in tells of itself to what shares it with other processes. With the
// lock of the driver.

/// An allocation that may be exported.
struct Exportable {
    std::uint64_t serial = 0; ///< never again in this process; 0: it is none
    std::uint64_t offset = 0; ///< in `file`
    std::size_t bytes = 0;
    int file = -1;
    int device = 0;
};
/// What the current context may export of what lies at that address.
Exportable exportable(std::uint64_t address);
/// Takes part of another process's memory in, as an allocation of the current context; 0: it
/// cannot.
std::uint64_t take_in(int file, std::uint64_t offset, std::size_t bytes);
/// Undoes that.
void put_out(std::uint64_t address);

/// The allocation of that number is gone: handles of it are stale from now on. Returns how many
/// other processes have it open.
std::uint32_t end_export(std::uint64_t serial);
/// All that a context has opened is gone with it.
void forget_imports(const void* context);
