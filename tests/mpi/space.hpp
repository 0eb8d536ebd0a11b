#pragma once

#include <cstddef>
#include <sys/mman.h>

namespace nodeaware::test {

/// Address space that costs memory only where it is written.
class Space {
  public:
    explicit Space(size_t bytes)
        : bytes_(bytes), address_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
        if (address_ == MAP_FAILED) { address_ = nullptr; }
    }
    ~Space() {
        if (address_ != nullptr) { munmap(address_, bytes_); }
    }
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;
    char* data() const { return static_cast<char*>(address_); }

  private:
    size_t bytes_;
    void* address_;
};

} // namespace nodeaware::test
