// The MPI functions that applications call. Each passes its arguments to the core and, if the core
// leaves the call to MPI, on to the next definition of the function.

#include "interpose/wrapping.hpp"

namespace nodeaware::abi {

using namespace nodeaware::interpose;

namespace {

template <class... Words> Word last(Words... words) {
    const Word all[] = {words...};
    return all[sizeof...(words) - 1];
}
template <class... Words> Word first(Word first_word, Words... /*others*/) { return first_word; }
MPI_Comm communicator(Word word) { return reinterpret_cast<MPI_Comm>(word); }

} // namespace

#define WRAP_EXCHANGE(symbol, name, parameters, arguments)                                         \
    EXPORTED int symbol parameters {                                                               \
        static constinit Next<int parameters> next(#symbol);                                       \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        const Core* core = active_core(__builtin_return_address(0));                               \
        if (core == nullptr) { return next.get() arguments; }                                      \
        const Inside inside;                                                                       \
        int result = 0;                                                                            \
        if (core->name(&result, NODEAWARE_LIST arguments)) { return result; }                      \
        result = next.get() arguments;                                                             \
        core->native_done(result);                                                                 \
        return result;                                                                             \
    }

#define EXCHANGE(name, parameters, arguments) WRAP_EXCHANGE(MPI_##name, name, parameters, arguments)
#define EXTENSION(name, parameters, arguments)                                                     \
    WRAP_EXCHANGE(MPIX_##name, name, parameters, arguments)

/// Where the core does not see messages, calls that wait for some are BLOCKING.
#define POINT_TO_POINT(name, parameters, arguments)                                                \
    WRAP_SELDOM(                                                                                   \
        MPI_##name, parameters, arguments,                                                         \
        is_any(activity.messages) || (!is_local(#name) && is_any(activity.pending_work)),          \
        if (is_any(activity.messages)) {                                                           \
            const Inside inside;                                                                   \
            return core->name arguments;                                                           \
        } if (!is_local(#name)) {                                                                  \
            const BlockingCall blocking(*core);                                                    \
            return next arguments;                                                                 \
        })

#define REQUESTS(name, parameters, arguments)                                                      \
    WRAP_SELDOM(                                                                                   \
        MPI_##name, parameters, arguments, is_any(activity.requests),                              \
        if (is_any(activity.requests)) {                                                           \
            const Inside inside;                                                                   \
            return core->name arguments;                                                           \
        })

#define MEETING(name, count)                                                                       \
    WRAP_SELDOM(                                                                                   \
        MPI_##name, (W##count), (A##count),                                                        \
        is_any(activity.meetings) || is_any(activity.pending_work) || is_any(activity.told_calls), \
        const MPI_Comm comm = communicator(last(A##count));                                        \
        const auto call_mpi =                                                                      \
            [&] {                                                                                  \
                const ToldCall told(*core, "MPI_" #name);                                          \
                return told.done(next(A##count), &comm);                                           \
            };                                                                                     \
        return around_meeting(*core, call_mpi, [&] { return comm; });)

/// The guard is not held during MPI's call, in which attributes of the application may be deleted:
/// its callbacks may do what they like.
#define BLOCKING(name, count)                                                                      \
    WRAP_SELDOM(MPI_##name, (W##count), (A##count),                                                \
                is_any(activity.pending_work) || is_any(activity.told_calls),                      \
                const BlockingCall blocking(*core);                                                \
                const ToldCall told(*core, "MPI_" #name); return told.done(next(A##count));)

#define COLLECTIVE(name, count)                                                                    \
    WRAP_SELDOM(MPI_##name, (W##count), (A##count),                                                \
                is_any(activity.pending_work) || is_any(activity.told_calls),                      \
                const BlockingCall blocking(*core);                                                \
                const MPI_Comm comm = communicator(last(A##count));                                \
                const ToldCall told(*core, "MPI_" #name);                                          \
                return told.done(next(A##count), &comm);)

#define SHARING(name, count)                                                                       \
    WRAP_SELDOM(MPI_##name, (W##count), (A##count), true, before_sharing(*core);                   \
                const BlockingCall blocking(*core); const ToldCall told(*core, "MPI_" #name);      \
                return told.done(next(A##count));)

/// Where MPI's functions on files are written with other MPI functions, those are not the
/// application's.
#define IO(name, count)                                                                            \
    EXPORTED int MPI_##name(W##count) {                                                            \
        static constinit Next<int(W##count)> next("MPI_" #name);                                   \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        const Core* core = active_core(__builtin_return_address(0));                               \
        if (core == nullptr) { return next.get()(A##count); }                                      \
        before_blocking(*core);                                                                    \
        const Inside inside;                                                                       \
        const ToldCall told(*core, "MPI_" #name);                                                  \
        return told.done(next.get()(A##count));                                                    \
    }

#define CREATION(name, count)                                                                      \
    EXPORTED int MPI_##name(W##count) {                                                            \
        static constinit Next<int(W##count)> next("MPI_" #name);                                   \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        const Core* core = active_core(__builtin_return_address(0));                               \
        if (core == nullptr) { return next.get()(A##count); }                                      \
        const int result = [&] {                                                                   \
            const BlockingCall blocking(*core);                                                    \
            const MPI_Comm parent = communicator(first(A##count));                                 \
            const ToldCall told(*core, "MPI_" #name);                                              \
            const int code = told.done(next.get()(A##count), &parent);                             \
            if (code != 0) { core->not_created(); }                                                \
            return code;                                                                           \
        }();                                                                                       \
        return result != 0 ? result : announce_created(*core, first(A##count), last(A##count));    \
    }

#define BEGINNING(name, count)                                                                     \
    WRAP_SELDOM(MPI_##name, (W##count), (A##count), true, core->communicator_begun();)

#define ENDING(name, count)                                                                        \
    EXPORTED int MPI_##name(W##count) {                                                            \
        static constinit Next<int(W##count)> next("MPI_" #name);                                   \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        before_end(true);                                                                          \
        return next.get()(A##count);                                                               \
    }

#define LIFECYCLE(name, parameters, arguments)                                                     \
    EXPORTED int MPI_##name parameters {                                                           \
        static constinit Next<int parameters> next("MPI_" #name);                                  \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        const int result = next.get() arguments;                                                   \
        if (result == 0) { start_core(); }                                                         \
        return result;                                                                             \
    }

namespace {

int announce_created(const Core& core, Word parent, Word created) {
    const Inside inside;
    return core.created(communicator(parent), reinterpret_cast<MPI_Comm*>(created));
}

} // namespace

#include "interpose/functions.def"

} // namespace nodeaware::abi
