#pragma once

#include <cstddef>
#include <cstdint>

/// The binary interface between the preloaded library and the rest, without <mpi.h>: one preloaded
/// library serves Open MPI, whose handles are pointers, and MPICH, whose handles are int. Handles
/// pass through it as register-wide values that it never looks at.
namespace nodeaware::abi {

using MPI_Comm = struct OpaqueCommunicator*;
using MPI_Datatype = struct OpaqueDatatype*;
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

    /// One hook for each exchange: true if the operation is done and `*result` is what it returns;
    /// false if the application's own call must do it, on this and every other rank.
#define EXCHANGE(name, parameters, arguments) bool (*name)(int* result, NODEAWARE_LIST parameters);
#define LIFECYCLE(name, parameters, arguments)
#include "interpose/functions.def"
#undef EXCHANGE
#undef LIFECYCLE
};

/// The entry of a core: `next` finds the function that comes after the preloaded library, or
/// nullptr.
using CoreEntry = const Core* (*)(void* (*next)(const char* name));
inline constexpr const char* core_entry_name = "nodeaware_core";

} // namespace nodeaware::abi
