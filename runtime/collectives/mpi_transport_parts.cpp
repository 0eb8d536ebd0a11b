// The part of MpiTransport that cuts large messages from memory of a device which go by the host:
// one part is copied from the device while others cross the network, and to the device at the other
// end while more come. The receiver does not know where the sender's memory is, nor whether the
// sender has as many bytes as it expects itself. So the first that comes is a head, which is
// shorter than any message that may be cut, and tells what follows.

#include "runtime/collectives/mpi_transport.hpp"
#include "runtime/memory/elements.hpp"
#include "strategies/piece_layout.hpp"

#include <cstring>

namespace nodeaware {

namespace {

/// Fewer bytes are copied faster than it takes to think of it.
constexpr uint64_t least_cut = 64 << 10;
/// Parts of a message: there is memory for their requests before any of them begins.
constexpr uint64_t most_parts = 32;
constexpr uint64_t mark_of_head = 0x9d7bc1f5a83e2046;

} // namespace

/// Also where less is expected than is ever cut, for more may come.
bool MpiTransport::may_have_parts(int peer, uint64_t bytes) const {
    return costs_ != nullptr && tags_.part >= 0 && bytes >= sizeof(Parts::Head) &&
           topology_.node_of(peer) != node_;
}

size_t MpiTransport::requests_of(int peer, uint64_t bytes) const {
    return may_have_parts(peer, bytes) && bytes >= least_cut ? 1 + most_parts : 1;
}

/// Parts of one rank's messages are told apart by their order, so of several messages to a rank one
/// is cut; and its head must not overtake others.
bool MpiTransport::is_cut(const HeldSend& send) const {
    const uint64_t bytes = exchange_.outgoing[send.item].bytes;
    return may_have_parts(send.peer, bytes) && bytes >= least_cut &&
           !is_behind_another(send.peer) &&
           std::none_of(cut_sends_.begin(), cut_sends_.end(),
                        [&](const HeldSend& other) { return other.peer == send.peer; });
}

/// False, or throws, where nothing of it has begun.
bool MpiTransport::send_in_parts(const HeldSend& send, ByHost& held) {
    const uint64_t bytes = exchange_.outgoing[send.item].bytes;
    const uint64_t size =
        std::max(best_overlapping(bytes, *costs_), (bytes + most_parts - 1) / most_parts);
    if (size >= bytes) { return false; }
    Parts parts;
    parts.head = {mark_of_head, bytes, size};
    if (!fetch_part(send, held, 0, parts)) { return false; }
    parts.count = static_cast<uint32_t>((bytes + size - 1) / size);
    parts.sound = 1;
    held.parts = parts;
    cut_sends_.push_back(send);
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = mpi.Isend(&held.parts.head, sizeof(Parts::Head), MPI_BYTE, send.peer,
                               tags_.direct, comm_, &request);
    part_begun(code, request, {send.step, -1, false, 0}, held.parts);
    guarded([&] {
        for (uint32_t part = 1; part < held.parts.count; ++part) {
            copies_.begin(); // each has an end of its own
            if (!fetch_part(send, held, part, held.parts)) { throw std::bad_alloc(); }
            ++held.parts.sound;
        }
    });
    return true;
}

/// False: it cannot be on its way while others are.
bool MpiTransport::fetch_part(const HeldSend& send, ByHost& held, uint32_t part,
                              const Parts& parts) {
    const UserMemory& memory = exchange_.outgoing[send.item];
    const uint64_t begin = parts.begin_of(part);
    const auto to = reinterpret_cast<uintptr_t>(held.bytes.data() + begin);
    if (memory.dense_on_device == nullptr) {
        return copy_in_runs(
            memory,
            {device::Direction::to_host, to, 0, parts.bytes_of(part), nullptr, nullptr, begin},
            send.step);
    }
    const auto from = reinterpret_cast<uintptr_t>(memory.dense_on_device + begin);
    copy_later(memory, {device::Direction::to_host, to, from, parts.bytes_of(part), nullptr},
               send.step);
    return true;
}

/// For parts that there was no memory for, nothing: the receiver waits for them in any case.
void MpiTransport::send_parts_up_to(ByHost& held, const HeldSend& send, uint32_t end) {
    Parts& parts = held.parts;
    while (parts.sent < end) {
        const uint32_t part = parts.sent++;
        MPI_Request request = MPI_REQUEST_NULL;
        int code = MPI_ERR_NO_MEM;
        guarded([&] {
            const Elements elements(part < parts.sound ? parts.bytes_of(part) : 0);
            code = mpi.Isend(held.bytes.data() + parts.begin_of(part), elements.count(),
                             elements.type(), send.peer, tags_.part, comm_, &request);
        });
        part_begun(code, request, {send.step, -1, false, static_cast<int>(part)}, parts);
    }
}

void MpiTransport::part_begun(int code, MPI_Request request, const Pending& pending, Parts& parts) {
    if (code == MPI_SUCCESS) {
        requests_.push_back(request);
        pending_.push_back(pending);
        return;
    }
    fail(code);
    parts.has_failed = true;
    ++parts.over;
}

/// If that is what has come.
bool MpiTransport::receive_parts(const FinishedStep& head, int peer) {
    if (head.failed || head.bytes != sizeof(Parts::Head)) { return false; }
    const auto found = by_host_.find(head.step);
    if (found == by_host_.end() || found->second.to == nullptr) { return false; }
    ByHost& held = found->second;
    const std::byte* const from = held.bytes.data() == nullptr ? held.to->dense : held.bytes.data();
    Parts parts;
    std::memcpy(&parts.head, from, sizeof parts.head);
    if (!may_have_parts(peer, held.to->bytes) || parts.head.mark != mark_of_head) { return false; }
    parts.count = static_cast<uint32_t>((parts.head.bytes + parts.head.size - 1) / parts.head.size);
    held.parts = parts;
    if (parts.head.bytes > held.to->bytes) {
        fail(MPI_ERR_TRUNCATE);
        held.parts.has_failed = true;
    }
    for (uint32_t part = 0; part < parts.count; ++part) {
        receive_part(held, part, peer, head.step);
    }
    end_of_parts(held, head.step);
    return true;
}

void MpiTransport::receive_part(ByHost& held, uint32_t part, int peer, uint32_t step) {
    Parts& parts = held.parts;
    const uint64_t bytes = parts.bytes_of(part);
    std::byte* const to = held.bytes.data() == nullptr ? held.to->dense : held.bytes.data();
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_ERR_NO_MEM;
    guarded([&] {
        if (parts.head.bytes > held.to->bytes) {
            code = receive_and_forget(bytes, peer, tags_.part, &request);
            return;
        }
        const Elements elements(bytes);
        code = mpi.Irecv(to + parts.begin_of(part), elements.count(), elements.type(), peer,
                         tags_.part, comm_, &request);
    });
    part_begun(code, request, {step, peer, false, static_cast<int>(part)}, parts);
}

void MpiTransport::end_part(const Pending& pending, const FinishedStep& message) {
    ByHost& held = by_host_.at(pending.step);
    Parts& parts = held.parts;
    ++parts.over;
    const auto part = static_cast<uint32_t>(pending.part);
    const bool is_received = pending.source >= 0;
    const bool is_whole = !is_received || message.bytes == parts.bytes_of(part);
    parts.has_failed = parts.has_failed || message.failed || !is_whole;
    if (is_received && !parts.has_failed && held.to->dense_on_device != nullptr) {
        guarded([&] {
            const uint64_t begin = parts.begin_of(part);
            copy_later(*held.to,
                       {device::Direction::to_device,
                        reinterpret_cast<uintptr_t>(held.to->dense_on_device + begin),
                        reinterpret_cast<uintptr_t>(held.bytes.data() + begin), message.bytes,
                        nullptr},
                       pending.step);
            ++parts.copying;
        });
    }
    end_of_parts(held, pending.step);
}

/// False: it was the copy of all of them.
bool MpiTransport::end_copy_of_part(ByHost& held, uint32_t step) {
    Parts& parts = held.parts;
    if (held.to != nullptr) {
        if (parts.copying == 0) { return false; }
        --parts.copying;
    } else {
        const auto send = std::find_if(cut_sends_.begin(), cut_sends_.end(),
                                       [&](const HeldSend& one) { return one.step == step; });
        const uint32_t come = parts.sent + 1;
        send_parts_up_to(held, *send, come == parts.sound ? parts.count : come);
    }
    end_of_parts(held, step);
    return true;
}

/// If that is where it is.
void MpiTransport::end_of_parts(ByHost& held, uint32_t step) {
    Parts& parts = held.parts;
    const uint32_t messages = parts.count + (held.to == nullptr ? 1 : 0);
    if (parts.over < messages || parts.copying > 0) { return; }
    const bool goes_on = held.to != nullptr && held.bytes.data() != nullptr &&
                         held.to->dense_on_device == nullptr && !parts.has_failed;
    if (goes_on) {
        held.size = parts.head.bytes;
        bool is_over = true;
        guarded([&] { is_over = deliver(held, step); });
        if (!is_over) { return; } // end_copy()
    }
    if (!parts.is_told) { untold_.push_back({step, parts.head.bytes, parts.has_failed}); }
    by_host_.erase(step);
}

} // namespace nodeaware
