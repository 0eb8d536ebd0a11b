#include "runtime/point_to_point/hooks.hpp"

#include "runtime/memory/elements.hpp"
#include "runtime/mpi/errors_return.hpp"

#include <optional>
#include <type_traits>

namespace nodeaware::p2p {

namespace {

UserMemory memory_of(const Message& message) {
    UserMemory memory;
    memory.address = message.buffer;
    memory.count = message.count;
    memory.type = message.type;
    return memory;
}

int plain_isend(const Message& message, MPI_Request* request) {
    int result = MPI_SUCCESS;
    if (transfers::send(*layer, message, Mode::standard, request, &result)) { return result; }
    result = begin_send(memory_of(message), message.peer, message.tag, message.comm, request);
    if (result != MPI_SUCCESS) { return result; }
    transfers::note_sent(*layer, message);
    transfers::note_made(*request);
    return result;
}

int plain_irecv(const Message& message, MPI_Request* request) {
    int result = MPI_SUCCESS;
    if (transfers::receive(*layer, message, request, MPI_STATUS_IGNORE, &result)) { return result; }
    result = begin_receive(memory_of(message), message.peer, message.tag, message.comm, request);
    if (result == MPI_SUCCESS) { transfers::note_receive_begun(*layer, message, *request); }
    return result;
}

/// The packed bytes of what a call sends, for those that may overwrite it.
std::vector<std::byte> packed(const Message& message) {
    const UserMemory memory = user_memory(message.buffer, message.count, message.type);
    std::vector<std::byte> bytes(memory.bytes);
    pack_user_memory(memory, bytes.data(), layer->self());
    return bytes;
}

/// Ends a receive whose send could not begin.
void take_back(MPI_Request* request) {
    transfers::cancel(request);
    layer->requests.cancelled(*request);
    if (!layer->requests.freed(*request)) { mpi.Request_free(request); }
}

/// What MPI says of the arguments of both; no error handler is called.
int check_both(const Message& sent, const Message& received) {
    int size = 0;
    MPI_CALL(Comm_size, sent.comm, &size);
    const auto is_rank = [size](int peer) { return peer >= 0 && peer < size; };
    const int result = transfers::check_send(sent, is_rank(sent.peer));
    return result != MPI_SUCCESS ? result
                                 : transfers::check_receive(received, is_rank(received.peer));
}

/// `sent`, of whose bytes a copy is sent.
Message copied(const Message& sent, std::vector<std::byte>* bytes) {
    *bytes = packed(sent);
    return {bytes->data(), static_cast<MPI_Count>(bytes->size()), MPI_BYTE, sent.peer, sent.tag,
            sent.comm};
}

/// Begins the receive and the send of a copy, or neither: nothing may be refused after the receive
/// is posted, which could have got its message by then. The library looks after the send.
int begin_both(const Message& sent, const Message& received, MPI_Request* request) {
    std::vector<std::byte> bytes;
    Message message = sent;
    if (sent.peer != MPI_PROC_NULL) { message = copied(sent, &bytes); }
    int result = plain_irecv(received, request);
    if (result != MPI_SUCCESS || sent.peer == MPI_PROC_NULL) { return result; }
    MPI_Request begun = MPI_REQUEST_NULL;
    result = plain_isend(message, &begun);
    if (result != MPI_SUCCESS) {
        take_back(request);
    } else {
        layer->detached.add(begun, std::move(bytes));
    }
    return result;
}

/// A send that is waited for once the receive is over, and whose bytes may be a copy.
class Sending {
  public:
    Sending() = default;
    Sending(const Sending&) = delete;
    Sending& operator=(const Sending&) = delete;
    ~Sending() {
        if (request != MPI_REQUEST_NULL) { layer->detached.add(request, std::move(bytes)); }
    }

