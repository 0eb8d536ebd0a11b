#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace nodeaware {

/// Tags of payloads, which both ends know without a word: each names a connection (by a number that
/// the receiver has given it, one of a few), a tag of the application and the number of the message
/// on its channel, modulo a window. For the first and the
/// last of the application's tags only, which are those that programs use. Pure.
class PayloadTags {
  public:
    /// So many connections of two ranks, on different communicators, have tags of their own.
    static constexpr int parts = 4;

    PayloadTags() = default;
    /// `largest`: tag of the MPI.
    PayloadTags(int largest, int part)
        : largest_(largest), part_(part),
          window_(static_cast<int>(
              std::min((int64_t{largest} + 1) / (int64_t{parts} * slots), most_window))) {
        if (window_ < least_window) { window_ = 0; }
    }

    /// 0: there are none.
    uint32_t window() const { return static_cast<uint32_t>(window_); }

    std::optional<int> of(int tag, uint32_t number) const {
        const int slot = slot_of(tag);
        if (window_ == 0 || slot < 0) { return std::nullopt; }
        return (part_ * slots + slot) * window_ +
               static_cast<int>(number % static_cast<uint32_t>(window_));
    }

  private:
    static constexpr int slots = 65536;
    static constexpr int64_t most_window = 1024;
    static constexpr int least_window = 64;

    int slot_of(int tag) const {
        if (tag >= 0 && tag < slots / 2) { return tag; }
        return largest_ - tag < slots / 2 && tag <= largest_ ? slots / 2 + (largest_ - tag) : -1;
    }

    int largest_ = 0;
    int part_ = 0;
    int window_ = 0;
};

} // namespace nodeaware
