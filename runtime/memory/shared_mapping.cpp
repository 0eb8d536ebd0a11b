// The part of SharedMemory that needs no MPI: what a process does with its view of the memory.

#include "runtime/job/address_space.hpp"
#include "runtime/memory/shared_memory.hpp"

#include <algorithm>
#include <atomic>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace nodeaware {

namespace {

size_t page_size() {
    static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

std::atomic<size_t> in_dev_shm = 0;

} // namespace

size_t SharedMemory::bytes_in_dev_shm() { return in_dev_shm.load(std::memory_order_relaxed); }

void SharedMemory::count(size_t more, size_t fewer) const {
    if (may_lack_space_) { in_dev_shm.fetch_add(more - fewer, std::memory_order_relaxed); }
}

SharedMemory SharedMemory::create_alone(size_t bytes, size_t reserve) {
    if (!address_space::take(bytes)) { return {}; }
    void* memory = address_space::map(bytes + reserve, MAP_SHARED | MAP_ANONYMOUS);
    if (memory == nullptr) {
        address_space::give_back(bytes);
        return {};
    }
    auto* const data = static_cast<std::byte*>(memory);
    const size_t mapped = (bytes + page_size() - 1) / page_size() * page_size();
    if (mapped < bytes + reserve) { munmap(data + mapped, bytes + reserve - mapped); }
    return {data, bytes, bytes + reserve, false};
}

SharedMemory SharedMemory::second_view() const {
    if (!address_space::take(size_)) { return {}; }
    void* memory = mremap(data_, 0, size_, MREMAP_MAYMOVE); // of 0 bytes: the old view stays
    if (memory == MAP_FAILED) {
        address_space::give_back(size_);
        return {};
    }
    return {static_cast<std::byte*>(memory), size_, limit_, may_lack_space_};
}

bool SharedMemory::grow(size_t bytes, bool is_promised) {
    if (bytes <= size_) { return true; }
    if (bytes > limit_) { return false; }
    if (is_promised) {
        address_space::take_promised(bytes - size_);
    } else if (!address_space::take(bytes - size_)) {
        return false;
    }
    void* memory = mremap(data_, size_, bytes, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED) {
        address_space::give_back(bytes - size_);
        return false;
    }
    data_ = static_cast<std::byte*>(memory);
    count(bytes, size_);
    size_ = bytes;
    return true;
}

bool SharedMemory::provide(size_t offset, size_t bytes) {
    if (!may_lack_space_) { return true; }
#ifdef MADV_POPULATE_WRITE
    const size_t begin = offset / page_size() * page_size();
    return madvise(data_ + begin, offset + bytes - begin, MADV_POPULATE_WRITE) == 0;
#else
    return false;
#endif
}

void SharedMemory::give_back(size_t offset, size_t bytes) {
    const size_t begin = (offset + page_size() - 1) / page_size() * page_size();
    const size_t end = std::min(offset + bytes, size_) / page_size() * page_size();
    // A file system that cannot do it keeps the pages until the memory goes.
    if (begin < end) { madvise(data_ + begin, end - begin, MADV_REMOVE); }
}

SharedMemory::~SharedMemory() {
    if (data_ == nullptr) { return; }
    munmap(data_, size_);
    address_space::give_back(size_);
    count(0, size_);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
      limit_(std::exchange(other.limit_, 0)), may_lack_space_(other.may_lack_space_) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(limit_, other.limit_);
    std::swap(may_lack_space_, other.may_lack_space_);
    return *this;
}

} // namespace nodeaware
