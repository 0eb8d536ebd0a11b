#include "runtime/core/recording.hpp"

#include "runtime/core/exchange_hooks.hpp"
#include "runtime/core/recorded_calls.hpp"
#include "runtime/core/recorded_communicators.hpp"
#include "runtime/core/recorded_requests.hpp"
#include "runtime/progress/activity.hpp"

#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace nodeaware {

namespace {

using recorded_calls::Made;
using recorded_requests::Awaited;
using trace::Nanoseconds;

abi::Core plain;
abi::Core recording_core;
const void* (*caller_of_this_thread)() = nullptr;

Nanoseconds time_now() { return trace::recorder->now(); }
/// While the recorder is there: not in what MPI_Finalize calls at its end.
bool is_on() { return trace::recorder != nullptr; }
Made made(const char* function, Nanoseconds begin) {
    return {function, caller_of_this_thread(), begin, time_now()};
}

/// An exchange that has been left to MPI, or is under way in the library.
struct Begun {
    const char* function = nullptr; ///< nullptr: there is none
    Nanoseconds begin = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    ExchangeArguments arguments;
    Form form = Form::blocking;
    const MPI_Request* request = nullptr;
};
thread_local Begun begun;

void end_exchange(const Begun& exchange, std::string_view strategy, int result) {
    if (exchange.function == nullptr || result != MPI_SUCCESS || !is_on()) { return; }
    recorded_calls::exchange(made(exchange.function, exchange.begin), strategy, exchange.comm,
                             exchange.arguments, exchange.form, exchange.request);
}

/// Of a call that the hook has served. What it tells of a blocking one is told last; others are
/// told of at their ends, unless MPI has been called with copies of the buffers.
std::string_view strategy_of_call(Form form) {
    const std::string_view told = trace::told_strategy;
    return form == Form::blocking || told == trace::by_mpi ? told : "gathered";
}

constexpr Form form_of(std::string_view name) {
    if (name.find("_init") != std::string_view::npos) { return Form::persistent; }
    return name.starts_with('I') ? Form::nonblocking : Form::blocking;
}

// The arguments of an exchange, by their types.

template <class Count>
ExchangeArguments read(bool gathers, const void* sendbuf, Count sendcount,
                       abi::MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                       abi::MPI_Datatype recvtype, abi::MPI_Comm comm) {
    return (gathers ? exchange_arguments::allgather<Count>
                    : exchange_arguments::alltoall<Count>)(sendbuf, sendcount, sendtype, recvbuf,
                                                           recvcount, recvtype, comm);
}
template <class Count, class Offset>
ExchangeArguments read(bool /*gathers*/, const void* sendbuf, const Count* sendcounts,
                       const Offset* sdispls, abi::MPI_Datatype sendtype, void* recvbuf,
                       const Count* recvcounts, const Offset* rdispls, abi::MPI_Datatype recvtype,
                       abi::MPI_Comm comm) {
    return exchange_arguments::alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                         recvcounts, rdispls, recvtype, comm);
}
template <class Count, class Offset>
ExchangeArguments read(bool /*gathers*/, const void* sendbuf, const Count* sendcounts,
                       const Offset* sdispls, const abi::MPI_Datatype* sendtypes, void* recvbuf,
                       const Count* recvcounts, const Offset* rdispls,
                       const abi::MPI_Datatype* recvtypes, abi::MPI_Comm comm) {
    return exchange_arguments::alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                                         recvcounts, rdispls, recvtypes, comm);
}
template <class Count, class Offset>
ExchangeArguments read(bool /*gathers*/, const void* sendbuf, Count sendcount,
                       abi::MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                       const Offset* displs, abi::MPI_Datatype recvtype, abi::MPI_Comm comm) {
    return exchange_arguments::allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                          recvtype, comm);
}

template <Form form, class... Arguments>
bool exchange(const char* function, bool (*hook)(int*, Arguments...), int* result,
              std::type_identity_t<Arguments>... arguments) {
    if (!is_on()) { return hook(result, arguments...); }
    constexpr size_t more = form == Form::blocking ? 0 : form == Form::nonblocking ? 1 : 2;
    constexpr size_t count = sizeof...(Arguments) - more;
    const std::string_view name = function;
    const std::tuple<Arguments...> all(arguments...);
    Begun call{function, time_now(), native(std::get<count - 1>(all)), {}, form, nullptr};
    call.arguments = [&]<size_t... Index>(std::index_sequence<Index...>) {
        return read(name.find("allgather") != std::string_view::npos, std::get<Index>(all)...);
    }
    (std::make_index_sequence<count>());
    call.arguments.is_with_neighbors = name.find("eighbor") != std::string_view::npos;
    if constexpr (form == Form::nonblocking) { call.request = native(std::get<count>(all)); }
    if constexpr (form == Form::persistent) { call.request = native(std::get<count + 1>(all)); }
    trace::told_strategy = {};
    if (hook(result, arguments...)) {
        end_exchange(call, strategy_of_call(form), *result);
        return true;
    }
    begun = call;
    return false;
}

