#include "runtime/point_to_point/credits.hpp"

#include <algorithm>
#include <limits>

namespace nodeaware {

uint32_t Credits::next(const Channel& channel) const {
    const auto found = channels_.find(channel);
    return found == channels_.end() ? 0 : found->second.messages;
}

/// Receives are open for half of the window from the first that is not matched on, so a number that
/// is no further ahead of what is known to be matched never meets one that has the same tag.
bool Credits::may_go_straight(const Channel& channel) const {
    const auto found = channels_.find(channel);
    const uint32_t window = limits_.tags.window(channel.second);
    if (found == channels_.end()) { return window > 0; }
    return found->second.messages - found->second.matched < window / 2;
}

bool Credits::may_copy(const Channel& channel, uint64_t bytes) const {
    const auto found = channels_.find(channel);
    const uint64_t before =
        found == channels_.end() ? 0 : found->second.copied - found->second.copied_matched;
    return before + bytes <= limits_.channel_bytes && outstanding_ + bytes <= limits_.total_bytes;
}

bool Credits::must_fit(uint64_t bytes) const {
    return outstanding_ == 0 || outstanding_ + bytes <= limits_.total_bytes;
}

Credits::Mark Credits::mark(const Channel& channel, uint64_t copied) const {
    const auto found = channels_.find(channel);
    const Sent sent = found == channels_.end() ? Sent{} : found->second;
    const uint64_t after = sent.copied + copied;
    const bool is_little_left = outstanding_ + copied > limits_.total_bytes / 2;
    const uint32_t window = limits_.tags.window(channel.second);
    const bool is_wanted =
        (window > 0 && sent.messages + 1 - sent.asked >= window / 4) ||
        after - sent.copied_asked >= (is_little_left ? 1 : limits_.channel_bytes / 4);
    return {channel, sent.messages, after, is_wanted};
}

void Credits::note_sent(const Mark& mark) {
    Sent& sent = channels_[mark.channel];
    outstanding_ += mark.copied - sent.copied;
    sent.messages = mark.number + 1;
    sent.copied = mark.copied;
    if (mark.is_wanted) {
        sent.asked = sent.messages;
        sent.copied_asked = sent.copied;
    }
}

void Credits::note_matched(const Mark& mark) {
    Sent& sent = channels_[mark.channel];
    sent.matched = std::max(sent.matched, mark.number + 1);
    const uint64_t copied = std::max(sent.copied_matched, mark.copied);
    outstanding_ -= copied - sent.copied_matched;
    sent.copied_matched = copied;
}

void Credits::forget(int destination) {
    auto sent = channels_.lower_bound({destination, std::numeric_limits<int>::min()});
    while (sent != channels_.end() && sent->first.first == destination) {
        outstanding_ -= sent->second.copied - sent->second.copied_matched;
        sent = channels_.erase(sent);
    }
}

} // namespace nodeaware
