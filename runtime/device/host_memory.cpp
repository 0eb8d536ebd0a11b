#include "runtime/device/host_memory.hpp"

#include "runtime/device/memory.hpp"
#include "runtime/mpi/mpi.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <utility>
#include <vector>

namespace nodeaware::device {

namespace {

struct Block {
    std::byte* data = nullptr;
    uint64_t bytes = 0;
};

/// What nobody uses now. Never destroyed: exchanges may end after the destructors of this library.
struct Kept {
    std::mutex mutex;
    std::vector<Block> free;
    uint64_t bytes = 0; ///< of all blocks
};
Kept& kept() {
    static auto* const all = new Kept;
    return *all;
}

/// The smallest that is free, large enough and not larger than that; free.end(): there is none.
auto find_free(std::vector<Block>& free, uint64_t least, uint64_t most) {
    auto best = free.end();
    for (auto next = free.begin(); next != free.end(); ++next) {
        const bool is_fit = next->bytes >= least && next->bytes <= most;
        if (is_fit && (best == free.end() || next->bytes < best->bytes)) { best = next; }
    }
    return best;
}

/// A block, or none where that would be too much. A larger one is taken only where no other can be
/// made, so that large messages find theirs again.
Block take(uint64_t bytes) {
    constexpr uint64_t least = 64 << 10;
    const uint64_t size = std::bit_ceil(std::max(bytes, least));
    Kept& all = kept();
    const std::lock_guard lock(all.mutex);
    const bool is_too_much =
        size > HostMemory::most_kept - std::min(all.bytes, HostMemory::most_kept);
    const auto found = find_free(all.free, size, is_too_much ? HostMemory::most_kept : size);
    if (found != all.free.end()) { return std::exchange(*found, Block{}); }
    if (is_too_much) { return {}; }
    all.free.reserve(all.free.size() + 1); // so that it can be given back
    void* const made =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) { return {}; } // perhaps there is less, which is not kept
    // Else, after a fork, what this process writes to is another page than the one that is pinned.
    madvise(made, size, MADV_DONTFORK);
    all.free.emplace_back();
    all.bytes += size;
    return {static_cast<std::byte*>(made), size};
}

void give_back(const Block& block) {
    Kept& all = kept();
    const std::lock_guard lock(all.mutex);
    const auto place = std::find_if(all.free.begin(), all.free.end(),
                                    [](const Block& other) { return other.data == nullptr; });
    *place = block;
}

} // namespace

HostMemory::HostMemory(uint64_t bytes) : bytes_(bytes) {
    const Block block = take(bytes);
    is_kept_ = block.data != nullptr;
    data_ = is_kept_ ? block.data : new std::byte[bytes];
    if (is_kept_) { bytes_ = block.bytes; }
}

HostMemory::~HostMemory() {
    if (is_kept_) {
        give_back({data_, bytes_});
    } else {
        delete[] data_;
    }
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)),
      is_kept_(std::exchange(other.is_kept_, false)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(is_kept_, other.is_kept_);
    return *this;
}

Span HostMemory::span() const { return {reinterpret_cast<uintptr_t>(data_), bytes_}; }

void HostMemory::pin(Copies& copies, const Place& place) const {
    if (is_kept_ && !is_pinned(place, span())) { copies.pin(data_, bytes_); }
}

uint64_t HostMemory::address_for_kernels(Copies& copies) const {
    for (const bool is_anew : {false, true}) {
        if (is_anew && is_kept_) { copies.pin(data_, bytes_); }
        const Span pinned = find_pinned(span());
        const uint64_t address = pinned.bytes > 0 ? copies.address_for_kernels(pinned) : 0;
        if (address != 0) { return address + (span().begin - pinned.begin); }
    }
    return 0;
}

void HostMemory::pin(const Place& place) const {
    if (!is_kept_ || is_pinned(place, span())) { return; }
    try {
        Copies copies(place);
        copies.pin(data_, bytes_);
    } catch (const MpiError&) {} // what is not pinned is copied all the same, if anything is
}

} // namespace nodeaware::device
