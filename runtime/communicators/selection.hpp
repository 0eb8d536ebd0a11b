#pragma once

#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/job/operation.hpp"
#include "runtime/job/options.hpp"
#include "tuning/learner.hpp"

#include <chrono>
#include <map>
#include <span>
#include <utility>

namespace nodeaware {

/// How one call is to go.
struct Selected {
    const Strategy* strategy = nullptr; ///< nullptr: native
    tuning::Learner* learner = nullptr; ///< of calls that go by what is thought fastest
    double learning_seconds = 0; ///< what learning has cost since the last agreement; on rank 0
    bool is_measured = false;    ///< the learner wants its time
    double preparation = 0;      ///< seconds until all ranks were there
    std::chrono::steady_clock::time_point start{}; ///< of a measured call

    std::span<const Strategy* const> candidates() const;
    void learn_predictions(std::span<const double> seconds) const;
    /// To be called after a measured call.
    void learn_time() const;
};

/// What the calls on one communicator go by, where the configuration leaves that to the library:
/// for each operation, and for all-to-all for each size of block, a learner. All ranks select
/// alike.
class Selection {
  public:
    /// Collective over the inner communicator, from time to time. `uniform_bytes`: of every
    /// block if all ranks know that they are of one size, else 0.
    Selected select(InnerCommunicator& inner, Operation operation, const Choice& choice,
                    uint64_t uniform_bytes);

  private:
    tuning::Learner& learner(const InnerCommunicator& inner, Operation operation,
                             uint64_t uniform_bytes);

    std::map<std::pair<Operation, int>, tuning::Learner> learners_; ///< by operation, size class
};

} // namespace nodeaware
