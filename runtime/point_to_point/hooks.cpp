#include "runtime/point_to_point/hooks.hpp"

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
    if (transfers::send(*layer, message, false, request, &result)) { return result; }
    result = begin_send(memory_of(message), message.peer, message.tag, message.comm, request);
    if (result == MPI_SUCCESS) { transfers::note_sent(*layer, message); }
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
    const UserMemory memory = user_memory(message.buffer, message.count, inspect(message.type));
    std::vector<std::byte> bytes(memory.bytes);
    pack_user_memory(memory, bytes.data(), message.comm);
    return bytes;
}

/// Begins the receive and the send; the send is over or its bytes are the library's when this
/// returns.
int begin_both(const Message& sent, const Message& received, MPI_Request* request) {
    std::vector<std::byte> bytes;
    if (sent.peer != MPI_PROC_NULL) { bytes = packed(sent); }
    int result = plain_irecv(received, request);
    if (result != MPI_SUCCESS || sent.peer == MPI_PROC_NULL) { return result; }
    const Message copy{bytes.data(), static_cast<MPI_Count>(bytes.size()),
                       MPI_BYTE,     sent.peer,
                       sent.tag,     sent.comm};
    MPI_Request send_request = MPI_REQUEST_NULL;
    result = plain_isend(copy, &send_request);
    if (result == MPI_SUCCESS) { layer->detach(send_request, std::move(bytes)); }
    return result;
}

/// `native_call` is the call of MPI, which does it where there is no engine.
template <class NativeCall>
int both(const Message& sent, const Message& received, MPI_Status* status, NativeCall native_call) {
    return guarded(sent.comm, [&] {
        CommunicatorMessages* const communicator = layer->find(sent.comm);
        if (communicator == nullptr || communicator->engine() == nullptr) {
            layer->flush();
            if (communicator != nullptr) { communicator->post(); }
            MPI_Status own;
            MPI_Status* const told = status == MPI_STATUS_IGNORE ? &own : status;
            const int result = native_call(told);
            if (result == MPI_SUCCESS) {
                transfers::note_sent(*layer, sent);
                transfers::note_received(*layer, received, *told);
            }
            return result;
        }
        MPI_Request request = MPI_REQUEST_NULL;
        const int result = begin_both(sent, received, &request);
        return result == MPI_SUCCESS ? completion::wait(*layer, &request, status) : result;
    });
}

int begin_both_guarded(const Message& sent, const Message& received, MPI_Request* request) {
    return guarded(sent.comm, [&] { return begin_both(sent, received, request); });
}

} // namespace