    /// An engine's message goes as one of MPI_Send, which waits where its receiver is slow; the
    /// receive that is posted goes on meanwhile.
    int begin(const Message& message) {
        int result = MPI_SUCCESS;
        if (transfers::send(*layer, message, Mode::standard, nullptr, &result)) { return result; }
        return plain_isend(message, &request);
    }

    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
};

/// Waits for one of them; errors are raised on the communicator, as by a blocking call.
int finish(MPI_Request* request, MPI_Status* status, MPI_Comm comm) {
    const MPI_Request handle = *request;
    MPI_Status own;
    MPI_Status* const told = status == MPI_STATUS_IGNORE ? &own : status;
    const int result = transfers::wait_native(*layer, request, told, comm);
    layer->requests.completed(handle, *told);
    const auto failure = layer->requests.take_failure(handle);
    if (!failure) { return result; }
    mpi.Comm_call_errhandler(comm, failure->code);
    return failure->code;
}

template <class NativeCall>
int both_by_mpi(const Message& sent, const Message& received, MPI_Status* status,
                NativeCall native_call) {
    layer->progress.before_blocking();
    MPI_Status own;
    MPI_Status* const told = status == MPI_STATUS_IGNORE ? &own : status;
    const int result = [&] {
        const Turn::Away away;
        return native_call(told);
    }();
    if (is_refused(result)) { return result; }
    transfers::note_sent(*layer, sent);
    transfers::note_blocking_receive(*layer, received);
    transfers::note_received(*layer, received, *told);
    return result;
}

/// `replaces`: what is sent lies where it is received. `native_call` is the call of MPI, which does
/// it where no engine is concerned.
template <class NativeCall>
int both(const Message& sent, const Message& received, bool replaces, MPI_Status* status,
         NativeCall native_call) {
    const auto work = [&]() -> int {
        CommunicatorMessages* const communicator = layer->find(sent.comm);
        if (communicator != nullptr) { communicator->post(); } // handovers may begin here
        const bool is_for_mpi =
            communicator == nullptr ||
            (!Turn::are_taken() && !communicator->concerns_engine(sent.peer, received.peer));
        if (is_for_mpi || check_both(sent, received) != MPI_SUCCESS) {
            return both_by_mpi(sent, received, status, native_call);
        }
        const bool sends = sent.peer != MPI_PROC_NULL;
        Sending sending;
        const Message message = sends && replaces ? copied(sent, &sending.bytes) : sent;
        MPI_Request request = MPI_REQUEST_NULL;
        int result = plain_irecv(received, &request);
        if (result != MPI_SUCCESS) { return result; }
        if (sends) { result = sending.begin(message); }
        if (result != MPI_SUCCESS) {
            take_back(&request);
            return result;
        }
        result = finish(&request, status, sent.comm);
        layer->requests.completions.count();
        const int of_send = finish(&sending.request, MPI_STATUS_IGNORE, sent.comm);
        return result == MPI_SUCCESS ? of_send : result;
    };
    return in_turn(sent.comm, work, [&] { return native_call(status); });
}

/// `native_call`: of MPI 4.0, nullptr where there is none.
template <class NativeCall>
int begin_both_guarded(const Message& sent, const Message& received, MPI_Request* request,
                       const NativeCall* native_call) {
    const auto work = [&]() -> int {
        const bool has_communicator = sent.comm != MPI_COMM_NULL;
        const int refused = !has_communicator    ? MPI_ERR_COMM
                            : request == nullptr ? MPI_ERR_ARG
                                                 : check_both(sent, received);
        if (refused == MPI_SUCCESS) { return begin_both(sent, received, request); }
        mpi.Comm_call_errhandler(has_communicator ? sent.comm : raises_errors(), refused);
        return refused;
    };
    if (native_call == nullptr) { return in_turn(sent.comm, work); }
    return in_turn(sent.comm, work, *native_call);
}

} // namespace

template <class Count, auto native_call>
int sendrecv(const void* sendbuf, Count sendcount, abi::MPI_Datatype sendtype, int destination,
             int sendtag, void* recvbuf, Count recvcount, abi::MPI_Datatype recvtype, int source,
             int recvtag, abi::MPI_Comm comm, abi::MPI_Status* status) {
    return both({const_cast<void*>(sendbuf), sendcount, native(sendtype), destination, sendtag,
                 native(comm)},
                {recvbuf, recvcount, native(recvtype), source, recvtag, native(comm)}, false,
                native(status), [&](MPI_Status* told) {
                    return (mpi.*native_call)(sendbuf, sendcount, native(sendtype), destination,
                                              sendtag, recvbuf, recvcount, native(recvtype), source,
                                              recvtag, native(comm), told);
                });
}

template <class Count>
int isendrecv(const void* sendbuf, Count sendcount, abi::MPI_Datatype sendtype, int destination,
              int sendtag, void* recvbuf, Count recvcount, abi::MPI_Datatype recvtype, int source,
              int recvtag, abi::MPI_Comm comm, abi::MPI_Request* request) {
    using Function = int(const void*, Count, MPI_Datatype, int, int, void*, Count, MPI_Datatype,
                         int, int, MPI_Comm, MPI_Request*);
    static auto* const function = reinterpret_cast<Function*>(
        find_mpi(std::is_same_v<Count, int> ? "MPI_Isendrecv" : "MPI_Isendrecv_c"));
    const auto by_mpi = [&] {
        return function(sendbuf, sendcount, native(sendtype), destination, sendtag, recvbuf,
                        recvcount, native(recvtype), source, recvtag, native(comm),
                        native(request));
    };
    return begin_both_guarded({const_cast<void*>(sendbuf), sendcount, native(sendtype), destination,
                               sendtag, native(comm)},
                              {recvbuf, recvcount, native(recvtype), source, recvtag, native(comm)},
                              native(request), function == nullptr ? nullptr : &by_mpi);
}

template <class Count, auto native_call>
int sendrecv_replace(void* buffer, Count count, abi::MPI_Datatype type, int destination,
                     int sendtag, int source, int recvtag, abi::MPI_Comm comm,
                     abi::MPI_Status* status) {
    return both({buffer, count, native(type), destination, sendtag, native(comm)},
                {buffer, count, native(type), source, recvtag, native(comm)}, true, native(status),
                [&](MPI_Status* told) {
                    return (mpi.*native_call)(buffer, count, native(type), destination, sendtag,
                                              source, recvtag, native(comm), told);
                });
}

template <class Count>
int isendrecv_replace(void* buffer, Count count, abi::MPI_Datatype type, int destination,
                      int sendtag, int source, int recvtag, abi::MPI_Comm comm,
                      abi::MPI_Request* request) {
    using Function = int(void*, Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*);
    static auto* const function = reinterpret_cast<Function*>(
        find_mpi(std::is_same_v<Count, int> ? "MPI_Isendrecv_replace" : "MPI_Isendrecv_replace_c"));
    const auto by_mpi = [&] {
        return function(buffer, count, native(type), destination, sendtag, source, recvtag,
                        native(comm), native(request));
    };
    return begin_both_guarded({buffer, count, native(type), destination, sendtag, native(comm)},
                              {buffer, count, native(type), source, recvtag, native(comm)},
                              native(request), function == nullptr ? nullptr : &by_mpi);
}

namespace {

/// A message that a probe has matched in the engine goes once through MPI, for the application
/// needs a handle that MPI knows. Receives it, if it is one of those; errors are not raised.
template <class Count, auto native_mrecv>
std::optional<MessageLayer::Probed> take_probed(void* buffer, Count count, MPI_Datatype type,
                                                MPI_Message* message, MPI_Status* status,
                                                int* code) {
    const auto found = layer->probed().find(*message);
    if (found == layer->probed().end()) { return std::nullopt; }
    const MessageLayer::Probed probed = found->second;
    const MPI_Message handle = *message;
    const CompletionErrorsReturn errors_return;
    const auto cut = transfers::receive_cut(
        *layer, probed.entry.bytes, {buffer, count, type, 0, 0, MPI_COMM_NULL}, message, status);
    *code = cut ? *cut : (mpi.*native_mrecv)(buffer, count, type, message, status);
    if (!is_refused(*code)) { layer->probed().erase(handle); }
    status->MPI_SOURCE = probed.entry.source;
    status->MPI_TAG = probed.entry.tag;
    return probed;
}

/// The same for a payload that went straight. What the call returns; nothing if it is another one.
std::optional<int> take_payload(void* buffer, MPI_Count count, MPI_Datatype type,
                                MPI_Message* message, MPI_Request* request, MPI_Status* status) {
    const auto found = layer->probed().find(*message);
    if (found == layer->probed().end() || found->second.engine == nullptr) { return std::nullopt; }
    const MessageLayer::Probed probed = found->second;
    const MPI_Message handle = *message;
    const wire::Entry& entry = probed.entry;
    const Message received{buffer, count, type, entry.source, entry.tag, probed.comm};
    // Another thread may get the same handle while this one waits.
    auto kept = layer->probed().extract(found);
    const auto keep_if_refused = [&] {
        if (*message == handle) { layer->probed().insert(std::move(kept)); }
    };
    try {
        const int result =
            transfers::receive_probed(*layer, probed, received, message, request, status);
        keep_if_refused();
        return result;
    } catch (...) {
        keep_if_refused();
        throw;
    }
}

} // namespace

template <class Count, auto native_mrecv>
int mrecv(void* buffer, Count count, abi::MPI_Datatype type, abi::MPI_Message* message,
          abi::MPI_Status* status) {
    const auto by_mpi = [&] {
        return (mpi.*native_mrecv)(buffer, count, native(type), native(message), native(status));
    };
    const auto work = [&]() -> int {
        const auto result =
            take_payload(buffer, count, native(type), native(message), nullptr, native(status));
        if (result) { return *result; }
        MPI_Status own;
        MPI_Status* const told = native(status) == MPI_STATUS_IGNORE ? &own : native(status);
        int code = MPI_SUCCESS;
        const auto probed = take_probed<Count, native_mrecv>(buffer, count, native(type),
                                                             native(message), told, &code);
        if (!probed) {
            const Turn::Away away;
            code = by_mpi();
        }
        layer->requests.completions.count();
        return probed && code != MPI_SUCCESS ? raise({probed->comm, code}, false) : code;
    };
    return in_turn(MPI_COMM_NULL, work, by_mpi);
}

template <class Count, auto native_mrecv, auto native_imrecv>
int imrecv(void* buffer, Count count, abi::MPI_Datatype type, abi::MPI_Message* message,
           abi::MPI_Request* request) {
    const auto by_mpi = [&] {
        return (mpi.*native_imrecv)(buffer, count, native(type), native(message), native(request));
    };
    const auto work = [&]() -> int {
        if (request == nullptr) { return by_mpi(); }
        const auto result = take_payload(buffer, count, native(type), native(message),
                                         native(request), MPI_STATUS_IGNORE);
        if (result) { return *result; }
        MPI_Status status;
        int code = MPI_SUCCESS;
        const auto probed = take_probed<Count, native_mrecv>(buffer, count, native(type),
                                                             native(message), &status, &code);
        if (!probed) {
            const int result = by_mpi();
            if (result == MPI_SUCCESS) { transfers::note_made(*native(request)); }
            return result;
        }
        if (is_refused(code)) { return raise({probed->comm, code}, false); }
        *native(message) = MPI_MESSAGE_NULL;
        *native(request) = transfers::make_completed_request(status);
        if (code != MPI_SUCCESS) {
            layer->requests.add_failure(*native(request), {probed->comm, code});
        }
        return MPI_SUCCESS;
    };
    return in_turn(MPI_COMM_NULL, work, by_mpi);
}

int cancel(abi::MPI_Request* request) {
    const auto work = [&] {
        return completion::cancel({layer->requests, layer->progress}, native(request),
                                  transfers::cancel);
    };
    return in_turn(MPI_COMM_NULL, work, [&] { return mpi.Cancel(native(request)); });
}

#define INSTANTIATE(suffix, Count)                                                                 \
    template int sendrecv<Count, &Mpi::Sendrecv##suffix>(                                          \
        const void*, Count, abi::MPI_Datatype, int, int, void*, Count, abi::MPI_Datatype, int,     \
        int, abi::MPI_Comm, abi::MPI_Status*);                                                     \
    template int isendrecv<Count>(const void*, Count, abi::MPI_Datatype, int, int, void*, Count,   \
                                  abi::MPI_Datatype, int, int, abi::MPI_Comm, abi::MPI_Request*);  \
    template int sendrecv_replace<Count, &Mpi::Sendrecv_replace##suffix>(                          \
        void*, Count, abi::MPI_Datatype, int, int, int, int, abi::MPI_Comm, abi::MPI_Status*);     \
    template int isendrecv_replace<Count>(void*, Count, abi::MPI_Datatype, int, int, int, int,     \
                                          abi::MPI_Comm, abi::MPI_Request*);                       \
    template int mrecv<Count, &Mpi::Mrecv##suffix>(void*, Count, abi::MPI_Datatype,                \
                                                   abi::MPI_Message*, abi::MPI_Status*);           \
    template int imrecv<Count, &Mpi::Mrecv##suffix, &Mpi::Imrecv##suffix>(                         \
        void*, Count, abi::MPI_Datatype, abi::MPI_Message*, abi::MPI_Request*);
INSTANTIATE(, int)
#ifdef NODEAWARE_MPI_LARGE_COUNTS
INSTANTIATE(_c, abi::MPI_Count)
#endif

} // namespace nodeaware::p2p
