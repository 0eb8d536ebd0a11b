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

/// What a rank passes to a collective that is recorded and never rerouted.
struct Passed {
    /// Who gets it.
    enum class To : uint8_t {
        nobody,
        all,       ///< each rank the same
        each,      ///< each rank its own, or as much
        root,      ///< from every rank
        from_root, ///< each rank the same, or as much, from the root alone
        each_from_root,
        later, ///< ranks behind this one
    };
    /// So many of a datatype. What the call does not read on this rank may be anything.
    struct Part {
        MPI_Count count = 0;
        const void* counts = nullptr; ///< of each rank, instead; MPI_Count if `are_large`, else int
        MPI_Datatype type = nullptr;
    };
    To to = To::nobody;
    bool are_large = false;
    const void* buffer = nullptr; ///< that is sent
    Part sent;
    Part received; ///< of what is received, where that may be sent (MPI_IN_PLACE); else no datatype
    int root = 0;
};

/// The arguments of MPI_Allreduce. Where `sent` is MPI_IN_PLACE it has the value of C.
struct Reduction {
    const void* sent;
    void* received;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
};
/// What becomes of a call that the core may do.
enum class Offered { left_alone, left_and_counted, done };

/// A number of 28 bits that says what the library was built of, without the paths. Parts of
/// different sources do not work together, in one process or in several.
int sources();

/// What the part of the library that knows MPI (the core, one for each MPI) offers to the preloaded
/// part. Functions must be called between MPI_Init and MPI_Finalize.
struct Core {
    size_t size;      ///< of this structure
    int (*sources)(); ///< sources() of the core

    /// After MPI_Init. Collective over MPI_COMM_WORLD. Returns the hooks to be called from now on,
    /// this table or another one; nullptr if the library is not to do anything in this job. If it
    /// is, MPI_Finalize will call `at_end` after the callbacks by which the application deletes its
    /// attributes of MPI_COMM_SELF; from then on the core is not to be called. `caller` tells where
    /// the application has called the function that this thread is in; nullptr: not known.
    const Core* (*start)(void (*at_end)(), const void* (*caller)());
    /// The process ends, by MPI_Abort or by exit() without MPI_Finalize. Whatever state threads are
    /// in.
    void (*ended)(bool by_abort);
    /// Number of blocks that an exchange on `comm` sends and receives.
    void (*degrees)(MPI_Comm comm, bool neighborhood, int* sends, int* receives);

    /// After a call that a hook left to MPI, in the same thread; `result` is what MPI returned.
    void (*native_done)(int result);

    /// Communicators that wait for a meeting of their ranks, a blocking collective call. While
    /// there is none, meetings need not be announced.
    const std::atomic<int>* waiting_communicators;
    /// Before such a call. Other ranks of the node will come to it, too.
    void (*before_meeting)();
    /// After such a call on `comm`; `result` is what MPI returned. A call that MPI refuses is none,
    /// for the other ranks wait for the next one. Returns what the call is to return: where the
    /// library fails on this rank, the others may count on it.
    int (*meeting)(MPI_Comm comm, int result);
    /// After the creation of a communicator from another one, by all ranks of that. Returns what
    /// the call is to return, as above.
    int (*created)(MPI_Comm parent, MPI_Comm* comm);
    /// Such a call has failed on this rank, perhaps on this rank alone.
    void (*not_created)();

    /// MPI_Cart_create: true if the grid has been made, or that has failed, and `*result` is what
    /// the call is to return; false if MPI is to make it, on all ranks.
    bool (*make_grid)(int* result, MPI_Comm comm, int dimensions, const int* sizes,
                      const int* periods, int may_reorder, MPI_Comm* made);
    /// MPI_Dist_graph_create, likewise.
    bool (*make_graph)(int* result, MPI_Comm comm, int nodes, const int* sources,
                       const int* degrees, const int* destinations, const int* weights,
                       MPI_Info info, int may_reorder, MPI_Comm* made);
    /// After MPI_Cart_map, if it was successful. Returns what the call is to return.
    int (*map_grid)(MPI_Comm comm, int dimensions, const int* sizes, const int* periods, int* rank);

    /// Not 0: MPI_Allreduce is to be offered to the core.
    const std::atomic<int>* reductions;
    /// MPI_Allreduce: whether it has been done, and `*result` is what the call is to return. If MPI
    /// is to do it, it is on all ranks; counted: native_done() comes after it.
    Offered (*allreduce)(int* result, const Reduction& reduction, MPI_Comm comm);

    /// Before a nonblocking function begins to make a communicator.
    void (*communicator_begun)();

    /// The library's requests: operations under way, and persistent requests that exist; also
    /// counts if point-to-point calls are intercepted. While there is none, the functions that
    /// start and complete requests (REQUESTS rows) need not be called here.
    const std::atomic<int>* requests;

    /// Not 0: point-to-point functions are to be called here.
    const std::atomic<int>* point_to_point;

    /// Not 0: something may have to be done before other functions that may block.
    const std::atomic<int>* pending_work;
    void (*before_blocking)();
    /// How many such functions this process is in: the application's callbacks may run there.
    std::atomic<int>* blocking_calls;
    /// Functions of the application begin inside MPI, and have ended: other threads may go on
    /// meanwhile. What the first returns the second is to get.
    uint32_t (*application_begins)();
    void (*application_ends)(uint32_t turns);
    /// Calls a function, and returns what it has thrown, or nullptr: the application's exceptions
    /// are not to meet the library's own, nor to pass through it half done. If the thread ends
    /// there, it is no more in so many `blocking` functions.
    void* (*call_and_keep)(void (*function)(void*), void* argument, int blocking);
    /// Throws it.
    void (*throw_kept)(void* kept);
    /// MPI calls an error handler of the application, one of C, on this thread.
    void (*error_told)(int code);
    /// Not 0: of the other functions in the table the core is told when it was called, how long it
    /// took and on which communicator, where MPI has served it; nullptr: it has none. `function` is
    /// a literal. `begin` is what `call_begins` has said just before MPI's own call. `passed`:
    /// nullptr, if nothing is.
    const std::atomic<int>* told_calls;
    int64_t (*call_begins)();
    void (*call_done)(const char* function, const MPI_Comm* comm, int64_t begin,
                      const Passed* passed);
    /// Before memory is made that ranks share, if point-to-point functions are called here.
    void (*memory_shared)();
    /// Buffered messages of a communicator or a session have got memory of their own.
    void (*buffer_attached)();
    /// Waits until buffered messages have left, before MPI does for its own.
    void (*buffer_detached)();

    /// One hook for each exchange: true if the operation is done, or begun, and `*result` is what
    /// it returns; false if the application's own call must do it, on this and every other rank.
#define EXCHANGE(name, parameters, arguments) bool (*name)(int* result, NODEAWARE_LIST parameters);
#define POINT_TO_POINT(name, parameters, arguments) int(*name) parameters;
#define REQUESTS(name, parameters, arguments) int(*name) parameters;
#include "interpose/functions.def"
};

/// The entry of a core: `next` finds the function that comes after the preloaded library, or
/// nullptr.
using CoreEntry = const Core* (*)(void* (*next)(const char* name));
inline constexpr const char* core_entry_name = "nodeaware_core";

} // namespace nodeaware::abi
