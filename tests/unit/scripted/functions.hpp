#pragma once

#include "runtime/mpi/mpi.hpp"
#include "tests/unit/scripted/job.hpp"

/// MPI, as the ranks of a Job see it. Functions that no test needs end the job.
namespace scripted {

/// For tests, too.
const nodeaware::Mpi& mpi();

/// MPI_X by its name, for the library; or nullptr.
void* find_function(const char* name);

/// A vector of two parts with a gap, of `bytes` in all; to be freed.
MPI_Datatype make_gapped(int bytes);
int free_type(MPI_Datatype* type);
/// A communicator of the same ranks; collective. Attributes are not copied.
int dup(MPI_Comm comm, MPI_Comm* made);
/// A collective call that the library does not take part in.
int gather_nothing(MPI_Comm comm);
/// Errors of a communicator are counted (Process::raised) where its handler is not this one.
void set_errors_return(MPI_Comm comm);
/// Deletes the attributes of MPI_COMM_SELF, then ends MPI on this rank.
int finalize();

// What the files of functions have to fill in.
void add_messages(nodeaware::Mpi& table);
void add_completion(nodeaware::Mpi& table);
void add_communicators(nodeaware::Mpi& table);
void add_types(nodeaware::Mpi& table);

inline Job& job() { return Job::running(); }
void set_status(MPI_Status* status, const Request& request);

/// At the beginning of a function; of one that works on `comm`.
#define ENTER_ON(name, comm)                                                                       \
    if (const int code_ = job().enter("MPI_" #name); code_ != MPI_SUCCESS) {                       \
        return job().raise(comm, code_);                                                           \
    }
#define ENTER(name) ENTER_ON(name, MPI_COMM_WORLD)

} // namespace scripted
