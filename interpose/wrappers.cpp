// The MPI functions that applications call. Each passes its arguments to the core and, if the core
// leaves the call to MPI, on to the next definition of the function.

#include "interpose/completion.hpp"
#include "interpose/next.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace nodeaware::abi {

using namespace nodeaware::interpose;

#define WRAP_EXCHANGE(symbol, name, parameters, arguments)                                         \
    EXPORTED int symbol parameters {                                                               \
        static constinit Next<int parameters> next(#symbol);                                       \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        const Core* core = active_core();                                                          \
        if (core == nullptr) { return next.get() arguments; }                                      \
        const Inside inside;                                                                       \
        int result = 0;                                                                            \
        if (core->name(&result, NODEAWARE_LIST arguments)) { return result; }                      \
        result = next.get() arguments;                                                             \
        core->native_done();                                                                       \
        return result;                                                                             \
    }

#define EXCHANGE(name, parameters, arguments) WRAP_EXCHANGE(MPI_##name, name, parameters, arguments)
#define EXTENSION(name, parameters, arguments)                                                     \
    WRAP_EXCHANGE(MPIX_##name, name, parameters, arguments)

/// A function that is mostly not wanted: then it costs a few loads and a jump to MPI's, without a
/// frame. The last arguments are what to do where it is wanted, before MPI's own call.
#define WRAP_SELDOM(name, parameters, arguments, counter, ...)                                     \
    namespace {                                                                                    \
    constinit Next<int parameters> next_##name("MPI_" #name);                                      \
    [[gnu::noinline]] int serve_##name parameters {                                                \
        if (next_##name.get() == nullptr) { return no_mpi; }                                       \
        __VA_ARGS__                                                                                \
        return next_##name.get() arguments;                                                        \
    }                                                                                              \
    }                                                                                              \
    EXPORTED int MPI_##name parameters {                                                           \
        if (is_any(activity.counter) || next_##name.known() == nullptr) [[unlikely]] {             \
            return serve_##name arguments;                                                         \
        }                                                                                          \
        return next_##name.known() arguments;                                                      \
    }

#define MEETING(name, parameters, arguments)                                                       \
    WRAP_SELDOM(name, parameters, arguments, meetings, announce_meeting(comm);)

#define CREATION(name, parameters, arguments)                                                      \
    EXPORTED int MPI_##name parameters {                                                           \
        static constinit Next<int parameters> next("MPI_" #name);                                  \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        const Core* core = active_core();                                                          \
        if (core == nullptr) { return next.get() arguments; }                                      \
        flush_engines();                                                                           \
        const Inside inside;                                                                       \
        const int result = next.get() arguments;                                                   \
        if (result == 0) { core->created(comm, created); }                                         \
        return result;                                                                             \
    }

#define POINT_TO_POINT(name, parameters, arguments)                                                \
    WRAP_SELDOM(                                                                                   \
        name, parameters, arguments, messages,                                                     \
        if (const Core* core = active_core(); core != nullptr && is_any(activity.messages)) {      \
            const Inside inside;                                                                   \
            return core->name arguments;                                                           \
        })

#define BLOCKING(name, parameters, arguments)                                                      \
    WRAP_SELDOM(name, parameters, arguments, engines, flush_engines();)

#define REQUESTS(name, parameters, arguments)                                                      \
    WRAP_SELDOM(                                                                                   \
        name, parameters, arguments, requests, if (const Core* core = core_with_requests()) {      \
            const Inside inside;                                                                   \
            return core->name arguments;                                                           \
        })

#define LIFECYCLE(name, parameters, arguments)                                                     \
    EXPORTED int MPI_##name parameters {                                                           \
        static constinit Next<int parameters> next("MPI_" #name);                                  \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        return around_##name([&] { return next.get() arguments; });                                \
    }

namespace {

template <class Call> int around_Init(Call call) {
    const int result = call();
    if (result == 0) { start_core(); }
    return result;
}

template <class Call> int around_Init_thread(Call call) { return around_Init(call); }

template <class Call> int around_Finalize(Call call) {
    stop_core();
    return call();
}

void flush_engines() {
    const Core* core = active_core();
    if (core != nullptr && core->running_engines->load(std::memory_order_relaxed) > 0) {
        const Inside inside;
        core->flush();
    }
}

void announce_meeting(MPI_Comm comm) {
    const Core* core = active_core();
    if (core == nullptr || core->waiting_communicators->load(std::memory_order_relaxed) == 0) {
        return;
    }
    const Inside inside;
    core->meeting(comm);
}

} // namespace

#include "interpose/functions.def"

EXPORTED int MPI_Request_free(MPI_Request* request) {
    static constinit Next<int(MPI_Request*)> next("MPI_Request_free");
    if (next.get() == nullptr) { return no_mpi; }
    free_request(request);
    return next.get()(request);
}

} // namespace nodeaware::abi
