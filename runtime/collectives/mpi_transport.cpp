#include "runtime/collectives/mpi_transport.hpp"

#include <algorithm>

namespace nodeaware {

void Exchange::clear() {
    traffic.outgoing.clear();
    traffic.incoming.clear();
    traffic.packs_late = false;
    traffic.slab = 0;
    traffic.readable = 0;
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
    untold_.reserve(requests);
    held_sends_.reserve(requests);
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
        const Pending& pending = pending_[i];
        if (pending.source < 0 || pending.comes_anyway || !is_given_up(pending.source)) {
            continue;
        }
        fail(MPI_ERR_TRUNCATE);
        guarded([&] { MPI_CALL(Cancel, &requests_[i]); });
    }
}

void MpiTransport::begun(int code, MPI_Request request, const Pending& pending) {
    if (code != MPI_SUCCESS) {
        fail(code);
        untold_.push_back({pending.step, 0, true});
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

void MpiTransport::receive(int peer, std::byte* to, uint64_t capacity, uint32_t step) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int source = tags_.by_node ? MPI_ANY_SOURCE : peer;
    const int tag = tags_.by_node ? tags_.first_node + topology_.node_of(peer) : tags_.sent_piece;
    const int code = is_given_up(peer) ? MPI_ERR_TRUNCATE
                                       : mpi.Irecv(to, static_cast<int>(capacity), MPI_BYTE, source,
                                                   tag, comm_, &request);
    begun(code, request, {step, peer});
}

void MpiTransport::send_carrier(int peer, const std::byte* data, uint64_t bytes, uint32_t step) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code =
        mpi.Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, tags_.carrier, comm_, &request);
    begun(code, request, {step, -1});
}

void MpiTransport::receive_carrier(int peer, std::byte* to, uint64_t capacity, uint32_t step) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code =
        mpi.Irecv(to, static_cast<int>(capacity), MPI_BYTE, peer, tags_.carrier, comm_, &request);
    begun(code, request, {step, peer, true});
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
    MPI_Count bytes = 0;
    if (!finished.failed && mpi.Get_elements_x(&status, MPI_BYTE, &bytes) == MPI_SUCCESS &&
        bytes != MPI_UNDEFINED) {
        finished.bytes = static_cast<uint64_t>(bytes);
    }
    return finished;
}

std::span<const FinishedStep> MpiTransport::poll() {
    if (!copies_.empty() || !held_sends_.empty()) { end_copies(); }
    finished_.clear();
    finished_.swap(untold_);
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
        const FinishedStep finished = finished_step(pending, status, code == MPI_ERR_IN_STATUS);
        if (!by_host_.empty() && end_receive_by_host(finished)) { continue; }
        finished_.push_back(finished);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
        if (requests_[i] == MPI_REQUEST_NULL) { continue; }
        requests_[kept] = requests_[i];
        pending_[kept++] = pending_[i];
    }
    requests_.resize(kept);
    pending_.resize(kept);
    copies_.begin();
    return finished_;
}

} // namespace nodeaware
