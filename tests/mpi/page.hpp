#pragma once

#include <cstddef>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace nodeaware::test {

/// Integers that end where a page does, before one that nobody may touch.
class Page {
  public:
    explicit Page(size_t count) {
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        auto* const begin = static_cast<char*>(
            mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (begin == MAP_FAILED || mprotect(begin + page, page, PROT_NONE) != 0) { std::abort(); }
        first_ = reinterpret_cast<int*>(begin + page) - count; // never unmapped
    }
    int* first() const { return first_; }

  private:
    int* first_ = nullptr;
};

} // namespace nodeaware::test
