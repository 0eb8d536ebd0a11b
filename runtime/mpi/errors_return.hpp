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
    bool has_set_one() const;

    MPI_Comm comm_;
    MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

/// Whose handler is called for errors that belong to no communicator. MPICH asks from 4.2 on, with
/// MPI 4.1, MPI_COMM_SELF if that has been given one, else, as before, MPI_COMM_WORLD.
MPI_Comm raises_errors();

/// While any lives, errors in completion calls return. MPICH calls the handler of raises_errors()
/// for them, whatever communicator the requests belong to; Open MPI calls that of theirs, so there
/// this does nothing. Threads may have one each.
class CompletionErrorsReturn {
  public:
    CompletionErrorsReturn();
    ~CompletionErrorsReturn();
    CompletionErrorsReturn(const CompletionErrorsReturn&) = delete;
    CompletionErrorsReturn& operator=(const CompletionErrorsReturn&) = delete;
};

} // namespace nodeaware
