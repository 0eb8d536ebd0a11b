#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace nodeaware::tool {

/// Writes what the command writes into files. `path` is followed if it is a symbolic link. A
/// regular file is replaced as a whole, with the permissions that it had, and a new one is made as
/// a whole: a temporary file beside it is renamed, so that a reader never sees half of it (and
/// another hard link keeps the old one). Anything else (a terminal, a pipe, a device) is written to
/// as it is; "-" is standard output, and that and other descriptors of this process (/dev/stdout,
/// /dev/fd/3) go on where they are. Throws std::runtime_error, "PATH: cannot be written: why"; the
/// old file is then as it was.
void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);
void write_text_file(const std::string& path, const std::string& text);

/// What write_file() would throw, as far as can be told without writing; empty: nothing.
std::string complaint_of_file(const std::string& path);

/// Whether write_file() replaces what is there: if not, everything that is written stays there.
bool is_replaced(const std::string& path);
/// Whether it writes both to the same place.
bool is_same_file(const std::string& path, const std::string& other);
/// Whether it writes to standard output, which then should hold nothing else. Not for an empty
/// path.
bool is_standard_output(const std::string& path);

} // namespace nodeaware::tool
