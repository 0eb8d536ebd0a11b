// The MPI functions that applications call. Each passes its arguments to the core and, if the core
// leaves the call to MPI, on to the next definition of the function.

#include "interpose/next.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace nodeaware::abi {

using namespace nodeaware::interpose;

#define EXCHANGE(name, parameters, arguments)                                                      \
    EXPORTED int MPI_##name parameters {                                                           \
        static constinit Next<int parameters> next("MPI_" #name);                                  \
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

} // namespace

#include "interpose/functions.def"

} // namespace nodeaware::abi
