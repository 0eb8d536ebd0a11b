#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace nodeaware {

/// What has come for ranks of this node that are slow to take it, moved out of cells that others
/// need: a ring of bounded size for each rank, which its mates write and it alone reads. Layout
/// over memory that is given, zero at first.
class Rings {
  public:
    /// `bytes` for each of the `ranks`, a multiple of 64; 0: nothing is ever moved.
    Rings(int ranks, uint64_t bytes) : ranks_(static_cast<uint64_t>(ranks)), bytes_(bytes) {}
    uint64_t memory_bytes() const { return ranks_ * (sizeof(Control) + bytes_); }
    void attach(std::byte* memory) { memory_ = memory; }

    /// By any rank: if nobody else moves anything to that ring, and there is room for so many bytes
    /// (a multiple of 8), what `claim()` returns is moved there: these bytes, or nothing if
    /// somebody else has claimed them. Returns whether they were moved.
    template <class Claim> bool move(int rank, uint64_t bytes, Claim claim) {
        Control& control = of(rank);
        if (control.is_written.exchange(1, std::memory_order_acquire) != 0) { return false; }
        const uint64_t end = control.end.load(std::memory_order_relaxed);
        const uint64_t begin = control.begin.load(std::memory_order_acquire);
        const bool has_room = end - begin + sizeof bytes + bytes <= bytes_;
        const std::span<const std::byte> claimed =
            has_room ? claim() : std::span<const std::byte>();
        if (!claimed.empty()) {
            const uint64_t size = claimed.size();
            write(rank, end, std::as_bytes(std::span(&size, 1)));
            write(rank, end + sizeof size, claimed);
            control.end.store(end + sizeof size + size, std::memory_order_release);
        }
        control.is_written.store(0, std::memory_order_release);
        return !claimed.empty();
    }

    /// By the rank itself: the size of what was moved first, 0 if there is nothing.
    uint64_t first_bytes(int rank) const {
        const Control& control = of(rank);
        const uint64_t begin = control.begin.load(std::memory_order_relaxed);
        if (control.end.load(std::memory_order_acquire) == begin) { return 0; }
        uint64_t size = 0;
        read(rank, begin, std::as_writable_bytes(std::span(&size, 1)));
        return size;
    }
    /// Takes it into memory of that size.
    void take(int rank, std::span<std::byte> to) {
        Control& control = of(rank);
        const uint64_t begin = control.begin.load(std::memory_order_relaxed);
        read(rank, begin + sizeof(uint64_t), to);
        control.begin.store(begin + sizeof(uint64_t) + to.size(), std::memory_order_release);
    }

  private:
    /// Positions count on; a place is what remains by the size.
    struct alignas(64) Control {
        std::atomic<uint32_t> is_written{0};
        std::atomic<uint64_t> end{0};
        alignas(64) std::atomic<uint64_t> begin{0};
    };

    Control& of(int rank) const { return std::launder(reinterpret_cast<Control*>(memory_))[rank]; }
    std::byte* ring(int rank) const {
        return memory_ + ranks_ * sizeof(Control) + static_cast<uint64_t>(rank) * bytes_;
    }
    void write(int rank, uint64_t position, std::span<const std::byte> from) const;
    void read(int rank, uint64_t position, std::span<std::byte> to) const;

    uint64_t ranks_;
    uint64_t bytes_;
    std::byte* memory_ = nullptr;
};

inline void Rings::write(int rank, uint64_t position, std::span<const std::byte> from) const {
    const uint64_t at = position % bytes_;
    const uint64_t first = std::min<uint64_t>(from.size(), bytes_ - at);
    std::copy_n(from.data(), first, ring(rank) + at);
    std::copy_n(from.data() + first, from.size() - first, ring(rank));
}

inline void Rings::read(int rank, uint64_t position, std::span<std::byte> to) const {
    const uint64_t at = position % bytes_;
    const uint64_t first = std::min<uint64_t>(to.size(), bytes_ - at);
    std::copy_n(ring(rank) + at, first, to.data());
    std::copy_n(ring(rank), to.size() - first, to.data() + first);
}

} // namespace nodeaware
