#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace nodeaware::device {

class Copies;
struct Place;
struct Span;

/// Memory of the host for copies to and from devices. To pin it takes longer than most exchanges,
/// so it is kept for the next one: as much as was in use at the same time, up to a limit beyond
/// which it is ordinary memory. Threads may have one each.
class HostMemory {
  public:
    HostMemory() = default;
    /// Throws std::bad_alloc.
    explicit HostMemory(uint64_t bytes);
    ~HostMemory();
    HostMemory(HostMemory&& other) noexcept;
    HostMemory& operator=(HostMemory&& other) noexcept;

    std::byte* data() const { return data_; }
    /// As many as were asked for, or more.
    uint64_t bytes() const { return bytes_; }
    /// Else it is ordinary memory, which no device is let reach.
    bool can_be_pinned() const { return is_kept_; }
    /// Before copies; once is enough, unless the device has been reset. `copies`: in the context of
    /// `place`.
    void pin(Copies& copies, const Place& place) const;
    void pin(const Place& place) const;
    /// Pins it, also anew if the device has been reset; 0: kernels do not reach it.
    uint64_t address_for_kernels(Copies& copies) const;
    /// Never to be used again: something may write to it for ever.
    static void lose(HostMemory&& memory) { memory.data_ = nullptr; }

    static constexpr uint64_t most_kept = uint64_t{256} << 20U;

  private:
    Span span() const;

    std::byte* data_ = nullptr;
    uint64_t bytes_ = 0;
    bool is_kept_ = false;
};

} // namespace nodeaware::device
