#pragma once

#include "interpose/abi.hpp"

namespace scripted {

/// Loads a copy of the library's core for each rank, with variables of its own that are as they
/// are when a program starts.
void load_cores(int ranks);
const nodeaware::abi::Core* core_of(int rank);
void unload_cores();
/// Whether the code at this address belongs to the core of that rank.
bool is_in_core(int rank, const void* address);

} // namespace scripted
