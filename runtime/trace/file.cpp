#include "runtime/trace/file.hpp"

#include "runtime/job/log.hpp"

#ifdef NODEAWARE_HAS_ZSTD
#include <zstd.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nodeaware::trace {

#ifdef NODEAWARE_HAS_ZSTD

std::string_view file_ending() { return ".jsonl.zst"; }

std::string packed(std::string text) {
    constexpr int level = 3; // which is zstd's own choice
    std::string bytes(ZSTD_compressBound(text.size()), '\0');
    const size_t length =
        ZSTD_compress(bytes.data(), bytes.size(), text.data(), text.size(), level);
    if (ZSTD_isError(length) != 0) { return {}; }
    bytes.resize(length);
    return bytes;
}

#else

std::string_view file_ending() { return ".jsonl"; }
std::string packed(std::string text) { return text; }

#endif

namespace {

int write_all(int file, std::string_view bytes) {
    constexpr size_t most = 1 << 20;
    while (!bytes.empty()) {
        const std::string_view part = bytes.substr(0, most);
        if (!write_line(file, part)) { return errno; }
        bytes.remove_prefix(part.size());
    }
    return 0;
}

} // namespace

int write_whole(const std::string& path, std::string_view bytes, const std::string& more) {
    const std::string part = path + more;
    const int file = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) { return errno; }
    int error = write_all(file, bytes);
    if (close(file) != 0 && error == 0) { error = errno; } // some file systems write only now
    if (error == 0 && rename(part.c_str(), path.c_str()) != 0) { error = errno; }
    if (error != 0) { unlink(part.c_str()); }
    return error;
}

int make_folder(const std::string& path) {
    for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
        mkdir(path.substr(0, end).c_str(), 0777); // what fails here fails below, too
    }
    if (mkdir(path.c_str(), 0777) == 0) { return 0; }
    if (errno != EEXIST) { return errno; }
    struct stat is = {};
    return stat(path.c_str(), &is) == 0 && S_ISDIR(is.st_mode) ? 0 : ENOTDIR;
}

} // namespace nodeaware::trace
