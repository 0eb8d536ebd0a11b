#include "runtime/progress/waiter.hpp"

#include "runtime/mpi/tags.hpp"
#include "runtime/progress/backoff.hpp"

#include <sched.h>
#include <sys/resource.h>

namespace nodeaware {

#if !defined(NODEAWARE_VIRTUAL_TIME)
namespace {

/// How often this thread has left its core, by itself or not.
long switches_of_thread() {
    rusage usage{};
    if (getrusage(RUSAGE_THREAD, &usage) != 0) { return 0; }
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

} // namespace
#endif

void Waiter::pause(uint32_t bell, bool only_bell) {
    Progress* const progress = progress_ == nullptr ? nullptr : progress_();
    if (progress != nullptr) { progress->advance_inside(); }
    const Rest rest = patience_.next(only_bell, crowding_.is_crowded());
    if (check_ && rest.checks) { check_(); }
    if (rest.kind == Rest::Kind::sleep) {
        // What it rings for comes before what MPI has to do for others, once.
        const bool has_rung = arena_.sleep(bell, rest.microseconds);
        owes_progress_ = has_rung && !owes_progress_;
        if (owes_progress_) { return; }
    } else {
        this->rest(rest.kind);
    }
    if (only_bell) { progress_mpi(); }
}

void Waiter::rest(Rest::Kind kind) {
    switch (kind) {
    case Rest::Kind::spin:
        crowding_.spin(spins_++);
        backoff::relax();
        break;
    case Rest::Kind::yield: give_way(); break;
    case Rest::Kind::nap: backoff::nap(); break;
    case Rest::Kind::sleep: break;
    }
}

void Waiter::give_way() {
#if defined(NODEAWARE_VIRTUAL_TIME) // all ranks are one thread, and have turns as they yield
    sched_yield();
#else
    if (!looks_.are_enough(switches_of_thread())) { return; }
    sched_yield();
    looks_.begin_again(switches_of_thread());
#endif
}

void Waiter::progress_mpi() {
    int flag = 0;
    MPI_CALL(Iprobe, MPI_ANY_SOURCE, tags::never_used, comm_, &flag, MPI_STATUS_IGNORE);
}

} // namespace nodeaware
