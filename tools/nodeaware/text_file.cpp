#include "tools/nodeaware/text_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

namespace nodeaware::tool {

void write_text_file(const std::string& path, const std::string& text) {
    const std::string temporary = path + ".tmp." + std::to_string(getpid());
    errno = 0;
    std::ofstream file(temporary, std::ios::binary);
    file << text;
    file.close();
    if (file && std::rename(temporary.c_str(), path.c_str()) == 0) { return; }
    const std::string reason = errno != 0 ? std::strerror(errno) : "write error";
    std::remove(temporary.c_str());
    throw std::runtime_error(path + ": cannot be written: " + reason);
}

} // namespace nodeaware::tool
