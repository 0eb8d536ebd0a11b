#include "runtime/collectives/mpi_transport.hpp"

#include "runtime/memory/device_copy.hpp"
#include "runtime/memory/elements.hpp"

#include <algorithm>

namespace nodeaware {

namespace {

bool goes_by_host(const UserMemory& memory) {
    return memory.place.is_on_device && !device::mpi_is_aware();
}

} // namespace

void Exchange::clear() {
    traffic.outgoing.clear();
    traffic.incoming.clear();
    outgoing.clear();
    incoming.clear();
    in_place = false;
    staged.clear();
    error = MPI_SUCCESS;
}

void MpiTransport::reserve(size_t requests) {
    requests_.reserve(requests);
    pending_.reserve(requests);
    indices_.reserve(requests);
    statuses_.reserve(requests);
    finished_.reserve(requests);
    failed_to_begin_.reserve(requests);
}

void MpiTransport::fail(int code) {
    if (error_ == MPI_SUCCESS) { error_ = code; }
}

void MpiTransport::mismatch(int peer) {
    fail(MPI_ERR_TRUNCATE);
    const int node = topology_.node_of(peer);
    if (!memory_.given_up(node)) { memory_.give_up(node); }
}

int MpiTransport::discard_stray(int tag, const std::function<bool(int)>& will_come) {
    int source = -1;
    guarded([&] {
        int found = 0;
        MPI_Status status;
        MPI_CALL(Iprobe, MPI_ANY_SOURCE, tag, comm_, &found, &status);
        if (found == 0 || will_come(status.MPI_SOURCE)) { return; }
        int bytes = 0;
        MPI_CALL(Get_count, &status, MPI_BYTE, &bytes);
        bytes = std::max(bytes, 0);
        std::vector<std::byte> forgotten(static_cast<size_t>(bytes));
        MPI_CALL(Recv, forgotten.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm_,
                 MPI_STATUS_IGNORE);
        source = status.MPI_SOURCE;
    });
    return source;
}

void MpiTransport::cancel_given_up() {
    const uint32_t now = memory_.given_up_count();
    if (now == seen_given_up_) { return; }
    seen_given_up_ = now;
    for (size_t i = 0; i < requests_.size(); ++i) {
        if (pending_[i].source < 0 || !is_given_up(pending_[i].source)) { continue; }
        fail(MPI_ERR_TRUNCATE);
        guarded([&] { MPI_CALL(Cancel, &requests_[i]); });
    }
}

void MpiTransport::pack(uint32_t item, uint64_t offset, uint64_t bytes, std::byte* to) {
    const UserMemory& memory = exchange_.outgoing[item];
    guarded([&] {
        if (copy_from(memory, offset, bytes, to)) { return; }
        if (bytes == memory.bytes) { return pack_user_memory(memory, to, comm_); }
        Staged& staged = staged_outgoing_[item];
        if (staged.bytes.empty()) {
            staged.bytes.resize(memory.bytes);
            pack_user_memory(memory, staged.bytes.data(), comm_);
        }
        std::copy_n(staged.bytes.data() + offset, bytes, to);
        staged.done += bytes;
        if (staged.done == memory.bytes) { staged_outgoing_.erase(item); }
    });
}

void MpiTransport::unpack(uint32_t item, uint64_t offset, uint64_t bytes, const std::byte* from) {
    const UserMemory& memory = exchange_.incoming[item];
    guarded([&] {
        if (copy_to(memory, offset, bytes, from)) { return; }
        if (bytes == memory.bytes) { return unpack_user_memory(memory, from, comm_); }
        Staged& staged = staged_incoming_[item];
        if (staged.bytes.empty()) { staged.bytes.resize(memory.bytes); }
        std::copy_n(from, bytes, staged.bytes.data() + offset);
        staged.done += bytes;
        if (staged.done == memory.bytes) {
            unpack_user_memory(memory, staged.bytes.data(), comm_);
            staged_incoming_.erase(item);
        }
    });
}

void MpiTransport::copy(uint32_t item, uint32_t other_item, uint64_t bytes) {
    const UserMemory& from = exchange_.outgoing[item];
    const UserMemory& to = exchange_.incoming[other_item];
    if (from.dense != nullptr) {
        unpack(other_item, 0, bytes, from.dense);
    } else if (to.dense != nullptr) {
        pack(item, 0, bytes, to.dense);
    } else {
        guarded([&] {
            if (copy_within_device(from, to, bytes)) { return; }
            std::vector<std::byte> buffer(from.bytes);
            pack_user_memory(from, buffer.data(), comm_);
            unpack(other_item, 0, bytes, buffer.data());
        });
    }
}

void MpiTransport::begun(int code, MPI_Request request, const Pending& pending) {
    if (code != MPI_SUCCESS) {
        fail(code);
        failed_to_begin_.push_back({pending.step, 0, true});
        return;
    }
    requests_.push_back(request);
    pending_.push_back(pending);
}

void MpiTransport::send(int peer, const std::byte* data, uint64_t bytes, uint32_t step) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int tag = tags_.sent_piece;
    const int code = mpi.Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, comm_, &request);
    begun(code, request, {step, -1});
}

void MpiTransport::send_item(int peer, uint32_t item, uint32_t step) {
    MPI_Request request = MPI_REQUEST_NULL;
    const UserMemory& memory = exchange_.outgoing[item];
    const int code = goes_by_host(memory) ? send_by_host(item, peer, step, &request)
                                          : begin_send(memory, peer, tags_.direct, comm_, &request);
    begun(code, request, {step, -1});
}

