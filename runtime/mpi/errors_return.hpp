#pragma once

#include "runtime/mpi/mpi.hpp"

namespace nodeaware {

/// While it lives, errors on a communicator of the application return instead of calling its error
/// handler.
class ErrorsReturn {
  public:
    explicit ErrorsReturn(MPI_Comm comm);
    ~ErrorsReturn();
    ErrorsReturn(const ErrorsReturn&) = delete;
    ErrorsReturn& operator=(const ErrorsReturn&) = delete;

  private:
    MPI_Comm comm_;
    MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

/// While any lives, errors in completion calls return. MPICH calls the error handler of
/// MPI_COMM_WORLD for them, whatever communicator the requests belong to; Open MPI calls that of
/// theirs, so there this does nothing. Threads may have one each.
#ifdef OPEN_MPI
class [[maybe_unused]] CompletionErrorsReturn {};
#else
class CompletionErrorsReturn {
  public:
    CompletionErrorsReturn();
    ~CompletionErrorsReturn();
    CompletionErrorsReturn(const CompletionErrorsReturn&) = delete;
    CompletionErrorsReturn& operator=(const CompletionErrorsReturn&) = delete;
};
#endif

} // namespace nodeaware
