#pragma once

#include <cstddef>

/// Memory that no load and no store may touch, as that of a GPU.
extern "C" void* stand_in_allocate(std::size_t bytes);
/// Opens and closes it for a copy that knows what it does.
extern "C" void stand_in_open(bool open);
