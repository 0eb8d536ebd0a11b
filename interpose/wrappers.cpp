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

#define MEETING(name, parameters, arguments)                                                       \
    EXPORTED int MPI_##name parameters {                                                           \
        static constinit Next<int parameters> next("MPI_" #name);                                  \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        announce_meeting(comm);                                                                    \
        return next.get() arguments;                                                               \
    }

#define CREATION(name, parameters, arguments)                                                      \
    EXPORTED int MPI_##name parameters {                                                           \
        static constinit Next<int parameters> next("MPI_" #name);                                  \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        const Core* core = active_core();                                                          \
        if (core == nullptr) { return next.get() arguments; }                                      \
        const Inside inside;                                                                       \
        const int result = next.get() arguments;                                                   \
        if (result == 0) { core->created(created); }                                               \
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

// Waiting for all: the library's operations first, then MPI.

EXPORTED int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    static constinit Next<int(MPI_Request*, MPI_Status*)> next("MPI_Wait");
    if (next.get() == nullptr) { return no_mpi; }
    complete(1, request);
    return next.get()(request, status);
}

EXPORTED int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    static constinit Next<int(int, MPI_Request*, MPI_Status*)> next("MPI_Waitall");
    if (next.get() == nullptr) { return no_mpi; }
    complete(count, requests);
    return next.get()(count, requests, statuses);
}

// Waiting for some: where operations of the library are among them, tests in a loop.

EXPORTED int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    static constinit Next<int(int, MPI_Request*, int*, MPI_Status*)> next("MPI_Waitany");
    static constinit Next<int(int, MPI_Request*, int*, int*, MPI_Status*)> test("MPI_Testany");
    if (next.get() == nullptr || test.get() == nullptr) { return no_mpi; }
    int result = 0;
    const bool done = test_until(count, requests, [&] {
        int flag = 0;
        result = test.get()(count, requests, index, &flag, status);
        return result != 0 || flag != 0;
    });
    return done ? result : next.get()(count, requests, index, status);
}

EXPORTED int MPI_Waitsome(int count, MPI_Request* requests, int* done_count, int* indices,
                          MPI_Status* statuses) {
    using Function = int(int, MPI_Request*, int*, int*, MPI_Status*);
    static constinit Next<Function> next("MPI_Waitsome");
    static constinit Next<Function> test("MPI_Testsome");
    if (next.get() == nullptr || test.get() == nullptr) { return no_mpi; }
    int result = 0;
    const bool done = test_until(count, requests, [&] {
        result = test.get()(count, requests, done_count, indices, statuses);
        return result != 0 || *done_count != 0;
    });
    return done ? result : next.get()(count, requests, done_count, indices, statuses);
}

#define TESTING(name, parameters, arguments, count, requests)                                      \
    EXPORTED int MPI_##name parameters {                                                           \
        static constinit Next<int parameters> next("MPI_" #name);                                  \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        progress(count, requests);                                                                 \
        return next.get() arguments;                                                               \
    }

TESTING(Test, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status), 1,
        request)
TESTING(Testall, (int count, MPI_Request* requests, int* flag, MPI_Status* statuses),
        (count, requests, flag, statuses), count, requests)
TESTING(Testany, (int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status),
        (count, requests, index, flag, status), count, requests)
TESTING(Testsome,
        (int count, MPI_Request* requests, int* done_count, int* indices, MPI_Status* statuses),
        (count, requests, done_count, indices, statuses), count, requests)

// The handle itself is passed, whose size differs between MPIs: as wide as a register.
EXPORTED int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    static constinit Next<int(MPI_Request, int*, MPI_Status*)> next("MPI_Request_get_status");
    if (next.get() == nullptr) { return no_mpi; }
    progress(0, nullptr);
    return next.get()(request, flag, status);
}

EXPORTED int MPI_Start(MPI_Request* request) {
    static constinit Next<int(MPI_Request*)> next("MPI_Start");
    if (next.get() == nullptr) { return no_mpi; }
    return start(1, request, [&] { return next.get()(request); });
}

EXPORTED int MPI_Startall(int count, MPI_Request* requests) {
    static constinit Next<int(int, MPI_Request*)> next("MPI_Startall");
    if (next.get() == nullptr) { return no_mpi; }
    return start(count, requests, [&] { return next.get()(count, requests); });
}

EXPORTED int MPI_Request_free(MPI_Request* request) {
    static constinit Next<int(MPI_Request*)> next("MPI_Request_free");
    if (next.get() == nullptr) { return no_mpi; }
    free_request(request);
    return next.get()(request);
}

} // namespace nodeaware::abi
