#pragma once

#include <cstddef>

// The copies of a stream, which is that of every thread. With the lock of the driver.

bool is_a_stream(const void* stream);
/// Spoils the target. `direction` as of copy_as_a_device(). What it returns is the driver's answer.
int begin_copy(std::size_t direction, char* to, const char* from, std::size_t bytes);
/// All that were begun.
void end_copies();
