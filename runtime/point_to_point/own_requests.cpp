#include "runtime/point_to_point/own_requests.hpp"

#include "runtime/point_to_point/message_layer.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace nodeaware::transfers {

namespace {

/// What a generalized request of a receive knows.
struct ReceiveState {
    std::shared_ptr<Receive> receive;
    std::weak_ptr<BatchEngine> engine;
};

std::mutex ended_mutex;
std::vector<std::unique_ptr<ReceiveState>> ended;

/// A request that this thread cancels.
struct Cancelling {
    bool is_under_way = false;
    ReceiveState* asked = nullptr; ///< MPI has called cancel_receive()
};
thread_local Cancelling cancelling;

int query_receive(void* state, MPI_Status* status) {
    const Receive& receive = *static_cast<ReceiveState*>(state)->receive;
    receive.fill(status);
    return MPI_SUCCESS; // see Requests::Failure
}

int free_receive(void* state) {
    std::unique_ptr<ReceiveState> over(static_cast<ReceiveState*>(state));
    if (is_open_mpi() || !Turn::are_taken()) { return MPI_SUCCESS; }
    const std::lock_guard lock(ended_mutex);
    ended.push_back(std::move(over));
    return MPI_SUCCESS;
}

/// What MPI_Cancel is to return.
int cancel_now(const ReceiveState& asked) {
    try {
        if (const auto engine = asked.engine.lock()) { engine->receives().cancel(*asked.receive); }
    } catch (const MpiError& error) { return error.code; } // not through MPI
    return MPI_SUCCESS;
}

int cancel_receive(void* state, int complete) {
    auto& asked = *static_cast<ReceiveState*>(state);
    if (asked.receive->requests != nullptr) { asked.receive->requests->own_was_cancelled = true; }
    if (complete != 0) { return MPI_SUCCESS; }
    if (cancelling.is_under_way) {
        cancelling.asked = &asked;
        return MPI_SUCCESS;
    }
    return cancel_now(asked);
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

MPI_Request make(std::unique_ptr<ReceiveState> state) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_CALL(Grequest_start, query_receive, free_receive, cancel_receive, state.get(), &request);
    static_cast<void>(state.release());
    note_made(request);
    return request;
}

} // namespace

/// MPI uses handles again: what one of them stood for before is forgotten.
void note_made(MPI_Request request) {
    if (p2p::layer != nullptr) { p2p::layer->requests.named.forget(request); }
}

MPI_Request make_send_request() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_CALL(Grequest_start, query_send, free_send, cancel_send, nullptr, &request);
    note_made(request);
    return request;
}

MPI_Request make_receive_request(const std::shared_ptr<Receive>& receive,
                                 const std::shared_ptr<BatchEngine>& engine) {
    free_ended();
    receive->request = make(std::make_unique<ReceiveState>(ReceiveState{receive, engine}));
    receive->requests->receive_begun(receive->request);
    return receive->request;
}

MPI_Request make_completed_request() {
    MPI_Request request = make_send_request();
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
    MPI_Request request = make(std::make_unique<ReceiveState>(ReceiveState{receive, {}}));
    MPI_CALL(Grequest_complete, request);
    return request;
}

int cancel(MPI_Request* request) {
    cancelling = {true, nullptr};
    const int code = mpi.Cancel(request);
    const ReceiveState* const asked = std::exchange(cancelling, Cancelling()).asked;
    return asked == nullptr || code != MPI_SUCCESS ? code : cancel_now(*asked);
}

void free_ended() {
    if (!Turn::are_taken()) { return; }
    std::vector<std::unique_ptr<ReceiveState>> over;
    const std::lock_guard lock(ended_mutex);
    over.swap(ended);
}

} // namespace nodeaware::transfers
