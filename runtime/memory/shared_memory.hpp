#pragma once

#include <cstddef>

namespace nodeaware {

class LocalGroup;

/// Memory shared by the ranks of a node, zero at first. It has no name in any file system by the
/// time that create() returns, so nothing is left behind when a job is killed; pages count only
/// once they are written. Behind it there may be a reserve, which each rank maps when it wants to.
class SharedMemory {
  public:
    SharedMemory() = default;
    ~SharedMemory();
    SharedMemory(SharedMemory&& other) noexcept;
    SharedMemory& operator=(SharedMemory&& other) noexcept;

    /// Collective over the group. Without memory (data() is nullptr, on all members) if one of them
    /// could not map it.
    static SharedMemory create(const LocalGroup& group, size_t bytes, size_t reserve = 0);
    /// Of this process alone, which may look at it in several places.
    static SharedMemory create_alone(size_t bytes, size_t reserve = 0);
    SharedMemory second_view() const;

    std::byte* data() const { return data_; }
    size_t size() const { return size_; }
    /// With the reserve.
    size_t limit() const { return limit_; }
    /// Whether it is in /dev/shm, whose size is limited.
    bool is_in_dev_shm() const { return may_lack_space_; }
    /// Of all such memory that this process has: there it is taken whole, used or not.
    static size_t bytes_in_dev_shm();

    /// Makes `bytes` of it accessible, the reserve included; data() may be another one then. False
    /// if it cannot be had, at least not now. `is_promised`: it was counted on when the memory was
    /// made, before the address space was limited, if it is.
    bool grow(size_t bytes, bool is_promised = false);
    /// Makes sure that accessible memory is really there, as that of the reserve need not be.
    bool provide(size_t offset, size_t bytes);
    /// Without memory from now on, though it stays mapped until the process ends.
    void leave_mapped() { data_ = nullptr; }
    /// Gives the pages that lie in this part of the reserve back; they are zero again.
    void give_back(size_t offset, size_t bytes);

  private:
    SharedMemory(std::byte* data, size_t size, size_t limit, bool may_lack_space)
        : data_(data), size_(size), limit_(limit), may_lack_space_(may_lack_space) {
        count(size_, 0);
    }
    void count(size_t more, size_t fewer) const;

    std::byte* data_ = nullptr;
    size_t size_ = 0;
    size_t limit_ = 0;            ///< with the reserve
    bool may_lack_space_ = false; ///< writing to a page of the reserve may be a bus error
};

} // namespace nodeaware
