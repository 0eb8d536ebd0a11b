#include "runtime/mpi/errors_return.hpp"

#include <mutex>
#include <optional>

namespace nodeaware {

ErrorsReturn::ErrorsReturn(MPI_Comm comm) : comm_(comm) {
    MPI_CALL(Comm_get_errhandler, comm, &handler_);
    if (has_set_one()) { MPI_CALL(Comm_set_errhandler, comm, MPI_ERRORS_RETURN); }
}

ErrorsReturn::~ErrorsReturn() {
    if (has_set_one()) { mpi.Comm_set_errhandler(comm_, handler_); }
    mpi.Errhandler_free(&handler_);
}

/// Once MPI_COMM_SELF has a handler, be it the one that it has without, MPICH 4.2 asks
/// MPI_COMM_WORLD for its no more, and nothing takes that back.
bool ErrorsReturn::has_set_one() const {
    return is_open_mpi() || comm_ != MPI_COMM_SELF || handler_ != MPI_ERRORS_ARE_FATAL;
}

MPI_Comm raises_errors() {
    static const bool asks_self = [] {
        int version = 0;
        int subversion = 0;
        return !is_open_mpi() && mpi.Get_version(&version, &subversion) == MPI_SUCCESS &&
               (version > 4 || (version == 4 && subversion >= 1));
    }();
    MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
    if (!asks_self || mpi.Comm_get_errhandler(MPI_COMM_SELF, &handler) != MPI_SUCCESS) {
        return MPI_COMM_WORLD;
    }
    const bool has_own = handler != MPI_ERRORS_ARE_FATAL;
    mpi.Errhandler_free(&handler);
    return has_own ? MPI_COMM_SELF : MPI_COMM_WORLD;
}

namespace {

std::mutex mutex;
int users = 0;
std::optional<ErrorsReturn>
    errors_return; ///< the first user sets the handler, the last restores the application's

} // namespace

CompletionErrorsReturn::CompletionErrorsReturn() {
    if (is_open_mpi()) { return; }
    const std::lock_guard lock(mutex);
    if (users++ == 0) { errors_return.emplace(raises_errors()); }
}

CompletionErrorsReturn::~CompletionErrorsReturn() {
    if (is_open_mpi()) { return; }
    const std::lock_guard lock(mutex);
    if (--users == 0) { errors_return.reset(); }
}

} // namespace nodeaware
