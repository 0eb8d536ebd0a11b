#pragma once

#include <string>
#include <string_view>

namespace nodeaware::report {

/// Whether write_file() is likely to succeed there: errno, or 0. Leaves nothing behind.
int try_file(const std::string& path, int rank);

/// Writes a file whole, or not at all; what is no file (a device, a pipe with a reader) is written
/// to. `rank` tells apart those who may write at the same time. Returns errno, or 0.
int write_file(const std::string& path, std::string_view text, int rank);

} // namespace nodeaware::report
