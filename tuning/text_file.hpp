#pragma once

#include <functional>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>

namespace nodeaware::tuning {

/// Why a file could not be read.
struct FileError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The content of a regular file. Nothing else is opened for longer than it takes to see what it
/// is: a pipe would wait for a writer. Throws FileError.
std::string read_text_file(const std::string& path);

/// Why a file could not be written: the words, and errno.
struct WriteError : std::runtime_error {
    WriteError(const std::string& words, int number) : std::runtime_error(words), error(number) {}
    int error;
};

/// How a file was written: another one has taken its place, or it is the same one.
enum class Written { as_a_whole, in_place };

/// Writes what the library and its tools write into files. `path` is followed if it is a symbolic
/// link. A regular file is replaced as a whole, with the permissions that it had, and a new one is
/// made as a whole: a temporary file beside it is renamed, so that a reader never sees half of it
/// (and another hard link keeps the old one); one that is mounted by itself, as in a container, is
/// written over. Anything else (a terminal, a pipe, a device) is
/// written to as it is; "-" is standard output, and that and other descriptors of this process
/// (/dev/stdout, /dev/fd/3) go on where they are. Throws WriteError, "PATH: cannot be written:
/// why"; the old file is then as it was.
Written write_file(const std::string& path, const std::function<void(std::ostream&)>& write);
Written write_text_file(const std::string& path, const std::string& text);

/// What write_file() would throw, as far as can be told without writing; empty: nothing.
std::string complaint_of_file(const std::string& path);

/// Whether write_file() replaces what is there: if not, everything that is written stays there.
bool is_replaced(const std::string& path);
/// Whether it writes both to the same place.
bool is_same_file(const std::string& path, const std::string& other);
/// Whether it writes to standard output, which then should hold nothing else. Not for an empty
/// path.
bool is_standard_output(const std::string& path);

/// As write_text_file(), for a program that is not ours: "-" is a file of that name, a pipe without
/// a reader fails instead of waiting for one or ending the program, and nobody waits for a thread
/// that prints. Returns errno, or 0.
int write_whole(const std::string& path, std::string_view bytes);
/// The same, to a descriptor of the process.
int write_whole_to(int descriptor, std::string_view bytes);
/// What write_whole() would return, as far as can be told without writing.
int error_of_file(const std::string& path);

} // namespace nodeaware::tuning