template <class Count, auto native_call>
int sendrecv(const void* sendbuf, Count sendcount, abi::MPI_Datatype sendtype, int destination,
             int sendtag, void* recvbuf, Count recvcount, abi::MPI_Datatype recvtype, int source,
             int recvtag, abi::MPI_Comm comm, abi::MPI_Status* status) {
    return both({const_cast<void*>(sendbuf), sendcount, native(sendtype), destination, sendtag,
                 native(comm)},
                {recvbuf, recvcount, native(recvtype), source, recvtag, native(comm)},
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
    return begin_both_guarded({const_cast<void*>(sendbuf), sendcount, native(sendtype), destination,
                               sendtag, native(comm)},
                              {recvbuf, recvcount, native(recvtype), source, recvtag, native(comm)},
                              native(request));
}

template <class Count, auto native_call>
int sendrecv_replace(void* buffer, Count count, abi::MPI_Datatype type, int destination,
                     int sendtag, int source, int recvtag, abi::MPI_Comm comm,
                     abi::MPI_Status* status) {
    return both({buffer, count, native(type), destination, sendtag, native(comm)},
                {buffer, count, native(type), source, recvtag, native(comm)}, native(status),
                [&](MPI_Status* told) {
                    return (mpi.*native_call)(buffer, count, native(type), destination, sendtag,
                                              source, recvtag, native(comm), told);
                });
}

template <class Count>
int isendrecv_replace(void* buffer, Count count, abi::MPI_Datatype type, int destination,
                      int sendtag, int source, int recvtag, abi::MPI_Comm comm,
                      abi::MPI_Request* request) {
    return begin_both_guarded({buffer, count, native(type), destination, sendtag, native(comm)},
                              {buffer, count, native(type), source, recvtag, native(comm)},
                              native(request));
}

/// A message that a probe has matched in the engine goes once through MPI, for the application
/// needs a handle that MPI knows.
template <class Count, auto native_mrecv>
int mrecv(void* buffer, Count count, abi::MPI_Datatype type, abi::MPI_Message* message,
          abi::MPI_Status* status) {
    const auto found = layer->probed().find(*native(message));
    const bool is_ours = found != layer->probed().end();
    MPI_Status own;
    MPI_Status* const told = native(status) == MPI_STATUS_IGNORE ? &own : native(status);
    const wire::Entry entry = is_ours ? found->second : wire::Entry{};
    if (is_ours) { layer->probed().erase(found); }
    const int result = (mpi.*native_mrecv)(buffer, count, native(type), native(message), told);
    if (is_ours) {
        told->MPI_SOURCE = entry.source;
        told->MPI_TAG = entry.tag;
    }
    layer->completed();
    return result;
}

template <class Count, auto native_mrecv, auto native_imrecv>
int imrecv(void* buffer, Count count, abi::MPI_Datatype type, abi::MPI_Message* message,
           abi::MPI_Request* request) {
    if (layer->probed().count(*native(message)) == 0) {
        return (mpi.*native_imrecv)(buffer, count, native(type), native(message), native(request));
    }
    return guarded(MPI_COMM_NULL, [&] {
        MPI_Status status;
        const int result = mrecv<Count, native_mrecv>(buffer, count, type, message,
                                                      reinterpret_cast<abi::MPI_Status*>(&status));
        if (result == MPI_SUCCESS) { *native(request) = transfers::make_completed_request(status); }
        return result;
    });
}

int iprobe(int source, int tag, abi::MPI_Comm comm, int* flag, abi::MPI_Status* status) {
    return guarded(native(comm), [&] {
        bool is_ours = false;
        return transfers::probe(*layer, source, tag, native(comm), flag, native(status), &is_ours);
    });
}

int probe(int source, int tag, abi::MPI_Comm comm, abi::MPI_Status* status) {
    return guarded(native(comm), [&] {
        int result = MPI_SUCCESS;
        layer->wait_until([&] {
            int flag = 0;
            bool is_ours = false;
            result = transfers::probe(*layer, source, tag, native(comm), &flag, native(status),
                                      &is_ours);
            return result != MPI_SUCCESS || flag != 0;
        });
        return result;
    });
}

int improbe(int source, int tag, abi::MPI_Comm comm, int* flag, abi::MPI_Message* message,
            abi::MPI_Status* status) {
    return guarded(native(comm), [&] {
        CommunicatorMessages* const communicator = layer->find(native(comm));
        MPI_Status own;
        MPI_Status* const told = native(status) == MPI_STATUS_IGNORE ? &own : native(status);
        if (communicator == nullptr || communicator->engine() == nullptr) {
            layer->progress();
            const int result = mpi.Improbe(source, tag, native(comm), flag, native(message), told);
            if (communicator != nullptr && result == MPI_SUCCESS && *flag != 0 &&
                told->MPI_SOURCE >= 0) {
                communicator->note_receive(told->MPI_SOURCE, told->MPI_TAG); // matched now
            }
            return result;
        }
        bool is_ours = false;
        const int result =
            transfers::probe(*layer, source, tag, native(comm), flag, told, &is_ours);
        if (result != MPI_SUCCESS || *flag == 0) { return result; }
        if (!is_ours) {
            return mpi.Improbe(source, tag, native(comm), flag, native(message), told);
        }
        const wire::Arrived found = communicator->engine()->receives().extract(source, tag);
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<std::byte> bytes(found.bytes(), found.bytes() + found.entry.bytes);
        MPI_CALL(Isend, bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, 1, layer->self(),
                 &request);
        layer->detach(request, std::move(bytes));
        MPI_CALL(Mprobe, 0, 1, layer->self(), native(message), MPI_STATUS_IGNORE);
        layer->probed()[*native(message)] = found.entry;
        return result;
    });
}

int mprobe(int source, int tag, abi::MPI_Comm comm, abi::MPI_Message* message,
           abi::MPI_Status* status) {
    if (source == MPI_PROC_NULL) {
        return mpi.Mprobe(source, tag, native(comm), native(message), native(status));
    }
    int result = MPI_SUCCESS;
    layer->wait_until([&] {
        int flag = 0;
        result = improbe(source, tag, comm, &flag, message, status);
        return result != MPI_SUCCESS || flag != 0;
    });
    return result;
}

int cancel(abi::MPI_Request* request) { return completion::cancel(*layer, native(request)); }

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
