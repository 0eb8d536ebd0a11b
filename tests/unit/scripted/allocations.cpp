#include "tests/unit/scripted/allocations.hpp"

#include "tests/unit/scripted/job.hpp"
#include "tests/unit/scripted/library.hpp"

#include <cerrno>
#include <cstddef>

namespace scripted {

namespace {

struct Watch {
    int rank = -1; ///< none
    uint64_t refused = 0;
    uint64_t count = 0;
};
Watch watch;

/// Whether the one who asks for memory is to get none.
[[maybe_unused]] bool is_refused(const void* caller) {
    if (watch.rank < 0 || Scheduler::running() == nullptr ||
        Scheduler::running()->rank() != watch.rank || !is_in_core(watch.rank, caller)) {
        return false;
    }
    if (++watch.count != watch.refused) { return false; }
    const int rank = watch.rank;
    watch.rank = -1;
    Job::running().note_failure("memory of rank " + std::to_string(rank));
    return true;
}

} // namespace

void watch_allocations(int rank, uint64_t refused) { watch = {rank, refused, 0}; }

uint64_t end_watch() {
    watch.rank = -1;
    return watch.count;
}

} // namespace scripted

#ifdef __SANITIZE_ADDRESS__

bool scripted::can_refuse_memory() { return false; }

#else

bool scripted::can_refuse_memory() { return true; }

/// Found here before that of the C library, also by the `operator new` that is part of the core.
extern "C" {
void* __libc_malloc(size_t bytes); // NOLINT
__attribute__((visibility("default"))) void* malloc(size_t bytes) {
    if (scripted::is_refused(__builtin_return_address(0))) {
        errno = ENOMEM;
        return nullptr;
    }
    return __libc_malloc(bytes);
}
}

#endif
