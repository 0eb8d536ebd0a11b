#include "runtime/point_to_point/persistent.hpp"

#include "runtime/mpi/errors_return.hpp"
#include "runtime/point_to_point/own_requests.hpp"
#include "runtime/point_to_point/transfers.hpp"

namespace nodeaware::persistent {

namespace {

using Mode = PersistentRequest::Mode;

/// Starts a persistent request in MPI and learns from it.
int start_native(MessageLayer& layer, MPI_Request* request, const PersistentRequest& persistent,
                 const transfers::Message& message) {
    const int code = mpi.Start(request);
    if (code != MPI_SUCCESS) { return code; }
    if (persistent.mode == Mode::receive) {
        transfers::note_receive_begun(layer, message, *request);
    } else {
        transfers::note_sent(layer, message);
        transfers::note_made(*request);
    }
    return code;
}

int start_one(MessageLayer& layer, MPI_Request* request) {
    const auto found = layer.requests.persistent().find(*request);
    if (found == layer.requests.persistent().end()) {
        transfers::note_made(*request);
        return mpi.Start(request);
    }
    PersistentRequest& persistent = found->second;
    if (persistent.active != MPI_REQUEST_NULL) { // of which MPI knows nothing
        mpi.Comm_call_errhandler(raises_errors(), MPI_ERR_REQUEST);
        return MPI_ERR_REQUEST;
    }
    const UserMemory& memory = persistent.memory;
    const transfers::Message message{memory.address,  memory.count,   memory.type,
                                     persistent.peer, persistent.tag, persistent.comm};
    MPI_Request active = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    const bool is_ours = persistent.mode == Mode::receive
                             ? transfers::receive(layer, message, &active, MPI_STATUS_IGNORE, &code)
                             : transfers::send(layer, message, persistent.mode, &active, &code);
    if (!is_ours) { return start_native(layer, request, persistent, message); }
    if (code != MPI_SUCCESS) { return code; }
    persistent.active = active;
    ++layer.requests.active_persistent;
    return code;
}

} // namespace

void made(MessageLayer& layer, MPI_Request request, const PersistentRequest& persistent) {
    if (persistent.peer == MPI_PROC_NULL || layer.find(persistent.comm) == nullptr) { return; }
    layer.requests.remember(request, persistent);
}

int start(MessageLayer& layer, int count, MPI_Request* requests) {
    if (layer.requests.persistent().empty() || requests == nullptr || count < 1) {
        const int code = count == 1 ? mpi.Start(requests) : mpi.Startall(count, requests);
        for (int i = 0; code == MPI_SUCCESS && requests != nullptr && i < count; ++i) {
            layer.requests.named.forget(requests[i]);
        }
        return code;
    }
    for (int i = 0; i < count; ++i) {
        const int code = start_one(layer, requests + i);
        if (code != MPI_SUCCESS) { return code; }
    }
    return MPI_SUCCESS;
}

} // namespace nodeaware::persistent
