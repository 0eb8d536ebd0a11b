#include "runtime/trace/file.hpp"

#ifdef NODEAWARE_HAS_ZSTD
#include <zstd.h>
#endif

#include <cerrno>
#include <sys/stat.h>

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
