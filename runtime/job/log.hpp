#pragma once

#include "runtime/job/options.hpp"

#include <fmt/format.h> // all of it, for newer versions do not take it later

#include <string>
#include <string_view>

namespace nodeaware {

/// Replaces %h (host), %j (id of the job), %p (process id), %r (rank) and %% in a path.
std::string expand_path(std::string_view pattern, int rank);

/// Opens the log of this process. Before that, and after a file that cannot be opened, warnings go
/// to stderr. With a file that is not one per process, only rank 0 writes. Returns why the file
/// could not be opened, or nothing.
std::string open_log(const Options& options, int rank);

/// Opens a file for lines to be added to, and makes it if there is none, but no folders. Does not
/// wait for the reader of a pipe. Returns its descriptor, or -1 and errno.
int open_for_lines(const std::string& path, int more_flags = 0);

bool log_is_on(LogLevel level);
void write_log(LogLevel level, std::string_view text);

/// One body for all arguments: formatting takes long to compile.
void write_formatted(LogLevel level, fmt::string_view format, fmt::format_args arguments);

/// Older versions of fmt convert it themselves, newer ones would rather not.
template <class Format> fmt::string_view text_of_format(const Format& format) {
    if constexpr (requires { format.get(); }) {
        return format.get();
    } else {
        return format;
    }
}

template <class... Arguments>
void log(LogLevel level, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    if (log_is_on(level)) {
        write_formatted(level, text_of_format(format), fmt::make_format_args(arguments...));
    }
}

} // namespace nodeaware
