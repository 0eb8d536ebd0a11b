#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace nodeaware {

/// A message that a rank sends to another node again and again.
struct Stream {
    int32_t destination = 0;
    int32_t tag = 0;
    uint64_t bytes = 0;
    bool operator==(const Stream&) const = default;
    bool operator<(const Stream& other) const {
        return std::tie(destination, tag, bytes) <
               std::tie(other.destination, other.tag, other.bytes);
    }
};

/// Finds the batches of one rank on one communicator: the messages to other nodes that it posts
/// together, up to the completion of what it waits for. Pure.
class BatchLearner {
  public:
    struct Batch {
        std::vector<Stream> streams; ///< ascending
        uint64_t count = 0;          ///< how often it was seen
        uint64_t recent = 0;         ///< since the last vote
    };

    /// The rank posts something; `seconds` is the time of any steady clock.
    void post(double seconds);
    /// What it posts is a message to another node.
    void send(const Stream& stream);
    /// A completion call has returned.
    void complete(double seconds);

    /// Kinds of batches by their first occurrence.
    const std::vector<Batch>& batches() const { return batches_; }

    /// True if nearly all recent batches were seen before.
    bool is_stable() const;
    /// Mean time from the first post to the last completion of recent batches with messages (0:
    /// there were none).
    double mean_seconds() const { return recent_ == 0 ? 0 : seconds_ / double(recent_); }
    uint64_t recent() const { return recent_; }
    /// Begins a new period for what is recent.
    void begin_period();
    /// Forgets everything.
    void forget();

  private:
    void finish();

    static constexpr size_t most_batches = 32;
    static constexpr size_t most_streams = 4096; ///< of one batch

    std::vector<Batch> batches_;
    std::vector<Stream> current_;
    bool has_completed_ = false;
    bool overflow_ = false;
    double first_post_ = 0;
    double last_completion_ = 0;
    uint64_t recent_ = 0;
    uint64_t recent_new_ = 0;
    double seconds_ = 0;
};

} // namespace nodeaware
