#pragma once

#include <cstddef>

// The copies of a stream, and what memory of the host devices reach. Not by several threads at
// once.

/// False: it is pinned already.
bool pin(const void* memory, std::size_t bytes);
/// False: it was not.
bool unpin(const void* memory);
/// Spoils the target. `direction` as of copy_as_a_device(). False: the memory of the host is not
/// pinned, so that it has been read.
bool begin_copy(std::size_t direction, char* to, const char* from, std::size_t bytes);
/// All that were begun.
void end_copies();
