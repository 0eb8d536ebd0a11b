#pragma once

#include "runtime/device/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nodeaware::device {

/// A mapping of the host that devices reach as far as it has been used for them: part by part, each
/// pinned when it is first needed, and again only where the device has been reset. Pages of a part
/// are really there from then on.
class PinnedMemory {
  public:
    PinnedMemory() = default;
    PinnedMemory(const PinnedMemory&) = delete;
    PinnedMemory& operator=(const PinnedMemory&) = delete;

    /// `begin`: of a page.
    void attach(std::byte* begin, uint64_t bytes) {
        mapping_ = {reinterpret_cast<uintptr_t>(begin), bytes};
    }

    /// Before a copy from or to `span`, which may lie elsewhere. What cannot be pinned is copied
    /// all the same. `copies`: in the context of `place`.
    void pin(Copies& copies, const Place& place, const Span& span) noexcept;
    /// How many of these bytes one copy may move: what was pinned in two parts is not for one copy.
    uint64_t in_one_copy(const Span& span) const;

    /// Before the mapping ends. False: it must not, for the driver would take whatever comes to lie
    /// there for it.
    bool unpin();

    static constexpr uint64_t part_bytes = 4 << 20;

  private:
    enum class State : uint8_t { unused, pinned, refused };
    struct Part {
        State state = State::unused;
        bool was_pinned = false; ///< so it is to be unpinned
        Place place;             ///< that it was pinned for
    };

    bool holds(const Span& span) const;
    std::byte* begin_of(size_t part) const;
    uint64_t bytes_of(size_t part) const;
    bool is_as_it_was(size_t part, const Place& place) const;

    Span mapping_;
    std::vector<Part> parts_; ///< none as long as none was used
};

} // namespace nodeaware::device
