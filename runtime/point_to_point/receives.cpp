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
    if (error != MPI_SUCCESS && requests != nullptr) {
        requests->add_failure(request, {comm, error});
    }
    mpi.Grequest_complete(request);
}

void Receive::finish_as(int code, const MPI_Status& status) {
    MPI_Count count = 0;
    int cancelled = 0;
    mpi.Get_elements_x(&status, MPI_BYTE, &count);
    mpi.Test_cancelled(&status, &cancelled);
    error = code;
    is_cancelled = cancelled != 0;
    actual_source = status.MPI_SOURCE;
    actual_tag = status.MPI_TAG;
    bytes = static_cast<uint64_t>(std::max<MPI_Count>(count, 0));
    finish();
}

void Receives::post(const std::shared_ptr<Receive>& receive) {
    if (const wire::Arrived* found = unexpected_.find(receive->source, receive->tag)) {
        give(unexpected_.take(*found), receive);
        return;
    }
    if (receive->source == MPI_ANY_SOURCE) {
        const int code = begin_receive(receive->memory, MPI_ANY_SOURCE, receive->tag, receive->comm,
                                       &receive->shadow);
        if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Irecv"); }
        ++shadows_;
    }
    posted_.push_back(receive);
}

void Receives::arrive(wire::Arrived message) {
    const int source = message.entry.source;
    uint32_t& next = next_sequence_[source];
    const auto ahead = static_cast<int32_t>(message.entry.sequence - next);
    if (ahead < 0) { return; } // has come before, another way
    if (ahead > 0) {
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
    if (doubtful_) {
        held_.push_back(std::move(message));
        return;
    }
    for (auto at = posted_.begin(); at != posted_.end();) {
        const std::shared_ptr<Receive> receive = *at;
        if (!receive->accepts(message.entry.source, message.entry.tag)) {
            ++at;
            continue;
        }
        at = posted_.erase(at); // given to it, or MPI has given it another message
        if (give(message, receive)) { return; }
    }
    unexpected_.add(std::move(message));
}

/// False if MPI has given the receive another message.
bool Receives::give(const wire::Arrived& message, const std::shared_ptr<Receive>& receive) {
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
    give_bytes(message.bytes, *receive);
}

/// The bytes of the matched message have come to memory of the library.
void Receives::give_bytes(const wire::Bytes& bytes, Receive& receive) const {
    if (receive.payload != MPI_REQUEST_NULL) { // this message went another way: that met nothing
        MPI_CALL(Cancel, &receive.payload);
        MPI_CALL(Wait, &receive.payload, MPI_STATUS_IGNORE);
    }
    try {
        unpack_part(receive.memory, bytes.get(), receive.bytes, self_);
    } catch (const MpiError& error) { receive.error = error.code; }
    receive.finish();
}

/// The receive was matched with a message that goes straight.
void Receives::expect_payload(const std::shared_ptr<Receive>& receive) {
    receive->payload_tag =
        payloads_.tag(receive->actual_tag, receive->number).value_or(receive->payload_tag);
    const auto caught = payloads_->catch_all().take(receive->actual_source, receive->payload_tag);
    if (caught) { return give_bytes(*caught, *receive); }
    if (receive->payload == MPI_REQUEST_NULL) { begin_payload(*receive); }
    receiving_.push_back(receive);
}

void Receives::begin_payload(Receive& receive) const {
    const bool is_matched = receive.actual_source != MPI_ANY_SOURCE;
    receive.payload = payloads_->receive(
        receive.memory, is_matched ? receive.actual_source : receive.source, receive.payload_tag);
}

void Receives::note_match(const wire::Entry& entry) {
    ++matched_[static_cast<size_t>(entry.source)];
    ++matched_on_[{entry.source, entry.tag}];
    if ((entry.flags & wire::tells_match) != 0) { to_acknowledge_.push_back(entry); }
}

/// The message that a receive meets is known by number if it names source and tag and no receive
/// before it may take it.
void Receives::open(uint64_t above) {
    if (payloads_.window() == 0) { return; }
    std::map<Channel, uint32_t> before;
    std::vector<const Receive*> wildcards;
    for (const auto& receive : posted_) {
        if (receive->has_wildcards()) {
            wildcards.push_back(receive.get());
            continue;
        }
        const Channel channel{receive->source, receive->tag};
        const uint32_t ahead = before[channel]++;
        const bool is_certain =
            std::none_of(wildcards.begin(), wildcards.end(), [&](const Receive* other) {
                return other->accepts(channel.first, channel.second);
            });
        if (receive->payload != MPI_REQUEST_NULL || receive->memory.bytes <= above || !is_certain ||
            ahead >= payloads_.window() / 2) {
            continue;
        }
        receive->number = matched_on_[channel] + ahead;
        const auto tag = payloads_.tag(receive->tag, receive->number);
        if (!tag) { continue; }
        receive->payload_tag = *tag;
        begin_payload(*receive);
    }
    payloads_->catch_all().post(wildcards.size());
}

std::vector<wire::Entry> Receives::announcements() {
    std::map<Channel, uint32_t> posted;
    for (const auto& receive : posted_) {
        if (!receive->has_wildcards()) { ++posted[{receive->source, receive->tag}]; }
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

bool Receives::has_ended(MPI_Request* request, int* code, MPI_Status* status) {
    int flag = 0;
    *code = mpi.Test(request, &flag, status);
    return *code != MPI_SUCCESS || flag != 0;
}

/// The same of a receive on the application's communicator, whose handler is called when the
/// application is told, and not here.
bool Receives::shadow_has_ended(Receive& receive, int* code, MPI_Status* status) {
#ifdef OPEN_MPI
    int flag = 0;
    MPI_CALL(Request_get_status, receive.shadow, &flag, MPI_STATUS_IGNORE);
    if (flag == 0) { return false; }
    std::optional<ErrorsReturn> errors_return;
    if (receive.comm != MPI_COMM_NULL) { errors_return.emplace(receive.comm); }
#endif
    return has_ended(&receive.shadow, code, status);
}

void Receives::advance() {
    if (payloads_.window() > 0) { payloads_->catch_all().advance(); }
    if (doubtful_) { settle_doubt(); }
    if (!receiving_.empty()) { check_payloads(); }
    if (shadows_ > 0) { check_shadows(); }
}

void Receives::check_payloads() {
    const CompletionErrorsReturn errors_return;
    std::erase_if(receiving_, [&](const std::shared_ptr<Receive>& receive) {
        const auto caught =
            payloads_->catch_all().take(receive->actual_source, receive->payload_tag);
        if (caught) {
            give_bytes(*caught, *receive);
            return true;
        }
        MPI_Status status;
        int code = MPI_SUCCESS;
        if (!has_ended(&receive->payload, &code, &status)) { return false; }
        int is_cancelled = 0;
        if (code == MPI_SUCCESS) { MPI_CALL(Test_cancelled, &status, &is_cancelled); }
        if (is_cancelled != 0) { // late, see close_from()
            begin_payload(*receive);
            return false;
        }
        if (code != MPI_SUCCESS) { receive->error = code; }
        receive->finish();
        return true;
    });
}

void Receives::check_shadows() {
    const CompletionErrorsReturn errors_return;
    const auto is_over = [&](const std::shared_ptr<Receive>& receive) {
        MPI_Status status;
        int code = MPI_SUCCESS;
        if (receive->shadow == MPI_REQUEST_NULL || !shadow_has_ended(*receive, &code, &status)) {
            return false;
        }
        --shadows_;
        receive->finish_as(code, status);
        return true;
    };
    posted_.remove_if(is_over);
    std::erase_if(by_mpi_, is_over);
}

void Receives::communicator_freed() {
    for (const auto& receive : posted_) { receive->comm = MPI_COMM_NULL; }
    for (const auto& receive : by_mpi_) { receive->comm = MPI_COMM_NULL; }
    for (const auto& receive : receiving_) { receive->comm = MPI_COMM_NULL; }
    if (doubtful_) { doubtful_->receive->comm = MPI_COMM_NULL; }
}

const wire::Entry* Receives::find(int source, int tag) const {
    const wire::Arrived* const found = unexpected_.find(source, tag);
    return found == nullptr ? nullptr : &found->entry;
}

std::optional<Receives::Probed> Receives::extract(int source, int tag) {
    const wire::Arrived* const found = unexpected_.find(source, tag);
    if (found == nullptr) { return std::nullopt; }
    const wire::Entry& entry = found->entry;
    Probed probed{entry, found->bytes, MPI_MESSAGE_NULL};
    if (found->is_straight()) {
        const int payload_tag =
            payloads_.tag(entry.tag, matched_on_[{entry.source, entry.tag}]).value_or(0);
        if (const auto caught = payloads_->catch_all().take(entry.source, payload_tag)) {
            probed.bytes = *caught;
        } else {
            probed.message = payloads_->probe(entry.source, payload_tag);
            if (probed.message == MPI_MESSAGE_NULL) { return std::nullopt; }
            ++extracted_;
        }
    }
    unexpected_.take(*found);
    note_match(probed.entry);
    return probed;
}

void Receives::receive_extracted(const std::shared_ptr<Receive>& receive) {
    --extracted_;
    receive->payload_tag = -1; // it cannot be caught any more
    receiving_.push_back(receive);
}

bool Receives::has_posted_wildcard() const {
    return std::any_of(posted_.begin(), posted_.end(),
                       [](const auto& receive) { return receive->has_wildcards(); });
}

/// Takes back what is open for this receive and for later ones of its channel, whose messages will
/// have other numbers. False if one of them has met its message: then that of this one is under
/// way, and all stays as it is.
bool Receives::close_from(List::iterator first) {
    std::vector<Receive*> open;
    for (auto at = first; at != posted_.end(); ++at) {
        const bool is_same = (*at)->source == (*first)->source && (*at)->tag == (*first)->tag;
        if (is_same && (*at)->payload != MPI_REQUEST_NULL) { open.push_back(at->get()); }
    }
    for (size_t i = open.size(); i-- > 0;) {
        if (withdraw(&open[i]->payload) == Withdrawal::done) { continue; }
        for (++i; i < open.size(); ++i) { begin_payload(*open[i]); }
        return false;
    }
    return true;
}

bool Receives::cancel(Receive& receive) {
    const auto found = std::find_if(posted_.begin(), posted_.end(), [&](const auto& candidate) {
        return candidate.get() == &receive;
    });
    if (found == posted_.end() || !close_from(found)) { return false; }
    const std::shared_ptr<Receive> kept = *found;
    posted_.erase(found);
    if (receive.shadow != MPI_REQUEST_NULL) {
        if (withdraw(&receive.shadow) != Withdrawal::done) {
            by_mpi_.push_back(kept);
            return false;
        }
        --shadows_;
    }
    receive.is_cancelled = true;
    receive.finish();
    return true;
}

} // namespace nodeaware
