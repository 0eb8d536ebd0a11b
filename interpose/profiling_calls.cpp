// The profiling names of the MPI functions that may block. A program or a tool that calls PMPI_X
// wants MPI's own X, and gets it; but what the rank has left in the library before has to leave, as
// before MPI_X: its receiver may come to X later.

#include "interpose/wrapping.hpp"

#include <string_view>

namespace nodeaware::abi {

using namespace nodeaware::interpose;

namespace {

/// Where the kind of a function does not tell: it begins something that another one completes.
consteval bool only_begins(std::string_view name) {
    const bool probes = name.find("probe") != std::string_view::npos;
    return (name.starts_with('I') && !probes) || name.starts_with("Start");
}

/// It does not wait.
consteval bool is_local(std::string_view name) {
    return only_begins(name) || name.find("_init") != std::string_view::npos || name == "Cancel" ||
           name == "Request_free";
}

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
    WRAP_SELDOM(PMPI_##name, (W##count), (A##count),                                               \
                is_any(activity.messages) || is_any(activity.pending_work), before_sharing(*core); \
                const BlockingCall blocking(*core); return next(A##count);)

/// Where these are written with other MPI functions, those are not the application's.
#define IO(name, count)                                                                            \
    WRAP_SELDOM(PMPI_##name, (W##count), (A##count), is_any(activity.pending_work),                \
                before_blocking(*core);                                                            \
                const Inside inside; return next(A##count);)

#include "interpose/functions.def"

} // namespace nodeaware::abi
