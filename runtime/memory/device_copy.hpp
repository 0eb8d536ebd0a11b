#pragma once

#include "runtime/device/runs.hpp"
#include "runtime/memory/datatype.hpp"

#include <cstddef>

namespace nodeaware {

/// From the first to the last byte of a memory that has some, with what lies between.
device::Span span_of(const UserMemory& memory, const Datatype& type);

/// Where the bytes of a memory are, in the order in which MPI would send them. Throws MpiError and
/// std::bad_alloc.
device::Runs runs_of(const UserMemory& memory, MPI_Comm comm);

/// pack_user_memory and unpack_part for memory of a device whose bytes do not lie side by side;
/// bytes between those of the memory are not written, for a kernel may be writing them. Throw
/// MpiError and std::bad_alloc.
void pack_from_device(const UserMemory& memory, std::byte* bytes, MPI_Comm comm);
void unpack_to_device(const UserMemory& memory, const std::byte* bytes, uint64_t size,
                      MPI_Comm comm);

} // namespace nodeaware
