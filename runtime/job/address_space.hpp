#pragma once

#include <cstddef>
#include <cstdint>

/// Address space for memory of which little may be used.
namespace nodeaware::address_space {

/// Its pages count once they are touched, also in programs that lock their memory (mlockall). MAP_
/// `flags` and a file as of mmap(). nullptr: there is none, see errno.
void* map(size_t bytes, int flags, int descriptor = -1);

/// Bytes that this process may have (ulimit -v); 0: no limit.
uint64_t limit();
/// Of what is not shared, as heaps are (ulimit -d, too); 0: no limit.
uint64_t private_limit();

/// Takes so much for memory of the library that lasts: false where it is limited, and the library
/// has its share, for MPI and the application may want the rest later.
bool take(size_t bytes);
/// The same of what has been promised, whatever the limit is now.
void take_promised(size_t bytes);
void give_back(size_t bytes);

} // namespace nodeaware::address_space
