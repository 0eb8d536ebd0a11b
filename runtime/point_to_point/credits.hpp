#pragma once

#include "runtime/point_to_point/payload_tags.hpp"
#include "runtime/point_to_point/wire.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

namespace nodeaware {

/// Seconds that a sender waits at most for a receiver where that only bounds memory: the receiver
/// may be away in MPI with receives that it has not announced, as those with wildcards. So what is
/// ahead grows by 16 MiB a second at most.
constexpr double longest_wait(uint64_t bytes) {
    return std::max(1.0, static_cast<double>(bytes) / static_cast<double>(uint64_t{16} << 20U));
}

/// What this rank has sent on its channels, and how far it knows their receivers to have come. Says
/// whether a message may be copied, and whether it may go straight. Pure.
///
/// Receivers tell when a message is matched if they are asked to. As those before it on its channel
/// are matched, too, it is enough to ask now and then: when a quarter of what is allowed has gone.
class Credits {
  public:
    struct Limits {
        /// How far ahead of what is known to be matched messages may go straight.
        PayloadTags tags;
        uint64_t channel_bytes = uint64_t{1} << 20; ///< of copies on one channel
        uint64_t total_bytes = uint64_t{64} << 20;  ///< of copies on all of them
    };
    explicit Credits(const Limits& limits) : limits_(limits) {}

    /// The number of the next message on its channel.
    uint32_t next(const Channel& channel) const;
    bool may_go_straight(const Channel& channel) const;
    /// There is credit for a copy, and for one that is larger than a copy is worth or cannot go
    /// otherwise.
    bool may_copy(const Channel& channel, uint64_t bytes) const;
    bool must_fit(uint64_t bytes) const;

    /// A message that is about to be sent.
    struct Mark {
        Channel channel;
        uint32_t number = 0;    ///< on its channel
        uint64_t copied = 0;    ///< bytes on the channel, up to this message
        bool is_wanted = false; ///< the receiver is to tell when it is matched
    };
    /// `copied`: bytes of it that count against the credit.
    Mark mark(const Channel& channel, uint64_t copied) const;
    void note_sent(const Mark& mark);
    void note_matched(const Mark& mark);
    /// A message that is numbered with the others and that MPI has.
    void note_sent_by_mpi(const Channel& channel) { ++channels_[channel].messages; }
    /// The messages to a rank are numbered anew; nothing is known of those before.
    void forget(int destination);

    uint64_t outstanding() const { return outstanding_; }
    size_t channels() const { return channels_.size(); }

  private:
    struct Sent {
        uint32_t messages = 0;
        uint32_t asked = 0; ///< messages up to the last that was to be told of
        uint32_t matched = 0;
        uint64_t copied = 0;
        uint64_t copied_asked = 0;
        uint64_t copied_matched = 0;
    };
    Limits limits_;
    std::map<Channel, Sent> channels_;
    uint64_t outstanding_ = 0;
};

} // namespace nodeaware
