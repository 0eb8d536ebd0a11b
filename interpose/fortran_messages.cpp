// The Fortran functions of messages between two ranks, and those that may block.

#include "interpose/fortran_calls.hpp"

namespace nodeaware::interpose {

namespace {

template <auto function, class Call>
void around_message(void* const* arguments, Fint& error, Binding binding, Call call) {
    const abi::Core* core = core_with_messages(binding);
    if (core == nullptr) {
        call();
        return;
    }
    const Inside inside;
    error = call_core(*core, function, arguments);
}

void flush_engines(Binding binding) {
    const abi::Core* core = active_core();
    if (core != nullptr && core->running_engines->load(std::memory_order_relaxed) > 0 &&
        !reaches_c_wrapper(binding)) {
        const Inside inside;
        core->flush();
    }
}

template <class Call>
void around_blocking(void* const* /*arguments*/, const Fint& /*error*/, Binding binding,
                     Call call) {
    flush_engines(binding);
    call();
}

} // namespace

#define MESSAGE(lower, UPPER, Name, count)                                                         \
    FORTRAN_FUNCTION(mpi_##lower, MPI_##UPPER, count, around_message<&abi::Core::Name>)
#define MESSAGE_AND_F08(lower, UPPER, Name, count)                                                 \
    FORTRAN_FUNCTION_AND_F08(mpi_##lower, MPI_##UPPER, count, around_message<&abi::Core::Name>)

// A mode of sending: blocking, nonblocking and persistent.
#define SENDS(prefix, PREFIX, Name, IName)                                                         \
    MESSAGE(prefix##send, PREFIX##SEND, Name, 6)                                                   \
    MESSAGE(i##prefix##send, I##PREFIX##SEND, IName, 7)                                            \
    MESSAGE(prefix##send_init, PREFIX##SEND_INIT, Name##_init, 7)

SENDS(, , Send, Isend)
SENDS(b, B, Bsend, Ibsend)
SENDS(s, S, Ssend, Issend)
SENDS(r, R, Rsend, Irsend)
MESSAGE(recv, RECV, Recv, 7)
MESSAGE(irecv, IRECV, Irecv, 7)
MESSAGE(recv_init, RECV_INIT, Recv_init, 7)
MESSAGE(mrecv, MRECV, Mrecv, 5)
MESSAGE(imrecv, IMRECV, Imrecv, 5)
MESSAGE(sendrecv, SENDRECV, Sendrecv, 12)
MESSAGE(sendrecv_replace, SENDRECV_REPLACE, Sendrecv_replace, 9)
MESSAGE(isendrecv, ISENDRECV, Isendrecv, 12)
MESSAGE(isendrecv_replace, ISENDRECV_REPLACE, Isendrecv_replace, 9)
MESSAGE_AND_F08(probe, PROBE, Probe, 4)
MESSAGE_AND_F08(iprobe, IPROBE, Iprobe, 5)
MESSAGE_AND_F08(mprobe, MPROBE, Mprobe, 5)
MESSAGE_AND_F08(improbe, IMPROBE, Improbe, 6)
MESSAGE_AND_F08(cancel, CANCEL, Cancel, 1)

#define BLOCKING(lower, UPPER, count)                                                              \
    FORTRAN_FUNCTION(mpi_##lower, MPI_##UPPER, count, around_blocking)
#define BLOCKING_AND_F08(lower, UPPER, count)                                                      \
    FORTRAN_FUNCTION_AND_F08(mpi_##lower, MPI_##UPPER, count, around_blocking)

BLOCKING(gather, GATHER, 8)
BLOCKING(scatter, SCATTER, 8)
BLOCKING(gatherv, GATHERV, 9)
BLOCKING(scatterv, SCATTERV, 9)
BLOCKING(scan, SCAN, 6)
BLOCKING(exscan, EXSCAN, 6)
BLOCKING(reduce_scatter, REDUCE_SCATTER, 6)
BLOCKING(reduce_scatter_block, REDUCE_SCATTER_BLOCK, 6)
BLOCKING_AND_F08(comm_create_group, COMM_CREATE_GROUP, 4)
BLOCKING_AND_F08(comm_split_type, COMM_SPLIT_TYPE, 5)
BLOCKING_AND_F08(comm_free, COMM_FREE, 1)
BLOCKING_AND_F08(comm_disconnect, COMM_DISCONNECT, 1)
BLOCKING_AND_F08(intercomm_create, INTERCOMM_CREATE, 6)
BLOCKING_AND_F08(intercomm_merge, INTERCOMM_MERGE, 3)
BLOCKING(win_create, WIN_CREATE, 6)
BLOCKING_AND_F08(win_allocate, WIN_ALLOCATE, 6)
BLOCKING_AND_F08(win_allocate_shared, WIN_ALLOCATE_SHARED, 6)
BLOCKING_AND_F08(win_free, WIN_FREE, 1)
BLOCKING_AND_F08(win_fence, WIN_FENCE, 2)
BLOCKING_AND_F08(win_start, WIN_START, 3)
BLOCKING_AND_F08(win_complete, WIN_COMPLETE, 1)
BLOCKING_AND_F08(win_wait, WIN_WAIT, 1)
BLOCKING_AND_F08(win_test, WIN_TEST, 2)
BLOCKING_AND_F08(win_lock, WIN_LOCK, 4)
BLOCKING_AND_F08(win_lock_all, WIN_LOCK_ALL, 2)
BLOCKING_AND_F08(win_unlock, WIN_UNLOCK, 2)
BLOCKING_AND_F08(win_unlock_all, WIN_UNLOCK_ALL, 1)
BLOCKING_AND_F08(win_flush, WIN_FLUSH, 2)
BLOCKING_AND_F08(win_flush_all, WIN_FLUSH_ALL, 1)
BLOCKING_AND_F08(win_flush_local, WIN_FLUSH_LOCAL, 2)
BLOCKING_AND_F08(win_flush_local_all, WIN_FLUSH_LOCAL_ALL, 1)
BLOCKING_AND_F08(win_sync, WIN_SYNC, 1)
BLOCKING_AND_F08(file_close, FILE_CLOSE, 1)
BLOCKING_AND_F08(file_sync, FILE_SYNC, 1)
BLOCKING(file_read_all, FILE_READ_ALL, 5)
BLOCKING(file_write_all, FILE_WRITE_ALL, 5)
BLOCKING(file_read_at_all, FILE_READ_AT_ALL, 6)
BLOCKING(file_write_at_all, FILE_WRITE_AT_ALL, 6)

// The length of the file's name comes after the error code.
#define FILE_OPEN_PARAMETERS P5 Fint *error, size_t length
#define FILE_OPEN(symbol, binding)                                                                 \
    EXPORTED void symbol(FILE_OPEN_PARAMETERS) {                                                   \
        static constinit Next<void(FILE_OPEN_PARAMETERS)> next(#symbol);                           \
        flush_engines(Binding::binding);                                                           \
        if (next.get() != nullptr) {                                                               \
            next.get()(A5 error, length);                                                          \
        } else if (error != nullptr) {                                                             \
            *error = no_mpi;                                                                       \
        }                                                                                          \
    }
#define FILE_OPEN_ALIAS(symbol)                                                                    \
    EXPORTED void symbol(FILE_OPEN_PARAMETERS) __attribute__((alias("mpi_file_open_")));

FILE_OPEN(mpi_file_open_, mpif)
FILE_OPEN(mpi_file_open_f08_, f08)
FILE_OPEN_ALIAS(mpi_file_open)
FILE_OPEN_ALIAS(mpi_file_open__)
FILE_OPEN_ALIAS(MPI_FILE_OPEN)
FILE_OPEN_ALIAS(ompi_file_open_f)

} // namespace nodeaware::interpose
