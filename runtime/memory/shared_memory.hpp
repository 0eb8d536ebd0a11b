#pragma once

#include "runtime/memory/local_group.hpp"

#include <cstddef>

namespace nodeaware {

/// Memory shared by the ranks of a node, zero at first. It has no name in any file system by the
/// time that create() returns, so nothing is left behind when a job is killed; pages count only
/// once they are written.
class SharedMemory {
  public:
    SharedMemory() = default;
    ~SharedMemory();
    SharedMemory(SharedMemory&& other) noexcept;
    SharedMemory& operator=(SharedMemory&& other) noexcept;

    /// Collective over the group. Without memory (data() is nullptr, on all members) if one of them
    /// could not map it.
    static SharedMemory create(const LocalGroup& group, size_t bytes);

    std::byte* data() const { return data_; }
    size_t size() const { return size_; }

  private:
    std::byte* data_ = nullptr;
    size_t size_ = 0;
};

} // namespace nodeaware
