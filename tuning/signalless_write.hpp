#pragma once

#include <cstddef>
#include <sys/types.h>

namespace nodeaware::tuning {

/// What becomes of a process that writes to a pipe whose reader has gone.
enum class WithoutReader { ends, fails };

/// As write(), but beyond the limit of `ulimit -f` it only fails, without the signal, and so it
/// does with WithoutReader::fails where a reader has gone.
ssize_t write_signalless(int descriptor, const char* bytes, size_t size, WithoutReader without);

} // namespace nodeaware::tuning
