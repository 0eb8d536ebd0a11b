#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// The binary interface between the preloaded library and the rest, without <mpi.h>: one preloaded
/// library serves Open MPI, whose handles are pointers, and MPICH, whose handles are int. Handles
/// pass through it as register-wide values that it never looks at.
namespace nodeaware::abi {

using MPI_Comm = struct OpaqueCommunicator*;
using MPI_Datatype = struct OpaqueDatatype*;
using MPI_Request = struct OpaqueRequest*; ///< only ever behind a pointer: sizes differ
using MPI_Info = struct OpaqueInfo*;
using MPI_Op = struct OpaqueOperator*;
using MPI_Group = struct OpaqueGroup*;
using MPI_Win = struct OpaqueWindow*;
using MPI_File = struct OpaqueFile*;
using MPI_Message = struct OpaqueMessage*; ///< like MPI_Request
using MPI_Status = struct OpaqueStatus;
using MPI_Offset = int64_t;
using MPI_Aint = ptrdiff_t;
using MPI_Count = int64_t;

#define NODEAWARE_LIST(...) __VA_ARGS__

/// What the part of the library that knows MPI (the core, one for each MPI) offers to the preloaded
/// part. Functions must be called between MPI_Init and MPI_Finalize.
struct Core {
    size_t size; ///< of this structure: tells a core that was built for another version of it

    /// After MPI_Init. Collective over MPI_COMM_WORLD. False if the library is not to do anything
    /// in this job.
    bool (*start)();
    /// Before MPI_Finalize. Collective over MPI_COMM_WORLD.
    void (*stop)();
    /// Number of blocks that an exchange on `comm` sends and receives.
    void (*degrees)(MPI_Comm comm, bool neighborhood, int* sends, int* receives);

    /// After a call that a hook left to MPI, in the same thread.
    void (*native_done)();

    /// Communicators that wait for a meeting of their ranks. While there is none, meetings need not
    /// be announced.
    const std::atomic<int>* waiting_communicators;
    /// In a blocking collective call on `comm`.
    void (*meeting)(MPI_Comm comm);
    /// After the creation of a communicator from another one, by all ranks of that.
    void (*created)(MPI_Comm parent, MPI_Comm* comm);

    /// The library's requests: operations under way, and persistent requests that exist; also
    /// counts if point-to-point calls are intercepted. While there is none, the functions below
    /// need not be called.
    const std::atomic<int>* requests;
    /// Before MPI_Request_free.
    void (*freed)(MPI_Request* request);
    // Parts of the functions that start and complete requests (REQUESTS rows), for calls from
    // Fortran.
    /// After MPI_Start and MPI_Startall.
    void (*started)(int count, MPI_Request* requests);
    /// Does what can be done for the operations under way. True if one of the requests belongs to
    /// such an operation.
    bool (*progress)(int count, const MPI_Request* requests);
    /// Returns when no request belongs to an operation that is under way.
    void (*complete)(int count, const MPI_Request* requests);
    /// Between two calls of progress(), for the `round`-th time in vain.
    void (*pause)(uint32_t round);

    /// Not 0: point-to-point functions are to be called here.
    const std::atomic<int>* point_to_point;
    /// Not 0: flush() is to be called before functions that may block.
    const std::atomic<int>* running_engines;
    void (*flush)();

    /// One hook for each exchange: true if the operation is done, or begun, and `*result` is what
    /// it returns; false if the application's own call must do it, on this and every other rank.
#define EXCHANGE(name, parameters, arguments) bool (*name)(int* result, NODEAWARE_LIST parameters);
#define EXTENSION(name, parameters, arguments)
#define MEETING(name, parameters, arguments)
#define CREATION(name, parameters, arguments)
#define POINT_TO_POINT(name, parameters, arguments) int(*name) parameters;
#define REQUESTS(name, parameters, arguments) int(*name) parameters;
#define BLOCKING(name, parameters, arguments)
#define LIFECYCLE(name, parameters, arguments)
#include "interpose/functions.def"
};

/// The entry of a core: `next` finds the function that comes after the preloaded library, or
/// nullptr.
using CoreEntry = const Core* (*)(void* (*next)(const char* name));
inline constexpr const char* core_entry_name = "nodeaware_core";

} // namespace nodeaware::abi