void exchange_done(int result) {
    plain.native_done(result);
    end_exchange(std::exchange(begun, {}), trace::by_mpi, result);
}

/// Around a call of MPI's own function that may block, as the preloaded part does it for calls that
/// nobody wants to see.
class BlockingCall {
  public:
    BlockingCall() {
        if (activity.pending_work.load(std::memory_order_relaxed) != 0) { plain.before_blocking(); }
        activity.blocking_calls.fetch_add(1, std::memory_order_relaxed);
    }
    ~BlockingCall() { activity.blocking_calls.fetch_sub(1, std::memory_order_relaxed); }
    BlockingCall(const BlockingCall&) = delete;
    BlockingCall& operator=(const BlockingCall&) = delete;
};

constexpr bool is_local(std::string_view name) {
    const bool probes = name.find("probe") != std::string_view::npos;
    return (name.starts_with('I') && !probes) || name.find("_init") != std::string_view::npos;
}

template <class Function, class... Arguments>
int pass_message(bool is_local, Function hook, Function by_mpi, Arguments... arguments) {
    if (library != nullptr && library->messages != nullptr) { return hook(arguments...); }
    if (is_local) { return by_mpi(arguments...); }
    const BlockingCall blocking;
    return by_mpi(arguments...);
}

/// The library has requests of its own, or sees messages.
bool sees_requests() {
    return library != nullptr &&
           (library->messages != nullptr ||
            (activity.requests.load(std::memory_order_relaxed) & (Activity::all - 1)) != 0);
}

// What point-to-point calls come to, by the types of their arguments.

template <class Count, class... Request>
void note(const Made& made, Form form, const void* buffer, Count count, abi::MPI_Datatype type,
          int peer, int /*tag*/, abi::MPI_Comm comm, Request... request) {
    const MPI_Request* persistent = nullptr;
    if constexpr (sizeof...(Request) == 1) {
        if (form == Form::persistent) { persistent = native(request...); }
    }
    recorded_calls::send(made, {buffer, count, native(type)}, peer, native(comm), persistent);
}

template <class Count, class Told>
void note(const Made& made, Form /*form*/, void* /*buffer*/, Count /*count*/,
          abi::MPI_Datatype /*type*/, int source, int tag, abi::MPI_Comm comm, Told* /*told*/) {
    recorded_calls::receive(made, source, tag, native(comm));
}

template <class Count, class Told>
void note(const Made& made, Form /*form*/, const void* sendbuf, Count sendcount,
          abi::MPI_Datatype sendtype, int destination, int /*sendtag*/, void* /*recvbuf*/,
          Count /*recvcount*/, abi::MPI_Datatype /*recvtype*/, int source, int recvtag,
          abi::MPI_Comm comm, Told* /*told*/) {
    recorded_calls::send(made, {sendbuf, sendcount, native(sendtype)}, destination, native(comm));
    recorded_calls::receive(made, source, recvtag, native(comm), true);
}

template <class Count, class Told>
void note(const Made& made, Form /*form*/, void* buffer, Count count, abi::MPI_Datatype type,
          int destination, int /*sendtag*/, int source, int recvtag, abi::MPI_Comm comm,
          Told* /*told*/) {
    recorded_calls::send(made, {buffer, count, native(type)}, destination, native(comm));
    recorded_calls::receive(made, source, recvtag, native(comm), true);
}

/// Probes that wait.
void note(const Made& made, Form form, int source, int tag, abi::MPI_Comm comm,
          abi::MPI_Status* /*status*/) {
    (void)form;
    recorded_calls::receive(made, source, tag, native(comm));
}
void note(const Made& made, Form form, int source, int tag, abi::MPI_Comm comm,
          abi::MPI_Message* /*message*/, abi::MPI_Status* /*status*/) {
    (void)form;
    recorded_calls::receive(made, source, tag, native(comm));
}

/// All others; those that look for something may do so all the time.
template <class... Arguments>
void note(const Made& made, Form /*form*/, Arguments... /*arguments*/) {
    const bool looks = std::string_view(made.function).find("probe") != std::string_view::npos;
    recorded_calls::other(made, !looks);
}

constexpr bool only_looks(std::string_view name) {
    return name.starts_with("Test") || name.starts_with("Request_get_status");
}

template <class... Arguments> void note_requests(const Made& made, Arguments... /*arguments*/) {
    const std::string_view name = std::string_view(made.function).substr(4);
    recorded_calls::other(made, !only_looks(name));
}
void note_requests(const Made& made, abi::MPI_Request* request) {
    if (std::string_view(made.function) == "MPI_Start") {
        return recorded_calls::start(made, 1, native(request));
    }
    recorded_calls::other(made, true);
}
void note_requests(const Made& made, int count, abi::MPI_Request* requests) {
    recorded_calls::start(made, count, native(requests));
}

