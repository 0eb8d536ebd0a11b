#pragma once

#include <atomic>

namespace nodeaware {

/// What the core has to do beside exchanges. The preloaded part looks at these counters before each
/// call, and leaves calls alone that nobody wants to see; so they are plain numbers in one constant
/// place.
struct Activity {
    /// In place of a number: all calls are of interest.
    static constexpr int all = 1 << 30;

    /// Communicators that wait for a meeting of their ranks.
    std::atomic<int> meetings{0};
    /// Requests that need more than MPI to complete.
    std::atomic<int> requests{0};
    /// Not 0: point-to-point calls are to be seen.
    std::atomic<int> messages{0};
    /// Engines that move point-to-point messages: what waits in them may have to leave before this
    /// rank blocks elsewhere.
    std::atomic<int> pending_work{0};
    /// Not 0: MPI_Allreduce may go by nodes.
    std::atomic<int> reductions{0};
    /// Not 0: functions that the library has no part in are recorded.
    std::atomic<int> told_calls{0};
    /// Functions of MPI that may block and that the application has called.
    std::atomic<int> blocking_calls{0};
};
inline constinit Activity activity;

} // namespace nodeaware
