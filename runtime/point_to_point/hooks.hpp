#pragma once

#include "interpose/abi.hpp"
#include "runtime/collectives/exchange_arguments.hpp"
#include "runtime/mpi/hidden_errors.hpp"
#include "runtime/point_to_point/own_requests.hpp"
#include "runtime/point_to_point/persistent.hpp"
#include "runtime/point_to_point/transfers.hpp"
#include "runtime/progress/turn.hpp"
#include "runtime/requests/completion.hpp"

#include <exception>
#include <utility>

/// The point-to-point functions of the core: from the arguments of each MPI function to the engine
/// of its communicator, or to MPI.
namespace nodeaware::p2p {

using Mode = PersistentRequest::Mode;
using exchange_arguments::native;
using transfers::Message;

inline MPI_Request* native(abi::MPI_Request* request) {
    return reinterpret_cast<MPI_Request*>(request);
}
inline MPI_Status* native(abi::MPI_Status* status) { return reinterpret_cast<MPI_Status*>(status); }
inline MPI_Message* native(abi::MPI_Message* message) {
    return reinterpret_cast<MPI_Message*>(message);
}
inline MPI_Request native_handle(abi::MPI_Request request) {
    return exchange_arguments::native_handle<MPI_Request>(request);
}

/// Runs a call; what fails in the library is an error of the call, for other ranks may count on it.
template <class Work> int guarded(MPI_Comm comm, Work work) {
    int code = MPI_SUCCESS;
    try {
        const uint64_t hidden = hidden_errors::met();
        code = work();
        return hidden_errors::met() == hidden ? code : MPI_SUCCESS;
    } catch (const MpiError& error) { code = error.code; } catch (const std::exception&) {
        code = MPI_ERR_NO_MEM;
    }
    mpi.Comm_call_errhandler(comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, code);
    return code;
}

/// The same, of what uses the message layer or the application's requests.
template <class Work> int in_turn(MPI_Comm comm, Work work) {
    struct Leaving {
        ~Leaving() {
            if (layer != nullptr) { layer->thread_leaves(); }
        }
    };
    return guarded(comm, [&] {
        const Turn turn;
        const Leaving leaving; // however the work ends
        return work();
    });
}

/// The same, or what MPI does by itself where it has all messages of this rank; which another
/// thread may have brought about until this one has its turn.
template <class Work, class ByMpi> int in_turn(MPI_Comm comm, Work work, ByMpi by_mpi) {
    if (layer == nullptr || !layer->is_left_to_mpi()) {
        bool is_left = false;
        const int code = in_turn(comm, [&] {
            is_left = layer != nullptr && layer->is_left_to_mpi();
            return is_left ? MPI_SUCCESS : work();
        });
        if (!is_left) { return code; }
    }
    layer->answer_in_passing(comm);
    return guarded(comm, by_mpi);
}

/// Functions of MPI that send: the blocking ones with their nonblocking form.
template <class Count>
using SendFunction = int (*)(const void*, Count, MPI_Datatype, int, int, MPI_Comm);
template <class Count>
using IsendFunction = int (*)(const void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
template <class Count>
using IrecvFunction = int (*)(void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
template <class Count>
using RecvFunction = int (*)(void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);

/// `blocking` is used where nothing is under way, for it may be faster; or always if there is no
/// need to wait (`nonblocking` is nullptr).
template <class Count, SendFunction<Count> Mpi::*blocking, IsendFunction<Count> Mpi::*nonblocking,
          Mode mode>
int send(const void* buffer, Count count, abi::MPI_Datatype type, int peer, int tag,
         abi::MPI_Comm comm) {
    const Message message{const_cast<void*>(buffer), count, native(type), peer, tag, native(comm)};
    const auto by_mpi = [&] {
        return (mpi.*blocking)(buffer, count, message.type, peer, tag, message.comm);
    };
    const auto work = [&] {
        int result = MPI_SUCCESS;
        if (transfers::send(*layer, message, mode, nullptr, &result)) { return result; }
        const bool is_over_at_once = result != MPI_SUCCESS || peer == MPI_PROC_NULL;
        if (nonblocking == nullptr || is_over_at_once || layer->may_call_blocking() ||
            transfers::refuses_send(*layer, message)) {
            result = by_mpi();
            if (result == MPI_SUCCESS) { transfers::note_sent(*layer, message); }
            return result;
        }
        MPI_Request request = MPI_REQUEST_NULL;
        result = (mpi.*nonblocking)(buffer, count, message.type, peer, tag, message.comm, &request);
        if (result != MPI_SUCCESS) { return result; }
        transfers::note_sent(*layer, message);
        return transfers::wait_unnoted(*layer, &request, MPI_STATUS_IGNORE, message.comm, true);
    };
    return in_turn(message.comm, work, by_mpi);
}

template <class Count, IsendFunction<Count> Mpi::*nonblocking, Mode mode>
int isend(const void* buffer, Count count, abi::MPI_Datatype type, int peer, int tag,
          abi::MPI_Comm comm, abi::MPI_Request* request) {
    const Message message{const_cast<void*>(buffer), count, native(type), peer, tag, native(comm)};
    const auto by_mpi = [&] {
        return (mpi.*nonblocking)(buffer, count, message.type, peer, tag, message.comm,
                                  native(request));
    };
    const auto work = [&] {
        int result = MPI_SUCCESS;
        if (request != nullptr &&
            transfers::send(*layer, message, mode, native(request), &result)) {
            return result;
        }
        result = by_mpi();
        if (result != MPI_SUCCESS) { return result; }
        transfers::note_sent(*layer, message);
        transfers::note_made(*native(request));
        return result;
    };
    return in_turn(message.comm, work, by_mpi);
}

template <class Count, RecvFunction<Count> Mpi::*blocking, IrecvFunction<Count> Mpi::*nonblocking>
int recv(void* buffer, Count count, abi::MPI_Datatype type, int peer, int tag, abi::MPI_Comm comm,
         abi::MPI_Status* status) {
    const Message message{buffer, count, native(type), peer, tag, native(comm)};
    const auto by_mpi = [&](MPI_Status* told) {
        return (mpi.*blocking)(buffer, count, message.type, peer, tag, message.comm, told);
    };
    const auto work = [&] {
        int result = MPI_SUCCESS;
        if (transfers::receive(*layer, message, nullptr, native(status), &result)) {
            return result;
        }
        MPI_Status own;
        MPI_Status* const told = native(status) == MPI_STATUS_IGNORE ? &own : native(status);
        const bool is_over_at_once = result != MPI_SUCCESS || peer == MPI_PROC_NULL;
        if (is_over_at_once || layer->may_call_blocking() ||
            transfers::refuses_receive(*layer, message)) {
            result = by_mpi(told);
            if (is_refused(result)) { return result; }
            transfers::note_blocking_receive(*layer, message);
        } else {
            MPI_Request request = MPI_REQUEST_NULL;
            result =
                (mpi.*nonblocking)(buffer, count, message.type, peer, tag, message.comm, &request);
            if (result != MPI_SUCCESS) { return result; }
            transfers::note_blocking_receive(*layer, message);
            result = transfers::wait_unnoted(*layer, &request, told, message.comm);
        }
        transfers::note_received(*layer, message, *told);
        return result;
    };
    return in_turn(message.comm, work, [&] { return by_mpi(native(status)); });
}

template <class Count, IrecvFunction<Count> Mpi::*nonblocking>
int irecv(void* buffer, Count count, abi::MPI_Datatype type, int peer, int tag, abi::MPI_Comm comm,
          abi::MPI_Request* request) {
    const Message message{buffer, count, native(type), peer, tag, native(comm)};
    const auto by_mpi = [&] {
        return (mpi.*nonblocking)(buffer, count, message.type, peer, tag, message.comm,
                                  native(request));
    };
    const auto work = [&] {
        int result = MPI_SUCCESS;
        if (request != nullptr &&
            transfers::receive(*layer, message, native(request), MPI_STATUS_IGNORE, &result)) {
            return result;
        }
        result = by_mpi();
        if (result == MPI_SUCCESS) {
            transfers::note_receive_begun(*layer, message, *native(request));
        }
        return result;
    };
    return in_turn(message.comm, work, by_mpi);
}

/// Persistent requests are made by MPI and remembered, to be started by whoever moves messages
/// then.
template <class Count, class Buffer, auto make, Mode mode>
int init(Buffer buffer, Count count, abi::MPI_Datatype type, int peer, int tag, abi::MPI_Comm comm,
         abi::MPI_Request* request) {
    const auto by_mpi = [&] {
        return (mpi.*make)(buffer, count, native(type), peer, tag, native(comm), native(request));
    };
    const auto work = [&] {
        const int result = by_mpi();
        if (result != MPI_SUCCESS) { return result; }
        transfers::note_made(*native(request));
        PersistentRequest made;
        made.mode = mode;
        made.memory = user_memory(const_cast<void*>(buffer), count, native(type));
        made.peer = peer;
        made.tag = tag;
        made.comm = native(comm);
        persistent::made(*layer, *native(request), made);
        return result;
    };
    return in_turn(native(comm), work, by_mpi);
}

// The rest, which is made of these.

template <class Count, auto native_call>
int sendrecv(const void* sendbuf, Count sendcount, abi::MPI_Datatype sendtype, int destination,
             int sendtag, void* recvbuf, Count recvcount, abi::MPI_Datatype recvtype, int source,
             int recvtag, abi::MPI_Comm comm, abi::MPI_Status* status);
template <class Count>
int isendrecv(const void* sendbuf, Count sendcount, abi::MPI_Datatype sendtype, int destination,
              int sendtag, void* recvbuf, Count recvcount, abi::MPI_Datatype recvtype, int source,
              int recvtag, abi::MPI_Comm comm, abi::MPI_Request* request);
template <class Count, auto native_call>
int sendrecv_replace(void* buffer, Count count, abi::MPI_Datatype type, int destination,
                     int sendtag, int source, int recvtag, abi::MPI_Comm comm,
                     abi::MPI_Status* status);
template <class Count>
int isendrecv_replace(void* buffer, Count count, abi::MPI_Datatype type, int destination,
                      int sendtag, int source, int recvtag, abi::MPI_Comm comm,
                      abi::MPI_Request* request);
template <class Count, auto native_mrecv>
int mrecv(void* buffer, Count count, abi::MPI_Datatype type, abi::MPI_Message* message,
          abi::MPI_Status* status);
template <class Count, auto native_mrecv, auto native_imrecv>
int imrecv(void* buffer, Count count, abi::MPI_Datatype type, abi::MPI_Message* message,
           abi::MPI_Request* request);
int probe(int source, int tag, abi::MPI_Comm comm, abi::MPI_Status* status);
int iprobe(int source, int tag, abi::MPI_Comm comm, int* flag, abi::MPI_Status* status);
int mprobe(int source, int tag, abi::MPI_Comm comm, abi::MPI_Message* message,
           abi::MPI_Status* status);
int improbe(int source, int tag, abi::MPI_Comm comm, int* flag, abi::MPI_Message* message,
            abi::MPI_Status* status);
int cancel(abi::MPI_Request* request);

} // namespace nodeaware::p2p
