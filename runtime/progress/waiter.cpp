#include "runtime/progress/waiter.hpp"

#include "runtime/mpi/tags.hpp"
#include "runtime/progress/backoff.hpp"

#include <algorithm>

namespace nodeaware {

namespace {

// Microseconds. The bell ends a sleep at once; the limits are for MPI, which may have work to do
// for others. They double, so that such work waits little longer than this rank has waited.
constexpr uint32_t shortest_sleep = 200;
constexpr uint32_t doublings = 6;

// Checks look for what only errors leave behind, by a dozen calls of MPI, in each of which it may
// yield: what comes meanwhile is noticed late. These many sleeps take 0.1 to 0.2 s.
constexpr uint32_t rounds_between_checks = 1024;
constexpr uint32_t sleeps_between_checks = 16;

} // namespace

void Waiter::pause(uint32_t bell, bool only_bell) {
    const uint32_t round = idle_++;
    Progress* const progress = progress_ == nullptr ? nullptr : progress_();
    if (progress != nullptr) { progress->advance_inside(); }
    // With more ranks than cores, a rank that only waits for the bell leaves its core to others
    // without delay.
    const uint32_t patience =
        oversubscribed_ ? (only_bell ? 0 : backoff::yields) : backoff::spins + backoff::yields;
    const bool sleeps = only_bell && round >= patience;
    const uint32_t doubled = sleeps ? std::min(round - patience, doublings) : 0;
    const uint32_t between = sleeps ? sleeps_between_checks : rounds_between_checks;
    if (check_ && round % between == between - 1) { check_(); }
    if (sleeps) {
        // What it rings for comes before what MPI has to do for others, once.
        const bool has_rung = arena_.sleep(bell, shortest_sleep << doubled);
        owes_progress_ = has_rung && !owes_progress_;
        if (owes_progress_) { return; }
    } else {
        backoff::pause(round, oversubscribed_);
    }
    if (only_bell) { progress_mpi(); }
}

void Waiter::progress_mpi() {
    int flag = 0;
    MPI_CALL(Iprobe, MPI_ANY_SOURCE, tags::never_used, comm_, &flag, MPI_STATUS_IGNORE);
}

} // namespace nodeaware
