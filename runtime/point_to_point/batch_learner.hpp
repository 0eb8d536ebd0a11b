#pragma once

#include "strategies/batches.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace nodeaware {

/// Finds the batches of one rank on one communicator: the messages to other nodes that it posts
/// together, up to the completion of what it waits for. A batch repeats if its messages go to the
/// same ranks, whatever their tags and sizes: programs count tags up, and multigrid sends the same
/// way on every level. Pure.
class BatchLearner {
  public:
    using Stream = batches::Stream;

    /// Who has moved the messages of a period.
    enum class Mover { mixed, mpi, library };
    /// Seconds, and their squares.
    struct Sum {
        double seconds = 0;
        double squares = 0;
    };
    /// Of some batches.
    struct Durations {
        Sum batches;      ///< from the first post to the last completion
        Sum cycles;       ///< from one to the next, whatever else the program does
        double count = 0; ///< older ones count less
    };
    /// What batches take by the library, to what they take by MPI, and its standard error.
    struct Comparison {
        double ratio = 0;
        double error = 0;
        bool is_surely_above(double bound) const { return ratio - deviations * error > bound; }
        bool is_surely_below(double bound) const { return ratio + deviations * error < bound; }
        /// Only of batches that were seen for a whole period by MPI.
        bool is_of_whole_periods = false;
        static constexpr double deviations = 2;
    };
    /// Batches that go the same way.
    struct Kind : batches::Batch {
        Durations recent; ///< in this period
        Durations by_mpi;
        bool was_by_mpi = false; ///< for a whole period
        Durations by_library;
        int unseen = 0; ///< periods
    };

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
    const std::vector<Kind>& batches() const { return batches_; }
    /// Messages to that rank belong to a batch that repeats, in this period or the last one.
    bool is_learned(int destination) const { return learned_.count(destination) > 0; }

    /// True if nearly all recent batches were seen before.
    bool is_stable() const;
    /// Mean time from the first post to the last completion of recent batches with messages (0:
    /// there were none).
    double mean_seconds() const { return recent_ == 0 ? 0 : seconds_ / double(recent_); }
    /// Nothing if none was seen both ways. Programs have phases, so each kind is compared with
    /// itself only. Where cycles surely differ, they tell: a rank that need not wait for a message
    /// may wait for its consequences elsewhere. Where they do not, other work hides what the
    /// batches take.
    std::optional<Comparison> library_to_mpi() const;
    uint64_t recent() const { return recent_; }
    /// All of this period until now was moved by MPI; the rest of it will be mixed.
    void moved_by_mpi_until_now();
    /// Begins a new period for what is recent, and forgets what has not been seen for some. `last`:
    /// who has moved the messages of the last one.
    void begin_period(Mover last);

  private:
    void finish();
    void note_times(size_t next, bool is_first);
    size_t remember(std::vector<Stream> streams);

    static constexpr size_t none = ~size_t{0};
    static constexpr size_t most_batches = 256;
    static constexpr int most_unseen = 4;
    static constexpr size_t most_streams = 4096; ///< of one batch

    std::vector<Kind> batches_; ///< with repetitions in this period
    std::set<int> learned_;     ///< destinations
    size_t last_ = none;
    std::vector<Stream> current_;
    bool has_completed_ = false;
    bool overflow_ = false;
    double first_post_ = 0;
    double last_completion_ = 0;
    uint64_t recent_ = 0;
    uint64_t recent_new_ = 0;
    double seconds_ = 0;
    // The batch with messages that was complete last.
    size_t before_ = none;
    bool before_was_first_ = false; ///< of its kind
    double before_began_ = 0;
    double before_seconds_ = 0;
};

} // namespace nodeaware