/// Begins a message by way of memory on the host: `begin(held, elements)` calls MPI.
template <class Begin> int MpiTransport::by_host(uint64_t bytes, uint32_t step, Begin begin) {
    int code = MPI_ERR_NO_MEM;
    guarded([&] {
        ByHost& held = by_host_[step];
        held.bytes = device::HostMemory(bytes);
        code = begin(held, Elements(bytes));
    });
    return code;
}

/// The receiver waits for the message, so it is sent even if its bytes could not be had.
int MpiTransport::send_by_host(uint32_t item, int peer, uint32_t step, MPI_Request* request) {
    const UserMemory& memory = exchange_.outgoing[item];
    return by_host(memory.bytes, step, [&](ByHost& held, const Elements& elements) {
        guarded([&] {
            held.bytes.pin(memory.place);
            pack_user_memory(memory, held.bytes.data(), comm_);
        });
        return mpi.Isend(held.bytes.data(), elements.count(), elements.type(), peer, tags_.direct,
                         comm_, request);
    });
}

void MpiTransport::receive(int peer, std::byte* to, uint64_t capacity, uint32_t step) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int source = tags_.by_node ? MPI_ANY_SOURCE : peer;
    const int tag = tags_.by_node ? tags_.first_node + topology_.node_of(peer) : tags_.sent_piece;
    const int code = is_given_up(peer) ? MPI_ERR_TRUNCATE
                                       : mpi.Irecv(to, static_cast<int>(capacity), MPI_BYTE, source,
                                                   tag, comm_, &request);
    begun(code, request, {step, peer});
}

void MpiTransport::receive_item(int peer, uint32_t item, uint32_t step) {
    MPI_Request request = MPI_REQUEST_NULL;
    const UserMemory& memory = exchange_.incoming[item];
    const int code = is_given_up(peer) ? MPI_ERR_TRUNCATE
                     : goes_by_host(memory)
                         ? receive_by_host(item, peer, step, &request)
                         : begin_receive(memory, peer, tags_.direct, comm_, &request);
    begun(code, request, {step, peer});
}

int MpiTransport::receive_by_host(uint32_t item, int peer, uint32_t step, MPI_Request* request) {
    const UserMemory& memory = exchange_.incoming[item];
    return by_host(memory.bytes, step, [&](ByHost& held, const Elements& elements) {
        held.to = &memory;
        guarded([&] { held.bytes.pin(memory.place); });
        return mpi.Irecv(held.bytes.data(), elements.count(), elements.type(), peer, tags_.direct,
                         comm_, request);
    });
}

void MpiTransport::end_by_host(const MPI_Status& status, FinishedStep& finished) {
    const auto found = by_host_.find(finished.step);
    if (found == by_host_.end()) { return; }
    const ByHost by_host = std::move(found->second);
    by_host_.erase(found);
    if (by_host.to == nullptr || finished.failed) { return; }
    guarded([&] {
        MPI_Count bytes = 0;
        MPI_CALL(Get_elements_x, &status, MPI_BYTE, &bytes);
        unpack_part(*by_host.to, by_host.bytes.data(), static_cast<uint64_t>(bytes), comm_);
    });
}

FinishedStep MpiTransport::finished_step(const Pending& pending, const MPI_Status& status,
                                         bool has_error) {
    FinishedStep finished{pending.step, 0, has_error && status.MPI_ERROR != MPI_SUCCESS};
    if (finished.failed) { fail(status.MPI_ERROR); }
    if (pending.source < 0) { return finished; } // the status of a send says no more
    int cancelled = 0;
    if (mpi.Test_cancelled(&status, &cancelled) == MPI_SUCCESS && cancelled != 0) {
        finished.failed = true;
    }
    int bytes = 0;
    if (!finished.failed && mpi.Get_count(&status, MPI_BYTE, &bytes) == MPI_SUCCESS &&
        bytes != MPI_UNDEFINED) {
        finished.bytes = static_cast<uint64_t>(bytes);
    }
    return finished;
}

std::span<const FinishedStep> MpiTransport::poll() {
    finished_.clear();
    finished_.swap(failed_to_begin_);
    if (requests_.empty()) { return finished_; }
    const auto count = requests_.size();
    indices_.resize(count);
    statuses_.resize(count);
    int done = 0;
    const int code = mpi.Testsome(static_cast<int>(count), requests_.data(), &done, indices_.data(),
                                  statuses_.data());
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
        fail(code); // nothing is known of the requests any more: give up on them all
        for (const Pending& pending : pending_) { finished_.push_back({pending.step, 0, true}); }
        requests_.clear();
        pending_.clear();
        return finished_;
    }
    for (int i = 0; i < done; ++i) {
        const Pending& pending = pending_[static_cast<size_t>(indices_[static_cast<size_t>(i)])];
        const MPI_Status& status = statuses_[static_cast<size_t>(i)];
        finished_.push_back(finished_step(pending, status, code == MPI_ERR_IN_STATUS));
        end_by_host(status, finished_.back());
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
        if (requests_[i] == MPI_REQUEST_NULL) { continue; }
        requests_[kept] = requests_[i];
        pending_[kept++] = pending_[i];
    }
    requests_.resize(kept);
    pending_.resize(kept);
    return finished_;
}

} // namespace nodeaware
