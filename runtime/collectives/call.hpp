#pragma once

#include "runtime/collectives/examination.hpp"
#include "runtime/collectives/host_buffers.hpp"
#include "runtime/communicators/communicator.hpp"
#include "runtime/job/report.hpp"

#include <chrono>
#include <memory>

namespace nodeaware {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A call that this thread leaves to MPI: what is to be done when it is over.
struct LeftToMpi {
    Selected selected;
    CallRecord record;
    Clock::time_point start;
    Communicator* unprepared = nullptr; ///< waits for a meeting if MPI accepts the call
};
inline thread_local LeftToMpi left_to_mpi;

/// One intercepted call on its way. At first this rank is alone with it: a call that MPI would
/// refuse is left to MPI, and neither the other ranks nor anything that ranks count together know
/// of it. Every decision after that is one that all ranks of the communicator take alike. What
/// fails in the library does not leave the call to MPI, for the others go on without MPI: it is an
/// error of the call, raised on its communicator. As long as this rank was alone, it is as if it
/// had not made the call.
class Call {
  public:
    Call(Operation operation, MPI_Comm comm, const ExchangeArguments& arguments);

    /// False if the call is left to MPI; otherwise `*result` is what it returns. Throws nothing:
    /// the call stack of the application may be C or Fortran.
    bool run(int* result);

  private:
    Reason attempt(int* result, Selected& selected);
    Reason run_with_others(const Choice& choice, Communicator& communicator, Exchange& exchange,
                           uint64_t uniform_bytes, int* result, Selected& selected);

    MPI_Comm comm_;
    const ExchangeArguments& arguments_;
    CallRecord record_;
};

/// This process uses devices, and its MPI knows nothing of them.
bool may_need_host_buffers();
/// Then, for the call that this thread has just left to MPI: its buffers on the host if some memory
/// is a device's; nullptr: MPI may have them as they are. Throws MpiError and std::bad_alloc.
std::unique_ptr<HostBuffers> host_buffers(MPI_Comm comm, const ExchangeArguments& arguments,
                                          Form form);

/// The communicator of a call; nullptr if its handle is none. Then MPI has called the error
/// handler, as it would for the call itself, and `*result` is what the call returns.
Communicator* find_communicator(MPI_Comm comm, int* result);

/// What has failed in the library becomes an error of the application's call: its code, when the
/// error handler of the communicator has been called.
int raise(MPI_Comm comm, Operation operation, const std::exception& failure);

/// A nonblocking or persistent call on its way. All ranks decide alike, for they have made the same
/// calls on the communicator before.
class NonblockingCall {
  public:
    NonblockingCall(Operation operation, MPI_Comm comm, const ExchangeArguments& arguments,
                    bool is_persistent, MPI_Request* request);

    /// As above; nothing has begun if `*result` is an error.
    bool run(int* result);

  private:
    Reason attempt(int* result);
    Reason why_not(Communicator& communicator);
    Reason begin(const Choice& choice, Communicator& communicator, Exchange exchange,
                 uint64_t uniform_bytes);

    MPI_Comm comm_;
    const ExchangeArguments& arguments_;
    bool is_persistent_;
    MPI_Request* request_;
    Communicator* unprepared_ = nullptr;
    CallRecord record_;
};

} // namespace nodeaware
