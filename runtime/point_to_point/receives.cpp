#include "runtime/point_to_point/receives.hpp"

#include <climits>

#include <algorithm>

namespace nodeaware {

Receive::~Receive() {
    if (kept_type != MPI_DATATYPE_NULL) { mpi.Type_free(&kept_type); }
}

void Receive::fill(MPI_Status* status) const {
    if (status == MPI_STATUS_IGNORE) { return; }
    mpi.Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(bytes));
    mpi.Status_set_cancelled(status, is_cancelled ? 1 : 0);
    status->MPI_SOURCE = actual_source;
    status->MPI_TAG = actual_tag;
}

void Receive::finish() {
    is_done = true;
    if (request == MPI_REQUEST_NULL) { return; }
    if (error != MPI_SUCCESS && requests != nullptr) {
        requests->add_failure(request, {comm, error});
    }
    mpi.Grequest_complete(request);
}

void Receive::finish_as(int code, const MPI_Status& status) {
    int count = 0;
    mpi.Get_count(&status, MPI_BYTE, &count);
    error = code;
    actual_source = status.MPI_SOURCE;
    actual_tag = status.MPI_TAG;
    bytes = static_cast<uint64_t>(std::max(count, 0));
    finish();
}

void Receives::post(const std::shared_ptr<Receive>& receive) {
    const auto found =
        std::find_if(arrived_.begin(), arrived_.end(),
                     [&](const wire::Arrived& message) { return receive->accepts(message.entry); });
    if (found != arrived_.end() && give(*found, *receive)) {
        arrived_.erase(found);
        return;
    }
    if (!receive->is_done) { posted_.push_back(receive); }
}

void Receives::arrive(wire::Arrived message) {
    const int source = message.entry.source;
    uint32_t& next = next_sequence_[source];
    if (message.entry.sequence != next) {
        early_.emplace(std::pair(source, message.entry.sequence), std::move(message));
        return;
    }
    sort_in(std::move(message));
    ++next;
    for (auto early = early_.find({source, next}); early != early_.end();
         early = early_.find({source, next})) {
        sort_in(std::move(early->second));
        early_.erase(early);
        ++next;
    }
}

void Receives::sort_in(wire::Arrived message) {
    for (auto receive = posted_.begin(); receive != posted_.end();) {
        if (!(*receive)->accepts(message.entry)) {
            ++receive;
            continue;
        }
        const bool taken = give(message, **receive);
        receive = posted_.erase(receive); // done in either case
        if (taken) { return; }
    }
    arrived_.push_back(std::move(message));
}

/// False if MPI has given the receive another message; then it is done as well.
bool Receives::give(const wire::Arrived& message, Receive& receive) {
    if (receive.shadow != MPI_REQUEST_NULL && !withdraw_shadow(receive)) { return false; }
    const wire::Entry& entry = message.entry;
    receive.actual_source = entry.source;
    receive.actual_tag = entry.tag;
    const UserMemory& memory = receive.memory;
    receive.bytes = std::min(entry.bytes, memory.bytes);
    if (entry.bytes > memory.bytes) { receive.error = MPI_ERR_TRUNCATE; }
    if (receive.bytes > 0 && memory.dense != nullptr) {
        std::copy_n(message.bytes(), receive.bytes, memory.dense);
    } else if (receive.bytes > 0) {
        // MPI knows how to fill part of a datatype.
        const int code = mpi.Sendrecv(message.bytes(), static_cast<int>(receive.bytes), MPI_BYTE, 0,
                                      0, memory.address, static_cast<int>(memory.count),
                                      memory.type, 0, 0, self_, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) { receive.error = code; }
    }
    note_match(entry);
    receive.finish();
    return true;
}

void Receives::note_match(const wire::Entry& entry) {
    ++matched_[static_cast<size_t>(entry.source)];
    ++matched_on_[{entry.source, entry.tag}];
    if ((entry.flags & wire::synchronous) != 0) { to_acknowledge_.push_back(entry); }
}

std::vector<wire::Entry> Receives::announcements() {
    std::map<Channel, uint32_t> posted;
    for (const auto& receive : posted_) {
        if (receive->source != MPI_ANY_SOURCE && receive->tag != MPI_ANY_TAG) {
            ++posted[{receive->source, receive->tag}];
        }
    }
    std::vector<wire::Entry> entries;
    for (const auto& [channel, count] : posted) {
        const uint32_t total = matched_on_[channel] + count;
        uint32_t& announced = announced_[channel];
        if (total <= announced) { continue; }
        announced = total;
        // To the source, about messages that it has sent to this rank.
        entries.push_back({channel.first, channel.second, total, wire::announcement, 0});
    }
    return entries;
}

/// True if MPI has not matched the receive and will not.
bool Receives::withdraw_shadow(Receive& receive) {
    MPI_Status status;
    int cancelled = 0;
    mpi.Cancel(&receive.shadow);
    const int code = mpi.Wait(&receive.shadow, &status);
    if (code == MPI_SUCCESS && mpi.Test_cancelled(&status, &cancelled) == MPI_SUCCESS &&
        cancelled != 0) {
        return true;
    }
    receive.finish_as(code, status);
    return false;
}

void Receives::check_shadows() {
    for (auto at = posted_.begin(); at != posted_.end();) {
        Receive& receive = **at;
        int flag = 0;
        MPI_Status status;
        int code = MPI_SUCCESS;
        if (receive.shadow != MPI_REQUEST_NULL) {
            code = mpi.Test(&receive.shadow, &flag, &status);
        }
        if (code == MPI_SUCCESS && flag == 0) {
            ++at;
            continue;
        }
        receive.finish_as(code, status);
        at = posted_.erase(at);
    }
}

const wire::Arrived* Receives::find(int source, int tag) const {
    Receive pattern;
    pattern.source = source;
    pattern.tag = tag;
    const auto found =
        std::find_if(arrived_.begin(), arrived_.end(),
                     [&](const wire::Arrived& message) { return pattern.accepts(message.entry); });
    return found == arrived_.end() ? nullptr : &*found;
}

wire::Arrived Receives::extract(int source, int tag) {
    const wire::Arrived* wanted = find(source, tag);
    const auto found =
        std::find_if(arrived_.begin(), arrived_.end(),
                     [&](const wire::Arrived& message) { return &message == wanted; });
    wire::Arrived message = std::move(*found);
    arrived_.erase(found);
    note_match(message.entry);
    return message;
}

bool Receives::has_posted_wildcard() const {
    return std::any_of(posted_.begin(), posted_.end(), [](const auto& receive) {
        return receive->source == MPI_ANY_SOURCE || receive->tag == MPI_ANY_TAG;
    });
}

bool Receives::cancel(Receive& receive) {
    if (receive.is_done) { return false; }
    const auto found = std::find_if(posted_.begin(), posted_.end(), [&](const auto& candidate) {
        return candidate.get() == &receive;
    });
    if (found == posted_.end()) { return false; }
    const std::shared_ptr<Receive> kept = *found;
    posted_.erase(found);
    if (receive.shadow != MPI_REQUEST_NULL && !withdraw_shadow(receive)) { return false; }
    receive.is_cancelled = true;
    receive.finish();
    return true;
}

} // namespace nodeaware