// Of the requests that a call is to complete those of exchanges.

template <class... Arguments> Awaited awaited_by(abi::MPI_Request* request, Arguments... /*more*/) {
    return {1, native(request)};
}
template <class... Arguments>
Awaited awaited_by(int count, abi::MPI_Request* requests, Arguments... /*more*/) {
    return {count, native(requests)};
}
template <class... Arguments>
Awaited awaited_by(abi::MPI_Request /*request*/, Arguments... /*more*/) {
    return {};
}

constexpr bool completes(std::string_view name) {
    return name.starts_with("Wait") || name.starts_with("Test");
}

// Functions that the core has no other part in.

int64_t call_begins() { return is_on() ? static_cast<int64_t>(time_now()) : 0; }

void call_done(const char* function, const abi::MPI_Comm* comm, int64_t begin,
               const abi::Passed* passed) {
    if (!is_on()) { return; }
    const Made call = made(function, static_cast<Nanoseconds>(begin));
    const bool has_none = comm == nullptr || native(*comm) == MPI_COMM_NULL;
    has_none ? recorded_calls::other(call, true)
             : recorded_calls::collective(call, native(*comm), passed);
}

} // namespace

namespace abi::recorded {

namespace {

#define EXCHANGE(name, parameters, arguments)                                                      \
    bool name(int* result, NODEAWARE_LIST parameters) {                                            \
        return exchange<form_of(#name)>("MPI_" #name, plain.name, result,                          \
                                        NODEAWARE_LIST arguments);                                 \
    }

#define POINT_TO_POINT(name, parameters, arguments)                                                \
    int(*mpi_##name) parameters = nullptr;                                                         \
    int name parameters {                                                                          \
        const Nanoseconds begin = is_on() ? time_now() : 0;                                        \
        const int result =                                                                         \
            pass_message(is_local(#name), plain.name, mpi_##name, NODEAWARE_LIST arguments);       \
        if (is_on() && result == MPI_SUCCESS) {                                                    \
            note(made("MPI_" #name, begin), form_of(#name), NODEAWARE_LIST arguments);             \
        }                                                                                          \
        return result;                                                                             \
    }

#define REQUESTS(name, parameters, arguments)                                                      \
    int(*mpi_##name) parameters = nullptr;                                                         \
    int name parameters {                                                                          \
        const Nanoseconds begin = is_on() ? time_now() : 0;                                        \
        Awaited awaited;                                                                           \
        if constexpr (completes(#name)) { awaited = awaited_by(NODEAWARE_LIST arguments); }        \
        const int result = (sees_requests() ? plain.name : mpi_##name)arguments;                   \
        if (!is_on()) { return result; }                                                           \
        awaited.done();                                                                            \
        if (result == MPI_SUCCESS && !awaited.patterns().empty()) {                                \
            recorded_calls::waiting(made("MPI_" #name " of exchanges", begin), awaited.patterns(), \
                                    !only_looks(#name));                                           \
        } else if (result == MPI_SUCCESS) {                                                        \
            note_requests(made("MPI_" #name, begin), NODEAWARE_LIST arguments);                    \
        }                                                                                          \
        return result;                                                                             \
    }

#include "interpose/functions.def"

/// The handle is gone when MPI has taken it.
int free_request(MPI_Request* request) {
    const auto handle = request == nullptr ? ::MPI_Request() : *native(request);
    const int result = Request_free(request);
    if (request != nullptr && result == MPI_SUCCESS) { recorded_requests::forget(handle); }
    return result;
}

} // namespace

} // namespace abi::recorded

const abi::Core& recording::around(const abi::Core& hooks, const void* (*caller)()) {
    recorded_communicators::open();
    plain = hooks;
    recording_core = hooks;
    caller_of_this_thread = caller;
    recording_core.native_done = exchange_done;
    recording_core.call_begins = call_begins;
    recording_core.call_done = call_done;
#define EXCHANGE(name, parameters, arguments) recording_core.name = abi::recorded::name;
#define POINT_TO_POINT(name, parameters, arguments)                                                \
    recording_core.name = abi::recorded::name;                                                     \
    abi::recorded::mpi_##name =                                                                    \
        reinterpret_cast<decltype(abi::recorded::mpi_##name)>(find_mpi("MPI_" #name));
#define REQUESTS(name, parameters, arguments) POINT_TO_POINT(name, parameters, arguments)
#include "interpose/functions.def"
    recording_core.Request_free = abi::recorded::free_request;
    return recording_core;
}

} // namespace nodeaware
