#include "tuning/text_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nodeaware::tuning {

namespace {

class Descriptor {
  public:
    explicit Descriptor(const std::string& path)
        : number_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
        if (number_ < 0) { throw FileError(std::strerror(errno)); }
    }
    ~Descriptor() { close(number_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int number() const { return number_; }

  private:
    int number_;
};

} // namespace

std::string read_text_file(const std::string& path) {
    const Descriptor file(path);
    struct stat status {};
    if (fstat(file.number(), &status) != 0) { throw FileError(std::strerror(errno)); }
    if (!S_ISREG(status.st_mode)) { throw FileError("expected a regular file"); }
    std::string text;
    std::array<char, 65536> part;
    while (true) {
        const ssize_t bytes = read(file.number(), part.data(), part.size());
        if (bytes < 0 && errno == EINTR) { continue; }
        if (bytes < 0) { throw FileError(std::strerror(errno)); }
        if (bytes == 0) { return text; }
        text.append(part.data(), static_cast<size_t>(bytes));
    }
}

} // namespace nodeaware::tuning
