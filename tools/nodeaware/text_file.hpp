#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace nodeaware::tool {

/// Writes a temporary file beside `path` and renames it, so that a reader never sees half a file.
/// What is there and is no regular file (a terminal, a pipe) is written to as it is. Throws
/// std::runtime_error.
void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);
void write_text_file(const std::string& path, const std::string& text);

} // namespace nodeaware::tool
