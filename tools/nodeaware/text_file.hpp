#pragma once

#include <string>

namespace nodeaware::tool {

/// Writes a temporary file beside `path` and renames it, so that a reader never sees half a file.
/// Throws std::runtime_error.
void write_text_file(const std::string& path, const std::string& text);

} // namespace nodeaware::tool
