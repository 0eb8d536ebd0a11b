#pragma once

#include "strategies/batches.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace nodeaware {

/// Finds the batches of one rank on one communicator: the messages to other nodes that it posts
/// together, up to the completion of what it waits for. Pure.
class BatchLearner {
  public:
    using Stream = batches::Stream;

    /// True if what is posted next begins a batch, whose time counts from then.
    bool begins_batch() const { return has_completed_ || first_post_ == 0; }
    /// The rank posts something; `seconds` is the time of any steady clock, or anything inside a
    /// batch.
    void post(double seconds);
    /// What it posts is a message to another node.
    void send(const Stream& stream);
    /// A completion call has returned.
    void complete(double seconds);

    /// The last batch with messages that is complete, if it is remembered; valid until the next
    /// call. It repeats if it was seen twice in this period.
    const batches::Batch* last() const {
        return last_ < batches_.size() ? &batches_[last_] : nullptr;
    }
    /// All that are remembered.
    const std::vector<batches::Batch>& batches() const { return batches_; }
    /// It belongs to a batch that repeats, in this period or the last one.
    bool is_learned(const Stream& stream) const { return learned_.count(stream) > 0; }

    /// True if nearly all recent batches were seen before.
    bool is_stable() const;
    /// Mean time from the first post to the last completion of recent batches with messages (0:
    /// there were none).
    double mean_seconds() const { return recent_ == 0 ? 0 : seconds_ / double(recent_); }
    uint64_t recent() const { return recent_; }
    /// Begins a new period for what is recent, and forgets what was not seen in the last one.
    void begin_period();

  private:
    void finish();
    void remember(std::vector<Stream> streams);

    static constexpr size_t none = ~size_t{0};
    static constexpr size_t most_batches = 256;
    static constexpr size_t most_streams = 4096; ///< of one batch

    std::vector<batches::Batch> batches_; ///< with repetitions in this period
    std::set<Stream> learned_;
    size_t last_ = none;
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
