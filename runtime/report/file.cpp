#include "runtime/report/file.hpp"

#include "runtime/job/log.hpp"
#include "runtime/trace/file.hpp"

#include <climits>

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nodeaware::report {

namespace {

enum class Kind { file, stream, folder };

Kind kind_of(const std::string& path) {
    struct stat is = {};
    if (stat(path.c_str(), &is) != 0 || S_ISREG(is.st_mode)) { return Kind::file; }
    return S_ISDIR(is.st_mode) ? Kind::folder : Kind::stream;
}

/// The file that a link leads to is replaced, not the link.
std::string real_path(const std::string& path) {
    char real[PATH_MAX];
    return realpath(path.c_str(), real) == nullptr ? path : std::string(real);
}

std::string ending_of_part(int rank) { return "." + std::to_string(rank) + ".part"; }

} // namespace

int try_file(const std::string& path, int rank) {
    const Kind kind = kind_of(path);
    if (kind == Kind::folder) { return EISDIR; }
    if (kind == Kind::stream) { return 0; }
    const std::string part = real_path(path) + ending_of_part(rank);
    const int file = open(part.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file < 0) { return errno; }
    close(file);
    unlink(part.c_str());
    return 0;
}

int write_file(const std::string& path, std::string_view text, int rank) {
    const Kind kind = kind_of(path);
    if (kind == Kind::folder) { return EISDIR; }
    if (kind == Kind::file) {
        return trace::write_whole(real_path(path), text, ending_of_part(rank));
    }
    const int stream = open_for_lines(path);
    if (stream < 0) { return errno; }
    const int error = write_line(stream, text) ? 0 : errno;
    close(stream);
    return error;
}

} // namespace nodeaware::report
