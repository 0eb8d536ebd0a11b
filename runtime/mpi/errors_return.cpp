#include "runtime/mpi/errors_return.hpp"

#include <mutex>
#include <optional>

namespace nodeaware {

ErrorsReturn::ErrorsReturn(MPI_Comm comm) : comm_(comm) {
    MPI_CALL(Comm_get_errhandler, comm, &handler_);
    MPI_CALL(Comm_set_errhandler, comm, MPI_ERRORS_RETURN);
}

ErrorsReturn::~ErrorsReturn() {
    mpi.Comm_set_errhandler(comm_, handler_);
    mpi.Errhandler_free(&handler_);
}

#ifndef OPEN_MPI

namespace {

std::mutex mutex;
int users = 0;
std::optional<ErrorsReturn>
    world; ///< the first user sets the handler, the last restores the application's

} // namespace

CompletionErrorsReturn::CompletionErrorsReturn() {
    const std::lock_guard lock(mutex);
    if (users++ == 0) { world.emplace(MPI_COMM_WORLD); }
}

CompletionErrorsReturn::~CompletionErrorsReturn() {
    const std::lock_guard lock(mutex);
    if (--users == 0) { world.reset(); }
}

#endif

} // namespace nodeaware
