// The part of MpiTransport that moves messages which travel by themselves. Where MPI does not know
// the memory of a device, they go by the host.

#include "runtime/collectives/mpi_transport.hpp"
#include "runtime/memory/elements.hpp"

#include <algorithm>
#include <array>

namespace nodeaware {

namespace {

bool goes_by_host(const UserMemory& memory) {
    return memory.place.is_on_device && !device::mpi_is_aware();
}

/// Receives a message for which there is no memory, so that its sender can go on: all of its bytes
/// come to the same few. It is not cut off, for not every MPI is fit for that. Throws MpiError.
int receive_and_forget(uint64_t bytes, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
    constexpr int few = 1 << 16;
    static std::array<std::byte, few> forgotten;
    MPI_Datatype all = MPI_DATATYPE_NULL;
    MPI_CALL(Type_create_hvector, static_cast<int>((bytes + few - 1) / few), few, 0, MPI_BYTE,
             &all);
    int code = mpi.Type_commit(&all);
    if (code == MPI_SUCCESS) {
        code = mpi.Irecv(forgotten.data(), 1, all, peer, tag, comm, request);
    }
    mpi.Type_free(&all);
    return code;
}

} // namespace

/// Receivers tell direct messages of one rank apart by their order.
bool MpiTransport::is_behind_another(int peer) const {
    return std::any_of(held_sends_.begin(), held_sends_.end(),
                       [&](const HeldSend& held) { return held.peer == peer; });
}

bool MpiTransport::is_held(const HeldSend& send) const {
    const auto found = by_host_.find(send.step);
    return found != by_host_.end() && !found->second.are_here;
}

void MpiTransport::send_item(int peer, uint32_t item, uint32_t step) {
    const UserMemory& memory = exchange_.outgoing[item];
    const HeldSend send{peer, item, step};
    bool is_possible = true;
    if (goes_by_host(memory)) {
        is_possible = false;
        guarded([&] {
            ByHost& held = by_host_[step];
            is_possible = true;
            held.are_here = true; // or never: the receiver waits for the message in any case
            held.bytes = device::HostMemory(memory.bytes);
            held.bytes.pin(memory.place);
            held.are_here = fetch(memory, held, step);
        });
    }
    if (is_possible && (is_held(send) || is_behind_another(peer))) {
        held_sends_.push_back(send);
        return;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = is_possible ? begin_direct(send, &request) : MPI_ERR_NO_MEM;
    begun(code, request, {step, -1});
}

void MpiTransport::begin_held_sends() {
    size_t kept = 0;
    for (const HeldSend send : held_sends_) {
        const bool is_behind =
            std::any_of(held_sends_.begin(), held_sends_.begin() + static_cast<ptrdiff_t>(kept),
                        [&](const HeldSend& held) { return held.peer == send.peer; });
        if (is_behind || is_held(send)) {
            held_sends_[kept++] = send;
            continue;
        }
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = begin_direct(send, &request);
        begun(code, request, {send.step, -1});
    }
    held_sends_.resize(kept);
}

int MpiTransport::begin_direct(const HeldSend& send, MPI_Request* request) {
    const auto found = by_host_.find(send.step);
    if (found == by_host_.end()) {
        return begin_send(exchange_.outgoing[send.item], send.peer, tags_.direct, comm_, request);
    }
    int code = MPI_ERR_NO_MEM;
    guarded([&] {
        const std::byte* const bytes = found->second.bytes.data(); // nullptr: there was no memory
        const Elements elements(bytes == nullptr ? 0 : exchange_.outgoing[send.item].bytes);
        code = mpi.Isend(bytes, elements.count(), elements.type(), send.peer, tags_.direct, comm_,
                         request);
    });
    return code;
}

void MpiTransport::receive_item(int peer, uint32_t item, uint32_t step) {
    MPI_Request request = MPI_REQUEST_NULL;
    const UserMemory& memory = exchange_.incoming[item];
    const int code = is_given_up(peer) ? MPI_ERR_TRUNCATE
                     : goes_by_host(memory)
                         ? receive_by_host(memory, peer, step, &request)
                         : begin_receive(memory, peer, tags_.direct, comm_, &request);
    begun(code, request, {step, peer});
}

int MpiTransport::receive_by_host(const UserMemory& memory, int peer, uint32_t step,
                                  MPI_Request* request) {
    int code = MPI_ERR_NO_MEM;
    bool has_room = false;
    guarded([&] {
        ByHost& held = by_host_[step];
        held.to = &memory;
        held.bytes = device::HostMemory(memory.bytes);
        held.bytes.pin(memory.place);
        has_room = true;
        const Elements elements(memory.bytes);
        code = mpi.Irecv(held.bytes.data(), elements.count(), elements.type(), peer, tags_.direct,
                         comm_, request);
    });
    if (has_room) { return code; }
    by_host_.erase(step);
    guarded([&] { code = receive_and_forget(memory.bytes, peer, tags_.direct, comm_, request); });
    return code;
}

/// Of a message that is over: true if it is on its way to where it goes.
bool MpiTransport::end_receive_by_host(const FinishedStep& finished) {
    const auto found = by_host_.find(finished.step);
    if (found == by_host_.end()) { return false; }
    ByHost& held = found->second;
    bool is_over = true;
    if (held.to != nullptr && !finished.failed) {
        guarded([&] {
            held.size = finished.bytes;
            is_over = deliver(held, finished.step);
        });
    }
    if (is_over) { by_host_.erase(found); }
    return !is_over;
}

} // namespace nodeaware
