#include "start_line.hpp"

#include "mpi_forms.hpp"
#include "program.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace bench {
namespace {

constexpr double spin_time = 100e-6; // longer than a wake-up from sleep takes
// Many ranks of one core take a millisecond or two to wake up. More tells of other work.
constexpr double late_wake_up = 4e-3;

constexpr double rest_time = 5e-3;

} // namespace

// With more ranks than cores a spinning rank keeps another from waking up in time. All ranks
// share this machine if they share its clock, whatever else makes them look like several nodes.
StartLine::StartLine(Mode mode, double pause, int ranks)
    : mode_(mode), pause_(pause), spins_(ranks <= sysconf(_SC_NPROCESSORS_ONLN)) {
    // The kernel otherwise lets a sleeper oversleep by 50 us to save wake-ups.
    if (mode == Mode::shared_clock) prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

StartLine::Start StartLine::wait(MPI_Comm comm) const {
    if (mode_ == Mode::none) return {now(), false};
    check(MPI_Barrier(comm), "MPI_Barrier");
    if (mode_ != Mode::shared_clock) return {now(), false};
    double start = now() + pause_; // rank 0's counts
    check(MPI_Bcast(&start, 1, MPI_DOUBLE, 0, comm), "MPI_Bcast");
    bool late = now() > start;
    sleep_until(spins_ ? start - spin_time : start);
    double begin = 0;
    while ((begin = now()) < start) sched_yield();
    late = late || begin - start > late_wake_up;
    return {start, late};
}

void StartLine::rest() const {
    if (mode_ == Mode::shared_clock && !spins_) sleep_until(now() + rest_time);
}

} // namespace bench
