#pragma once

#include "runtime/mpi/mpi.hpp"

#include <optional>

namespace nodeaware {

/// While any lives, errors on a communicator of the application return instead of calling its error
/// handler. Threads may have one each: the first sets the handler, the last restores that of the
/// application. Throws MpiError.
class ErrorsReturn {
  public:
    explicit ErrorsReturn(MPI_Comm comm);
    ~ErrorsReturn();
    ErrorsReturn(const ErrorsReturn&) = delete;
    ErrorsReturn& operator=(const ErrorsReturn&) = delete;

  private:
    MPI_Comm comm_;
};

/// Whose handler is called for errors that belong to no communicator. MPICH asks from 4.2 on, with
/// MPI 4.1, MPI_COMM_SELF if that has been given one, else, as before, MPI_COMM_WORLD.
MPI_Comm raises_errors();

/// While any lives, errors in completion calls return. MPICH calls the handler of raises_errors()
/// for them, whatever communicator the requests belong to; Open MPI calls that of theirs, so there
/// this does nothing.
class CompletionErrorsReturn {
  public:
    CompletionErrorsReturn() {
        if (!is_open_mpi()) { errors_return_.emplace(raises_errors()); }
    }

  private:
    std::optional<ErrorsReturn> errors_return_;
};

} // namespace nodeaware
