#pragma once

#include <cstdint>

namespace nodeaware::device {

/// From now on copies that the application makes from and to the buffer return only when they are
/// over (CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), once for each buffer. Else cudaMemcpy within a device
/// returns before, and what a thread has copied in a stream of its own may be late for the exchange
/// of another thread, which follows only that thread's. `buffer`: the driver's number of it, which
/// is never used again; 0: it has none. Where the driver does not know of it, nothing changes.
void make_copies_synchronous(uint64_t buffer, const void* address);

} // namespace nodeaware::device
