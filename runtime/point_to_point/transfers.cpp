#include "runtime/point_to_point/transfers.hpp"

#include "runtime/device/driver.hpp"
#include "runtime/memory/elements.hpp"
#include "runtime/mpi/errors_return.hpp"
#include "runtime/mpi/hidden_errors.hpp"
#include "runtime/point_to_point/buffered_memory.hpp"
#include "runtime/point_to_point/own_requests.hpp"
#include "runtime/progress/clock.hpp"

#include <algorithm>

namespace nodeaware::transfers {

namespace {

bool is_rank(const BatchEngine& engine, int peer) { return peer >= 0 && peer < engine.size(); }

UserMemory memory_of(const Message& message) {
    device::look_for_driver();
    return user_memory(message.buffer, message.count, message.type);
}

uint64_t bytes_of(const Message& message) {
    if (message.count == 0) { return 0; }
    MPI_Count size = 0;
    MPI_CALL(Type_size_x, message.type, &size);
    return static_cast<uint64_t>(message.count) * static_cast<uint64_t>(size);
}

/// Messages of this communicator are of interest.
CommunicatorMessages* find(MessageLayer& layer, MPI_Comm comm) {
    CommunicatorMessages* const found = layer.find(comm);
    return found == nullptr || found->engine() == nullptr ? nullptr : found;
}

/// Until the message may be sent, or this takes too long; false if it has been handed back to MPI
/// meanwhile.
bool wait_for_credit(MessageLayer& layer, BatchEngine& engine, const Message& message,
                     uint64_t bytes) {
    double pause = 1e-3; // seconds
    double next = now() + pause;
    const double end = now() + longest_wait(bytes);
    const auto is_over = [&] {
        if (!engine.sends_to(message.peer)) { return true; }
        if (engine.may_send(bytes, message.peer, message.tag)) { return true; }
        if (now() >= next) {
            engine.ask_for_receive(message.peer);
            pause *= 2;
            next = now() + pause;
        }
        return now() >= end;
    };
    layer.wait_until(is_over, true);
    return engine.sends_to(message.peer);
}

} // namespace

bool send(MessageLayer& layer, const Message& message, Mode mode, MPI_Request* request,
          int* result) {
    CommunicatorMessages* const communicator = find(layer, message.comm);
    if (communicator == nullptr) { return false; }
    communicator->post();
    const std::shared_ptr<BatchEngine> engine = communicator->engine();
    if (!is_rank(*engine, message.peer)) { return false; }
    if (mode == Mode::synchronous) { communicator->note_synchronous(message.peer); }
    if (!engine->sends_to(message.peer)) { return false; }
    *result = check_send(message, true);
    if (*result != MPI_SUCCESS) { return false; }
    const UserMemory memory = memory_of(message);
    if (mode == Mode::buffered) {
        *result = check_buffered(layer, message, memory.bytes);
        if (*result != MPI_SUCCESS) {
            mpi.Comm_call_errhandler(message.comm, *result);
            return true;
        }
    }
    const bool is_buffered = mode == Mode::buffered;
    const bool is_blocking = request == nullptr;
    const bool is_to_wait =
        is_blocking && !is_buffered && !engine->may_send(memory.bytes, message.peer, message.tag);
    if (is_to_wait && !wait_for_credit(layer, *engine, message, memory.bytes)) { return false; }
    if (engine->has_owner()) { // no other thread has freed it meanwhile
        communicator->note_send(message.peer, message.tag, memory.bytes);
    }
    const uint32_t number = engine->next_number(message.peer, message.tag);
    auto pending =
        engine->send(memory, message.peer, message.tag, mode, is_blocking && !is_buffered);
    if (is_buffered) {
        layer.buffered.add(
            std::exchange(pending, nullptr), memory.bytes,
            [weak = std::weak_ptr(engine), number, channel = Channel{message.peer, message.tag}] {
                const auto known = weak.lock();
                return known == nullptr || known->is_announced(channel, number);
            });
    }
    if (is_blocking) {
        if (pending != nullptr && !pending->is_over()) {
            layer.wait_until([&] { return pending->is_over(); }, true);
        }
        *result = pending == nullptr ? MPI_SUCCESS : pending->error;
        if (*result != MPI_SUCCESS) { mpi.Comm_call_errhandler(message.comm, *result); }
        return true;
    }
    if (pending == nullptr || pending->is_over()) {
        *request = make_completed_request();
        return true;
    }
    *request = make_send_request();
    // Nobody but the engine keeps it.
    pending->then = [&layer, handle = *request, comm = message.comm, sent = pending.get()] {
        if (sent->error != MPI_SUCCESS) { layer.requests.add_failure(handle, {comm, sent->error}); }
        mpi.Grequest_complete(handle);
    };
    return true;
}

namespace {

std::shared_ptr<Receive> make_receive(MessageLayer& layer, const Message& message) {
    auto made = std::make_shared<Receive>();
    made->memory = memory_of(message);
    made->source = message.peer;
    made->tag = message.tag;
    made->comm = message.comm;
    made->requests = &layer.requests;
    return made;
}

bool has_wildcards(const Message& message) {
    return message.peer == MPI_ANY_SOURCE || message.tag == MPI_ANY_TAG;
}

/// The end of a blocking receive.
int wait_for(MessageLayer& layer, const Receive& receive, MPI_Status* status) {
    layer.wait_until([&] { return receive.is_done; });
    receive.fill(status);
    layer.requests.completions.count();
    if (receive.error != MPI_SUCCESS) { mpi.Comm_call_errhandler(receive.comm, receive.error); }
    return receive.error;
}

} // namespace

bool receive(MessageLayer& layer, const Message& message, MPI_Request* request, MPI_Status* status,
             int* result) {
    CommunicatorMessages* const communicator = find(layer, message.comm);
    if (communicator == nullptr) { return false; }
    communicator->post();
    const std::shared_ptr<BatchEngine> engine = communicator->engine();
    const bool from_anywhere = message.peer == MPI_ANY_SOURCE;
    if (!from_anywhere && !is_rank(*engine, message.peer)) { return false; }
    if (!engine->receives().concerns(message.peer)) { return false; }
    *result = check_receive(message, true);
    if (*result != MPI_SUCCESS) { return false; }
    communicator->note_receive(has_wildcards(message));
    const std::shared_ptr<Receive> posted = make_receive(layer, message);
    if (request == nullptr) {
        engine->receive(posted);
        *result = wait_for(layer, *posted, status);
        return true;
    }
    if (posted->memory.dense == nullptr && posted->memory.bytes > 0) {
        posted->kept_type = keep_datatype(message.type);
        posted->memory.type = posted->kept_type;
    }
    *request = make_receive_request(posted, engine);
    engine->receive(posted);
    return true;
}

std::optional<int> receive_cut(MessageLayer& layer, uint64_t bytes, Message message,
                               MPI_Message* handle, MPI_Status* status) {
    // MPICH cuts the message itself, and leaves the handle as it is.
    if (!is_open_mpi()) { return std::nullopt; }
    message.peer = 0; // its communicator may be freed
    message.tag = 0;
    message.comm = layer.self();
    if (check_receive(message, true) != MPI_SUCCESS) { return std::nullopt; }
    const UserMemory memory = memory_of(message);
    if (bytes <= memory.bytes) { return std::nullopt; }
    std::vector<std::byte> whole(bytes);
    const Elements all(bytes);
    const int code = mpi.Mrecv(whole.data(), all.count(), all.type(), handle, status);
    if (code != MPI_SUCCESS) { return code; }
    if (memory.bytes > 0) { unpack_part(memory, whole.data(), memory.bytes, layer.self()); }
    return MPI_ERR_TRUNCATE;
}

int receive_probed(MessageLayer& layer, const MessageLayer::Probed& probed, const Message& message,
                   MPI_Message* handle, MPI_Request* request, MPI_Status* status) {
    const std::shared_ptr<Receive> receive = make_receive(layer, message);
    receive->take_note(probed.entry);
    const Elements elements(message.count, message.type);
    const int code = [&] {
        const CompletionErrorsReturn errors_return;
        return mpi.Imrecv(message.buffer, elements.count(), elements.type(), handle,
                          &receive->payload);
    }();
    if (code != MPI_SUCCESS) { return raise({probed.comm, code}, false); }
    if (request != nullptr) { *request = make_receive_request(receive, probed.engine); }
    probed.engine->receives().receive_extracted(receive);
    return request == nullptr ? wait_for(layer, *receive, status) : MPI_SUCCESS;
}

namespace {

/// It is known to be a rank of the communicator.
bool is_known_rank(MessageLayer& layer, const Message& message) {
    if (const CommunicatorMessages* const communicator = find(layer, message.comm)) {
        return is_rank(*communicator->engine(), message.peer);
    }
    int is_inter = 0;
    int size = 0;
    MPI_CALL(Comm_test_inter, message.comm, &is_inter);
    if (is_inter == 0) { MPI_CALL(Comm_size, message.comm, &size); }
    return message.peer >= 0 && message.peer < size;
}

} // namespace

bool refuses_send(MessageLayer& layer, const Message& message) {
    if (message.comm == MPI_COMM_NULL) { return true; }
    return check_send(message, is_known_rank(layer, message)) != MPI_SUCCESS;
}

bool refuses_receive(MessageLayer& layer, const Message& message) {
    if (message.comm == MPI_COMM_NULL) { return true; }
    const bool is_well = message.peer == MPI_ANY_SOURCE && find(layer, message.comm) != nullptr;
    return check_receive(message, is_well || is_known_rank(layer, message)) != MPI_SUCCESS;
}

namespace {

/// Open MPI has called the handler.
int raise_native(int code, MPI_Comm comm) {
    if (code != MPI_SUCCESS && !is_open_mpi()) { mpi.Comm_call_errhandler(comm, code); }
    return code;
}

} // namespace

namespace {

int wait_by_mpi(MPI_Request* request, MPI_Status* status, MPI_Comm comm) {
    const int code = [&] {
        const CompletionErrorsReturn errors_return;
        const Turn::Away away; // there may be others from now on
        return mpi.Wait(request, status);
    }();
    return raise_native(code, comm);
}

} // namespace

int wait_native(MessageLayer& layer, MPI_Request* request, MPI_Status* status, MPI_Comm comm,
                bool is_for_send) {
    int code = MPI_SUCCESS;
    bool is_over = false;
    const auto look = [&] {
        int flag = 0;
        const CompletionErrorsReturn errors_return;
        code = mpi.Test(request, &flag, status);
        is_over = code != MPI_SUCCESS || flag != 0;
        return is_over || layer.is_left_to_mpi();
    };
    layer.wait_until(look, is_for_send);
    return is_over ? raise_native(code, comm) : wait_by_mpi(request, status, comm);
}

int wait_unnoted(MessageLayer& layer, MPI_Request* request, MPI_Status* status, MPI_Comm comm,
                 bool is_for_send) {
    if (layer.progress.is_busy() || MessageLayer::has_several_threads()) {
        return wait_native(layer, request, status, comm, is_for_send);
    }
    return wait_by_mpi(request, status, comm);
}

void note_sent(MessageLayer& layer, const Message& message) {
    CommunicatorMessages* const communicator = find(layer, message.comm);
    if (communicator == nullptr || message.peer < 0 || !communicator->is_elsewhere(message.peer)) {
        return;
    }
    communicator->note_send(message.peer, message.tag, bytes_of(message));
    communicator->note_sent_by_mpi(message.peer, message.tag);
}

void note_receive_begun(MessageLayer& layer, const Message& message, MPI_Request request) {
    CommunicatorMessages* const communicator = find(layer, message.comm);
    if (communicator == nullptr || message.peer == MPI_PROC_NULL) {
        layer.requests.named.forget(request);
    } else if (has_wildcards(message)) {
        communicator->note_pending();
        layer.requests.observed()[request] = communicator;
    } else {
        communicator->note_receive_in_mpi(message.peer, message.tag);
        layer.requests.named.add(
            request, {communicator, message.peer, message.tag, communicator->era_of(message.peer)});
    }
}

void note_blocking_receive(MessageLayer& layer, const Message& message) {
    CommunicatorMessages* const communicator = find(layer, message.comm);
    if (communicator == nullptr || message.peer == MPI_PROC_NULL) { return; }
    if (has_wildcards(message)) { return communicator->note_pending(); }
    communicator->note_receive_in_mpi(message.peer, message.tag);
}

void note_received(MessageLayer& layer, const Message& message, const MPI_Status& status) {
    layer.requests.completions.count();
    if (message.peer == MPI_PROC_NULL || !has_wildcards(message)) { return; }
    CommunicatorMessages* const communicator = find(layer, message.comm);
    if (communicator != nullptr) { communicator->received(status); }
}

int probe(MessageLayer& layer, int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status,
          bool* is_ours) {
    *is_ours = false;
    const std::shared_ptr<BatchEngine> engine = layer.engine(comm);
    layer.progress.advance();
    if (!is_tag_of_receives(tag)) { // which MPI may refuse
        const int code = mpi.Iprobe(source, tag, comm, flag, status);
        if (code != MPI_SUCCESS || *flag == hidden_errors::untold) { return code; }
    }
    if (engine != nullptr && (source == MPI_ANY_SOURCE || is_rank(*engine, source))) {
        const wire::Entry* const found = engine->receives().find(source, tag);
        if (found != nullptr) {
            Receive pattern;
            pattern.actual_source = found->source;
            pattern.actual_tag = found->tag;
            pattern.bytes = found->bytes;
            pattern.fill(status);
            *flag = 1;
            *is_ours = true;
            return MPI_SUCCESS;
        }
        if (!engine->receives().may_come_by_mpi(source, tag)) {
            *flag = 0;
            return MPI_SUCCESS;
        }
    }
    return mpi.Iprobe(source, tag, comm, flag, status);
}

} // namespace nodeaware::transfers
