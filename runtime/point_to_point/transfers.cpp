#include "runtime/point_to_point/transfers.hpp"

#include "runtime/memory/device_memory.hpp"
#include "runtime/mpi/errors_return.hpp"

#include <algorithm>

namespace nodeaware::transfers {

namespace {

/// What a generalized request of a receive knows.
struct ReceiveState {
    std::shared_ptr<Receive> receive;
    std::weak_ptr<BatchEngine> engine;
};

int query_receive(void* state, MPI_Status* status) {
    const Receive& receive = *static_cast<ReceiveState*>(state)->receive;
    receive.fill(status);
    return MPI_SUCCESS; // see Requests::Failure
}

int free_receive(void* state) {
    delete static_cast<ReceiveState*>(state);
    return MPI_SUCCESS;
}

int cancel_receive(void* state, int complete) {
    auto& [receive, weak] = *static_cast<ReceiveState*>(state);
    if (receive->requests != nullptr) { receive->requests->own_was_cancelled = true; }
    const auto engine = weak.lock();
    if (complete == 0 && engine != nullptr) { engine->receives().cancel(*receive); }
    return MPI_SUCCESS;
}

int query_send(void* /*state*/, MPI_Status* status) {
    mpi.Status_set_elements_x(status, MPI_BYTE, 0);
    mpi.Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    return MPI_SUCCESS;
}

int free_send(void* /*state*/) { return MPI_SUCCESS; }
int cancel_send(void* /*state*/, int /*complete*/) { return MPI_SUCCESS; } // it has left

bool is_rank(const BatchEngine& engine, int peer) {
    return peer >= 0 && peer < engine.inner().size();
}

UserMemory memory_of(const Message& message) {
    look_for_devices();
    return user_memory(message.buffer, message.count, inspect(message.type));
}

uint64_t bytes_of(const Message& message) {
    MPI_Count size = 0;
    MPI_CALL(Type_size_x, message.type, &size);
    return static_cast<uint64_t>(message.count) * static_cast<uint64_t>(size);
}

bool is_of_interest(const CommunicatorMessages* communicator, const Message& message) {
    return communicator != nullptr && communicator->is_learning() && message.peer >= 0 &&
           communicator->is_elsewhere(message.peer);
}

} // namespace

MPI_Request make_completed_request() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_CALL(Grequest_start, query_send, free_send, cancel_send, nullptr, &request);
    MPI_CALL(Grequest_complete, request);
    return request;
}

MPI_Request make_completed_request(const MPI_Status& status) {
    auto receive = std::make_shared<Receive>();
    MPI_Count count = 0;
    MPI_CALL(Get_elements_x, &status, MPI_BYTE, &count);
    receive->actual_source = status.MPI_SOURCE;
    receive->actual_tag = status.MPI_TAG;
    receive->bytes = static_cast<uint64_t>(std::max<MPI_Count>(count, 0));
    MPI_Request request = MPI_REQUEST_NULL;
    auto state = std::make_unique<ReceiveState>(ReceiveState{receive, {}});
    MPI_CALL(Grequest_start, query_receive, free_receive, cancel_receive, state.get(), &request);
    static_cast<void>(state.release());
    MPI_CALL(Grequest_complete, request);
    return request;
}

bool send(MessageLayer& layer, const Message& message, bool synchronous, MPI_Request* request,
          int* result) {
    CommunicatorMessages* const communicator = layer.find(message.comm);
    if (communicator == nullptr || communicator->is_off()) { return false; }
    communicator->post();
    if (synchronous) { communicator->note_synchronous(); }
    if (communicator->engine() == nullptr) { return false; }
    const std::shared_ptr<BatchEngine> engine = communicator->engine();
    if (!is_rank(*engine, message.peer) || !engine->owns(message.peer)) { return false; }
    *result = check_send(message);
    if (*result != MPI_SUCCESS) { return true; }
    const UserMemory memory = memory_of(message);
    communicator->note_send(message.peer, message.tag, memory.bytes);
    const auto number = engine->send(memory, message.peer, message.tag, synchronous);
    *result = MPI_SUCCESS;
    if (!number) {
        if (request != nullptr) { *request = make_completed_request(); }
    } else if (request == nullptr) {
        layer.wait_until([&] { return engine->is_acknowledged(*number); });
    } else {
        MPI_CALL(Grequest_start, query_send, free_send, cancel_send, nullptr, request);
        engine->when_acknowledged(*number, [handle = *request] { mpi.Grequest_complete(handle); });
    }
    return true;
}

