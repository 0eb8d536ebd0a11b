// The profiling names of the MPI functions that may block. A program or a tool that calls PMPI_X
// wants MPI's own X, and gets it; but what the rank has left in the library before has to leave, as
// before MPI_X: its receiver may come to X later.

#include "interpose/wrapping.hpp"

namespace nodeaware::abi {

using namespace nodeaware::interpose;

namespace {

/// Inside a call that may block everything has left already, and what is sent there leaves at once.
/// MPI may call profiling names there, and the core's callbacks, which are not to come back to it.
bool is_outermost(const Core& core) {
    return core.blocking_calls->load(std::memory_order_relaxed) == 0;
}

} // namespace

#define MAY_BLOCK(symbol, parameters, arguments, waits)                                            \
    WRAP_SELDOM(                                                                                   \
        symbol, parameters, arguments, (waits) && is_any(activity.pending_work),                   \
        if ((waits) && is_outermost(*core)) {                                                      \
            const BlockingCall blocking(*core);                                                    \
            return next arguments;                                                                 \
        })

#define EXCHANGE(name, parameters, arguments)                                                      \
    MAY_BLOCK(PMPI_##name, parameters, arguments, !only_begins(#name))
#define EXTENSION(name, parameters, arguments) MAY_BLOCK(PMPIX_##name, parameters, arguments, true)
#define POINT_TO_POINT(name, parameters, arguments)                                                \
    MAY_BLOCK(PMPI_##name, parameters, arguments, !is_local(#name))
#define REQUESTS(name, parameters, arguments)                                                      \
    MAY_BLOCK(PMPI_##name, parameters, arguments, !is_local(#name))
#define MEETING(name, count) MAY_BLOCK(PMPI_##name, (W##count), (A##count), true)
#define CREATION(name, count) MAY_BLOCK(PMPI_##name, (W##count), (A##count), true)
#define BLOCKING(name, count) MAY_BLOCK(PMPI_##name, (W##count), (A##count), true)

#define SHARING(name, count)                                                                       \
    WRAP_SELDOM(PMPI_##name, (W##count), (A##count), true, before_sharing(*core);                  \
                const BlockingCall blocking(*core); return next(A##count);)

/// Where these are written with other MPI functions, those are not the application's.
#define IO(name, count)                                                                            \
    WRAP_SELDOM(PMPI_##name, (W##count), (A##count), is_any(activity.pending_work),                \
                before_blocking(*core);                                                            \
                const Inside inside; return next(A##count);)

#define ENDING(name, count)                                                                        \
    EXPORTED int PMPI_##name(W##count) {                                                           \
        static constinit Next<int(W##count)> next("PMPI_" #name);                                  \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        before_end(true);                                                                          \
        return next.get()(A##count);                                                               \
    }

#include "interpose/functions.def"

} // namespace nodeaware::abi
