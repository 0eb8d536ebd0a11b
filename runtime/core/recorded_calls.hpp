#pragma once

#include "runtime/collectives/examination.hpp"
#include "runtime/trace/recorder.hpp"

#include <string_view>
#include <vector>

/// What calls of the application come to in the trace. They have been accepted by MPI. What fails
/// here is lost: nothing is thrown.
namespace nodeaware::recorded_calls {

/// A call that has returned.
struct Made {
    const char* function;
    const void* site;
    trace::Nanoseconds begin;
    trace::Nanoseconds end;
};

/// `strategy`: by which it went, or "native"; a literal. `request`: of an exchange that
/// has begun, or of a persistent one that has been made.
void exchange(const Made& made, std::string_view strategy, MPI_Comm comm,
              const ExchangeArguments& arguments, Form form, const MPI_Request* request);

/// The memory of a message.
struct Buffer {
    const void* address;
    MPI_Count count;
    MPI_Datatype type;
};
/// `persistent`: the request that has been made for such messages, else nullptr.
void send(const Made& made, const Buffer& buffer, int peer, MPI_Comm comm,
          const MPI_Request* persistent = nullptr);
/// Of receives and probes. `is_also_send`: the call has been counted as a send.
void receive(const Made& made, int source, int tag, MPI_Comm comm, bool is_also_send = false);
/// Calls that have to do with none, or any, communicator.
void other(const Made& made, bool is_event);
/// Collectives that move other things. `passed`: nullptr, if nothing.
void collective(const Made& made, MPI_Comm comm, const abi::Passed* passed);

void start(const Made& made, int count, const MPI_Request* requests);
/// What has become of messages, as the report says it. When all engines have ended.
void note_messages();
/// A call that has waited for exchanges of these patterns.
void waiting(const Made& made, const std::vector<int>& patterns, bool is_event);

} // namespace nodeaware::recorded_calls
