#include "runtime/point_to_point/receives.hpp"

#include "runtime/mpi/errors_return.hpp"
#include "runtime/point_to_point/withdraw.hpp"

#include <algorithm>

namespace nodeaware {

Receive::~Receive() {
    if (kept_type != MPI_DATATYPE_NULL) { mpi.Type_free(&kept_type); }
}

void Receive::take_note(const wire::Entry& entry) {
    actual_source = entry.source;
    actual_tag = entry.tag;
    bytes = std::min(entry.bytes, memory.bytes);
    if (entry.bytes > memory.bytes) { error = MPI_ERR_TRUNCATE; }
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
    if (requests != nullptr && requests->receive_complete(request) && error != MPI_SUCCESS) {
        requests->add_failure(request, {comm, error});
    }
    mpi.Grequest_complete(request);
}

void Receive::take_outcome(int code, const MPI_Status& status) {
    MPI_Count count = 0;
    int cancelled = 0;
    mpi.Get_elements_x(&status, MPI_BYTE, &count);
    mpi.Test_cancelled(&status, &cancelled);
    error = code;
    is_cancelled = cancelled != 0;
    actual_source = status.MPI_SOURCE;
    actual_tag = status.MPI_TAG;
    bytes = static_cast<uint64_t>(std::max<MPI_Count>(count, 0));
}

void Receives::begin_shadow(Receive& receive) {
    const UserMemory memory = memory_to_withdraw(receive.memory, &receive.packed_shadow);
    const int code =
        begin_receive(memory, receive.source, receive.tag, receive.comm, &receive.shadow);
    if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Irecv"); }
    ++shadows_;
}

void Receives::post(const std::shared_ptr<Receive>& receive) {
    is_flushed_ = false;
    if (const wire::Arrived* found = find_arrived(receive->source, receive->tag)) {
        give_withdrawn(unexpected_.take(*found), receive); // never counted, nor posted in MPI
        return;
    }
    note_blocked(*receive);
    if (needs_shadow(receive->source, receive->tag)) { begin_shadow(*receive); }
    posted_.push_back(receive);
    if (receive->has_wildcards()) { return; }
    handover::Receiver& end = receiver(receive->source);
    if (end.phase() != handover::Receiver::Phase::library) { end.posted(receive->tag); }
}

void Receives::arrive(wire::Arrived message) {
    const int source = message.entry.source;
    uint32_t& next = at(source).next_sequence;
    const auto ahead = static_cast<int32_t>(message.entry.sequence - next);
    if (ahead < 0) { return; } // has come before, another way
    if (ahead > 0) {
        early_.emplace(std::pair(source, message.entry.sequence), std::move(message));
        return;
    }
    ++next; // whatever fails, others come after it
    sort_in(std::move(message));
    for (auto early = early_.find({source, next}); early != early_.end();
         early = early_.find({source, next})) {
        wire::Arrived following = std::move(early->second);
        early_.erase(early);
        ++next;
        sort_in(std::move(following));
    }
}

void Receives::sort_in(wire::Arrived message) {
    if (doubtful_) {
        held_.push_back(std::move(message));
        return;
    }
    if (wire::is_note(message.entry)) { return note_(message); }
    if (blocked_.count(message.entry.source) > 0) { // behind others, which it must not overtake
        unexpected_.add(std::move(message));
        return;
    }
    for (auto at = posted_.begin(); at != posted_.end();) {
        const std::shared_ptr<Receive> receive = *at;
        if (!receive->accepts(message.entry.source, message.entry.tag)) {
            ++at;
            continue;
        }
        if (receiver(message.entry.source)
                .must_come_by_mpi_first(receive->tag, receive->has_any_tag())) {
            blocked_.insert(message.entry.source);
            break;
        }
        at = posted_.erase(at); // given to it, or MPI has given it another message
        if (give(message, receive)) { return; }
    }
    unexpected_.add(std::move(message));
}

/// False if MPI has given the receive another message.
bool Receives::give(const wire::Arrived& message, const std::shared_ptr<Receive>& receive) {
    if (!receive->has_wildcards()) {
        receiver(message.entry.source).matched_by_library(message.entry.tag);
    }
    if (receive->shadow != MPI_REQUEST_NULL) {
        const Withdrawal withdrawal = withdraw(&receive->shadow);
        if (withdrawal == Withdrawal::refused) { by_mpi_.push_back(receive); }
        if (withdrawal == Withdrawal::open) { doubtful_ = {receive, message}; }
        if (withdrawal != Withdrawal::done) { return withdrawal == Withdrawal::open; }
        --shadows_;
    }
    give_withdrawn(message, receive);
    return true;
}

void Receives::settle_doubt() {
    const CompletionErrorsReturn errors_return;
    while (doubtful_) {
        const Withdrawal withdrawal = withdrawal_of(&doubtful_->receive->shadow);
        if (withdrawal == Withdrawal::open) { return; }
        const Doubt settled = std::move(*doubtful_);
        doubtful_.reset();
        if (withdrawal == Withdrawal::done) {
            --shadows_;
            give_withdrawn(settled.message, settled.receive);
        } else {
            by_mpi_.push_back(settled.receive);
            sort_in(settled.message);
        }
        std::deque<wire::Arrived> held;
        held.swap(held_);
        for (wire::Arrived& message : held) { sort_in(std::move(message)); }
    }
}

void Receives::give_withdrawn(const wire::Arrived& message,
                              const std::shared_ptr<Receive>& receive) {
    const wire::Entry& entry = message.entry;
    receive->take_note(entry);
    if (message.is_straight()) {
        receive->number = matched_on_[{entry.source, entry.tag}];
        note_match(entry);
        expect_payload(receive);
        return;
    }
    note_match(entry);
    give_bytes(message.bytes.get(), *receive);
}

/// Its message goes another way: that has met nothing.
void Receives::close_payload(Receive& receive) const {
    if (receive.payload == MPI_REQUEST_NULL) { return; }
    MPI_CALL(Cancel, &receive.payload);
    MPI_CALL(Wait, &receive.payload, MPI_STATUS_IGNORE);
}

/// The bytes of the matched message have come to memory of the library.
void Receives::give_bytes(const std::byte* bytes, Receive& receive) const {
    close_payload(receive);
    unpack(bytes, receive);
    receive.finish();
}

void Receives::unpack(const std::byte* bytes, Receive& receive) const {
    try {
        unpack_part(receive.memory, bytes, receive.bytes, self_);
    } catch (const MpiError& error) { receive.error = error.code; } catch (const std::bad_alloc&) {
        receive.error = MPI_ERR_NO_MEM;
    }
}

/// The receive was matched with a message that goes straight.
void Receives::expect_payload(const std::shared_ptr<Receive>& receive) {
    const int expected = payload_tag(receive->actual_source, receive->actual_tag, receive->number)
                             .value_or(receive->payload_tag);
    if (expected != receive->payload_tag) { close_payload(*receive); } // was opened for another
    receive->payload_tag = expected;
    const auto caught =
        payloads_->catch_all().take(world(receive->actual_source), receive->payload_tag);
    if (caught) { return give_bytes(caught->get(), *receive); }
    if (receive->payload == MPI_REQUEST_NULL) { begin_payload(*receive); }
    receiving_.push_back(receive);
}

void Receives::begin_payload(Receive& receive) const {
    const bool is_matched = receive.actual_source != MPI_ANY_SOURCE;
    const bool is_certain = is_matched && knows_payloads(); // it may be caught otherwise
    receive.packed_payload.reset();
    const UserMemory memory =
        is_certain ? receive.memory : memory_to_withdraw(receive.memory, &receive.packed_payload);
    receive.payload = payloads_->receive(
        memory, world(is_matched ? receive.actual_source : receive.source), receive.payload_tag);
}

void Receives::note_match(const wire::Entry& entry) {
    is_flushed_ = false;
    ++matched_on_[{entry.source, entry.tag}];
    if ((entry.flags & wire::tells_match) != 0) { to_acknowledge_.push_back(entry); }
}

} // namespace nodeaware
