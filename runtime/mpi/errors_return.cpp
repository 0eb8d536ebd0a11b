#include "runtime/mpi/errors_return.hpp"

#include <map>
#include <mutex>

namespace nodeaware {

namespace {

/// A communicator on which errors return.
struct Returning {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL; ///< the application's
    bool has_set_one = false;
    int users = 0;
};

std::mutex mutex;
std::map<MPI_Comm, Returning> returning;

/// Once MPI_COMM_SELF has a handler, be it the one that it has without, MPICH 4.2 asks
/// MPI_COMM_WORLD for its no more, and nothing takes that back.
bool is_to_set_one(MPI_Comm comm, MPI_Errhandler handler) {
    return is_open_mpi() || comm != MPI_COMM_SELF || handler != MPI_ERRORS_ARE_FATAL;
}

} // namespace

ErrorsReturn::ErrorsReturn(MPI_Comm comm) : comm_(comm) {
    const std::lock_guard lock(mutex);
    const auto known = returning.find(comm);
    if (known != returning.end()) {
        ++known->second.users;
        return;
    }
    Returning first;
    MPI_CALL(Comm_get_errhandler, comm, &first.handler);
    first.users = 1;
    first.has_set_one = is_to_set_one(comm, first.handler);
    const auto added = returning.emplace(comm, first).first; // counted before anything changes
    const int code = first.has_set_one ? mpi.Comm_set_errhandler(comm, MPI_ERRORS_RETURN) : 0;
    if (code == MPI_SUCCESS) { return; }
    returning.erase(added);
    mpi.Errhandler_free(&first.handler);
    throw MpiError(code, "MPI_Comm_set_errhandler");
}

ErrorsReturn::~ErrorsReturn() {
    const std::lock_guard lock(mutex);
    const auto known = returning.find(comm_);
    if (known == returning.end() || --known->second.users > 0) { return; }
    Returning last = known->second;
    returning.erase(known);
    if (last.has_set_one) { mpi.Comm_set_errhandler(comm_, last.handler); }
    mpi.Errhandler_free(&last.handler);
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

} // namespace nodeaware
