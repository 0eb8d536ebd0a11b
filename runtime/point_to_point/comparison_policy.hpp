#pragma once

#include "runtime/point_to_point/batch_learner.hpp"

#include <optional>

namespace nodeaware {

/// When a rank whose messages are gathered goes back to MPI for a while, to compare, and what it
/// makes of that. A period is a number of batches. Pure.
class ComparisonPolicy {
  public:
    /// Nothing if no batches were seen both ways.
    using Measured = std::optional<BatchLearner::Comparison>;
    enum class Decision { go_on, compare, give_back };

    /// Of what batches take, to what they take by MPI.
    static constexpr double slower = 1.02;
    /// Of the batches by MPI in a comparison: those before, until all ranks are back, and those
    /// that are measured, fewer than in other periods as they take longer.
    static constexpr uint64_t to_settle = 16;
    static constexpr uint64_t period_to_compare = 32;
    static constexpr uint64_t period = 64; ///< batches

    /// A whole period by the library is over. What is not surely faster is measured once more, for
    /// the first batches by MPI may have taken longer than those to come, or have been others; and
    /// where that has not told enough, ever more seldom again. `saved_share`: of the messages
    /// between nodes, those that gathering saves.
    Decision end_period(const Measured& measured, double saved_share);
    /// Whether this rank takes part when others compare. Not where that would cost it too much, for
    /// it seems to gain, or surely does.
    bool joins(const Measured& measured, double saved_share) const;
    /// It goes back to compare.
    void begin();
    /// A whole period by MPI is over. Never Decision::compare.
    Decision end(const Measured& measured);
    /// Runs before have found the library faster: it is compared again as if it had been now.
    void know_faster();
    /// The library was faster when last compared, and has not been found slower since.
    bool was_faster() const { return was_faster_; }

  private:
    int periods_to_decide(const Measured& measured, double saved_share) const;

    int undecided_ = 0; ///< periods by the library
    bool was_compared_ = false;
    bool was_faster_ = false;
    int compared_after_ = 4;     ///< so many undecided comparisons by periods of the library
    int periods_to_compare_ = 0; ///< those that are left until then
    int compared_in_vain_ = 0;   ///< times in which nothing was seen both ways
};

} // namespace nodeaware