bool receive(MessageLayer& layer, const Message& message, MPI_Request* request, MPI_Status* status,
             int* result) {
    CommunicatorMessages* const communicator = layer.find(message.comm);
    if (communicator == nullptr || communicator->is_off()) { return false; }
    communicator->post();
    if (communicator->engine() == nullptr) { return false; }
    const std::shared_ptr<BatchEngine> engine = communicator->engine();
    const bool from_anywhere = message.peer == MPI_ANY_SOURCE;
    if (!from_anywhere && (!is_rank(*engine, message.peer) || !engine->owns(message.peer))) {
        return false;
    }
    *result = check_receive(message);
    if (*result != MPI_SUCCESS) { return true; }
    auto posted = std::make_shared<Receive>();
    posted->memory = memory_of(message);
    posted->source = message.peer;
    posted->tag = message.tag;
    posted->comm = message.comm;
    posted->requests = &layer.requests;
    if (request != nullptr) {
        if (posted->memory.dense == nullptr && posted->memory.bytes > 0) {
            MPI_CALL(Type_dup, message.type, &posted->kept_type);
            posted->memory.type = posted->kept_type;
        }
        auto state = std::make_unique<ReceiveState>(ReceiveState{posted, engine});
        MPI_CALL(Grequest_start, query_receive, free_receive, cancel_receive, state.get(), request);
        static_cast<void>(state.release());
        posted->request = *request;
        engine->receive(posted);
        *result = MPI_SUCCESS;
        return true;
    }
    engine->receive(posted);
    layer.wait_until([&] { return posted->is_done; });
    posted->fill(status);
    *result = posted->error;
    layer.requests.completions.count();
    if (*result != MPI_SUCCESS) { mpi.Comm_call_errhandler(message.comm, *result); }
    return true;
}

int wait_native(MessageLayer& layer, MPI_Request* request, MPI_Status* status, MPI_Comm comm) {
    int code = MPI_SUCCESS;
    layer.progress.wait_until([&] {
        int flag = 0;
        const CompletionErrorsReturn errors_return;
        code = mpi.Test(request, &flag, status);
        return code != MPI_SUCCESS || flag != 0;
    });
#ifndef OPEN_MPI // which has called the handler
    if (code != MPI_SUCCESS) { mpi.Comm_call_errhandler(comm, code); }
#else
    static_cast<void>(comm);
#endif
    return code;
}

void note_sent(MessageLayer& layer, const Message& message) {
    CommunicatorMessages* const communicator = layer.find(message.comm);
    if (!is_of_interest(communicator, message)) { return; }
    communicator->note_send(message.peer, message.tag, bytes_of(message));
}

void note_received(MessageLayer& layer, const Message& message, const MPI_Status& status) {
    CommunicatorMessages* const communicator = layer.find(message.comm);
    layer.requests.completions.count();
    if (communicator == nullptr || !communicator->is_learning() || status.MPI_SOURCE < 0) {
        return;
    }
    communicator->note_receive(status.MPI_SOURCE, status.MPI_TAG);
}

void note_receive_begun(MessageLayer& layer, const Message& message, MPI_Request request) {
    CommunicatorMessages* const communicator = layer.find(message.comm);
    if (communicator == nullptr || !communicator->is_learning()) { return; }
    if (message.peer == MPI_PROC_NULL) { return; }
    if (message.peer == MPI_ANY_SOURCE || message.tag == MPI_ANY_TAG) {
        communicator->note_pending();
        layer.requests.observed()[request] = communicator;
    } else {
        communicator->note_receive(message.peer, message.tag);
        layer.requests.recent.add({request, communicator, message.peer, message.tag});
    }
}

int probe(MessageLayer& layer, int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status,
          bool* is_ours) {
    *is_ours = false;
    const std::shared_ptr<BatchEngine> engine = layer.engine(comm);
    layer.progress.advance();
    if (engine != nullptr && (source == MPI_ANY_SOURCE || is_rank(*engine, source))) {
        const wire::Arrived* const found = engine->receives().find(source, tag);
        if (found != nullptr) {
            Receive pattern;
            pattern.actual_source = found->entry.source;
            pattern.actual_tag = found->entry.tag;
            pattern.bytes = found->entry.bytes;
            pattern.fill(status);
            *flag = 1;
            *is_ours = true;
            return MPI_SUCCESS;
        }
        if (source != MPI_ANY_SOURCE && engine->owns(source)) {
            *flag = 0;
            return MPI_SUCCESS;
        }
    }
    return mpi.Iprobe(source, tag, comm, flag, status);
}

} // namespace nodeaware::transfers
