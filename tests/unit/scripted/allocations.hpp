#pragma once

#include <cstdint>

namespace scripted {

/// Whether memory can be refused here: not where a sanitizer has its own.
bool can_refuse_memory();

/// Counts how often the library on `rank` asks for memory from now on, and refuses it once: the
/// time number `refused`, from 1; 0: never.
void watch_allocations(int rank, uint64_t refused);
/// The count; nothing is watched any more.
uint64_t end_watch();

} // namespace scripted
