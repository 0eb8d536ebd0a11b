#include "tools/nodeaware/text_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

namespace nodeaware::tool {

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
    std::error_code error;
    const auto kind = std::filesystem::status(path, error).type();
    const bool is_replaced = kind == std::filesystem::file_type::regular ||
                             kind == std::filesystem::file_type::not_found;
    const std::string temporary = is_replaced ? path + ".tmp." + std::to_string(getpid()) : path;
    errno = 0;
    std::ofstream file(temporary, std::ios::binary);
    if (file) { write(file); }
    file.close();
    if (file && (!is_replaced || std::rename(temporary.c_str(), path.c_str()) == 0)) { return; }
    const std::string reason = errno != 0 ? std::strerror(errno) : "write error";
    if (is_replaced) { std::remove(temporary.c_str()); }
    throw std::runtime_error(path + ": cannot be written: " + reason);
}

void write_text_file(const std::string& path, const std::string& text) {
    write_file(path, [&text](std::ostream& file) { file << text; });
}

} // namespace nodeaware::tool
