#pragma once

#include "runtime/memory/datatype.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace nodeaware {

/// From the first to the last byte of a memory that has some, with what lies between.
device::Span span_of(const UserMemory& memory, const Datatype& type);

/// pack_user_memory and unpack_part for memory of a device whose bytes do not lie side by side. The
/// datatype is interpreted by MPI, over a copy on the host; bytes between those of the memory are
/// not written, for a kernel may be writing them. Throw MpiError and std::bad_alloc.
void pack_from_device(const UserMemory& memory, std::byte* bytes, MPI_Comm comm);
void unpack_to_device(const UserMemory& memory, const std::byte* bytes, uint64_t size,
                      MPI_Comm comm);

/// Calls `take(begin, bytes)` with each run of bytes that are marked, that is: are not 0.
template <class Take> void for_each_run(const std::vector<std::byte>& marks, Take take) {
    const auto is_marked = [](std::byte mark) { return mark != std::byte{0}; };
    for (auto next = marks.begin(); next != marks.end();) {
        const auto begin = std::find_if(next, marks.end(), is_marked);
        next = std::find_if_not(begin, marks.end(), is_marked);
        if (begin == next) { return; }
        take(static_cast<uint64_t>(begin - marks.begin()), static_cast<uint64_t>(next - begin));
    }
}

} // namespace nodeaware
