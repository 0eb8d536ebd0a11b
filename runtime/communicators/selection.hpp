#pragma once

#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/job/operation.hpp"
#include "runtime/job/options.hpp"
#include "tuning/learner.hpp"

#include <chrono>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace nodeaware {

/// How one call is to go.
struct Selected {
    const Strategy* strategy = nullptr;     ///< nullptr: native
    CallMemory memory = CallMemory::host;   ///< what they count as: all ranks the same
    const Parameters* parameters = nullptr; ///< of that; not of native calls
    tuning::Learner* learner = nullptr;     ///< of calls that go by what is thought fastest
    double learning_seconds = 0; ///< what learning has cost since the last agreement; on rank 0
    bool is_measured = false;    ///< the learner wants its time
    double preparation = 0;      ///< seconds until all ranks were there
    std::chrono::steady_clock::time_point start{}; ///< of a measured call

    std::span<const Agreement::CandidateWay> candidates; ///< whose times the learner wants to know
    void learn_predictions(std::span<const double> seconds) const;
    /// To be called after a measured call.
    void learn_time() const;
};

/// What the calls on one communicator go by, where the configuration leaves that to the library:
/// for each operation, and for all-to-all for each size of block, a learner. All ranks select
/// alike.
///
/// Whether memory is a device's each rank knows of its own only. When the ranks agree on times,
/// they agree on that, too: if it was on any of them, the calls count as such from then on, and
/// learning begins again. Until then all count as the host's. They also agree on how much a node
/// has for another, by which the radix is chosen where nodes relay. Where the configuration names a
/// strategy and there are devices, or nodes relay, they agree at the second, fourth, eighth .. call
/// of an operation.
class Selection {
  public:
    /// Collective over the inner communicator, from time to time. `uniform_bytes`: of every
    /// block if all ranks know that they are of one size, else 0.
    Selected select(InnerCommunicator& inner, const Exchange& exchange, const Choice& choice,
                    uint64_t uniform_bytes);

  private:
    struct Calls {
        tuning::Learner learner;
        CallMemory seen = CallMemory::host;                ///< by this rank
        CallMemory agreed = CallMemory::host;              ///< never less than it was
        std::vector<Agreement::CandidateWay> candidates{}; ///< by what is agreed, as ways()
        uint64_t bundle = 0; ///< that their radix was chosen for; 0: not known
        uint64_t count = 0;
    };

    /// Of calls by a strategy that is given.
    struct FixedCalls {
        uint64_t count = 0;
        CallMemory seen = CallMemory::host; ///< as of Calls
        CallMemory agreed = CallMemory::host;
        uint64_t bundle = 0;
    };

    Selected select_fixed(InnerCommunicator& inner, const Exchange& exchange,
                          const Strategy* strategy, uint64_t uniform_bytes);
    Calls& calls(InnerCommunicator& inner, Operation operation, uint64_t uniform_bytes);
    /// What is known by now of how much a node has for another decides how nodes relay.
    static void set_candidates(InnerCommunicator& inner, uint64_t bundle, Calls& calls);
    static double agree(InnerCommunicator& inner, const Exchange& exchange, uint64_t uniform_bytes,
                        Calls& calls);

    std::map<std::pair<Operation, int>, Calls> calls_; ///< by operation, size class
    std::map<std::pair<Operation, int>, FixedCalls> fixed_calls_;
};

} // namespace nodeaware
