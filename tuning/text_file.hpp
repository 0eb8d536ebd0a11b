#pragma once

#include <stdexcept>
#include <string>

namespace nodeaware::tuning {

/// Why a file could not be read.
struct FileError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The content of a regular file. Nothing else is opened for longer than it takes to see what it
/// is: a pipe would wait for a writer. Throws FileError.
std::string read_text_file(const std::string& path);

} // namespace nodeaware::tuning
