#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace nodeaware {

/// Tags of payloads, which both ends know without a word: each names a connection (by a number that
/// the receiver has given it, one of a few), a tag of the application and the number of the message
/// on its channel, modulo a window. For the first and the last of the application's tags only,
/// which are those that programs use; the outermost of these, which most programs use, have the
/// larger window. Pure.
class PayloadTags {
  public:
    /// So many connections of two ranks, on different communicators, have tags of their own.
    static constexpr int parts = 4;
    /// From each end of the application's tags: those with a large window, and those with any.
    static constexpr int outermost = 4096;
    static constexpr int served = 32768;

    PayloadTags() = default;
    /// `largest`: tag of the MPI.
    PayloadTags(int largest, int part)
        : largest_(largest), part_(part),
          small_(static_cast<int>(
              std::min((int64_t{largest} + 1) / (int64_t{parts} * units), most_small))) {
        if (small_ < least_small) { small_ = 0; }
    }

    /// How far a message with that tag may be ahead of what its receiver has matched, see Credits;
    /// 0: it has no tags.
    uint32_t window(int tag) const {
        const int place = place_of(tag);
        return place < 0 ? 0
                         : static_cast<uint32_t>(place < 2 * outermost ? ratio * small_ : small_);
    }

    std::optional<int> of(int tag, uint32_t number) const {
        const uint32_t size = window(tag);
        if (size == 0) { return std::nullopt; }
        const int place = place_of(tag);
        const int before =
            place < 2 * outermost ? place * ratio : 2 * outermost * ratio + (place - 2 * outermost);
        return (part_ * units + before) * small_ + static_cast<int>(number % size);
    }

  private:
    static constexpr int ratio = 8;
    static constexpr int units = 2 * (outermost * ratio + served - outermost); ///< small windows
    static constexpr int64_t most_small = 512;
    static constexpr int least_small = 32;

    /// The outermost come first. Negative: it has none.
    int place_of(int tag) const {
        const bool is_first = tag >= 0 && tag < served;
        const int from_end = is_first ? tag : largest_ - tag;
        if (tag < 0 || tag > largest_ || from_end >= served) { return -1; }
        const int side = is_first ? 0 : 1;
        if (from_end < outermost) { return side * outermost + from_end; }
        return 2 * outermost + side * (served - outermost) + from_end - outermost;
    }

    int largest_ = 0;
    int part_ = 0;
    int small_ = 0;
};

} // namespace nodeaware
