#include "runtime/mpi/errors_return.hpp"
#include "runtime/point_to_point/receives.hpp"
#include "runtime/point_to_point/withdraw.hpp"

#include <algorithm>

/// What MPI does for receives.
namespace nodeaware {

/// The message that a receive meets is known by number if it names source and tag and no receive
/// before it may take it.
void Receives::open(uint64_t above) {
    if (payloads_ == nullptr) { return; }
    std::map<Channel, uint32_t> before;
    std::vector<const Receive*> wildcards;
    std::vector<const Receive*> uncertain; // MPI may be about to give them a message
    for (const auto& receive : by_mpi_) {
        if (!receive->is_answered) { uncertain.push_back(receive.get()); }
    }
    if (doubtful_) { uncertain.push_back(doubtful_->receive.get()); }
    for (const auto& receive : posted_) {
        if (receive->has_wildcards()) {
            wildcards.push_back(receive.get());
            continue;
        }
        const Channel channel{receive->source, receive->tag};
        const uint32_t ahead = before[channel]++;
        const auto may_take = [&](const Receive* other) {
            return other->accepts(channel.first, channel.second);
        };
        const bool is_certain = from_before(channel) == 0 &&
                                std::none_of(wildcards.begin(), wildcards.end(), may_take) &&
                                std::none_of(uncertain.begin(), uncertain.end(), may_take);
        if (receive->payload != MPI_REQUEST_NULL || receive->memory.bytes <= above || !is_certain ||
            ahead >= payloads_->tags().window(receive->tag) / 2) {
            continue;
        }
        receive->number = matched_on_[channel] + ahead;
        const auto tag = payload_tag(receive->source, receive->tag, receive->number);
        if (!tag) { continue; }
        receive->payload_tag = *tag;
        begin_payload(*receive);
    }
    if (!wildcards.empty()) { catch_payloads(wildcards, before, above); }
}

std::vector<wire::Entry> Receives::announcements() {
    std::map<Channel, uint32_t> posted;
    for (const auto& receive : posted_) {
        if (receive->has_wildcards() || !receiver(receive->source).is_by_library()) { continue; }
        ++posted[{receive->source, receive->tag}];
    }
    // Matched, which cannot be acknowledged yet.
    for (const wire::Entry& entry : to_acknowledge_) { posted[{entry.source, entry.tag}]; }
    std::vector<wire::Entry> entries;
    for (const auto& [channel, count] : posted) {
        const uint32_t total = matched_on_[channel] + count - std::min(count, from_before(channel));
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
    if (!is_open_mpi()) { return has_ended(&receive.shadow, code, status); }
    int flag = 0;
    MPI_CALL(Request_get_status, receive.shadow, &flag, MPI_STATUS_IGNORE);
    if (flag == 0) { return false; }
    std::optional<ErrorsReturn> errors_return;
    if (receive.comm != MPI_COMM_NULL) { errors_return.emplace(receive.comm); }
    return has_ended(&receive.shadow, code, status);
}

void Receives::advance() {
    if (payloads_ != nullptr) { payloads_->catch_all().advance(); }
    if (doubtful_ || !receiving_.empty()) { is_flushed_ = false; }
    if (doubtful_) { settle_doubt(); }
    if (!receiving_.empty()) { check_payloads(); }
    if (shadows_ > 0) { check_shadows(); }
}

void Receives::check_payloads() {
    const CompletionErrorsReturn errors_return;
    std::erase_if(receiving_, [&](const std::shared_ptr<Receive>& receive) {
        const auto caught =
            payloads_->catch_all().take(world(receive->actual_source), receive->payload_tag);
        if (caught) {
            give_bytes(caught->get(), *receive);
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
        if (code != MPI_SUCCESS) {
            receive->error = code;
        } else if (receive->packed_payload != nullptr) {
            unpack(receive->packed_payload.get(), *receive);
        }
        receive->finish();
        return true;
    });
}

void Receives::check_shadows() {
    const CompletionErrorsReturn errors_return;
    std::vector<std::shared_ptr<Receive>> over;
    const auto is_over = [&](const std::shared_ptr<Receive>& receive) {
        MPI_Status status;
        int code = MPI_SUCCESS;
        if (receive->shadow == MPI_REQUEST_NULL || !shadow_has_ended(*receive, &code, &status)) {
            return false;
        }
        --shadows_;
        over.push_back(receive);
        close_payload(*receive);
        receive->take_outcome(code, status);
        if (receive->packed_shadow != nullptr && code == MPI_SUCCESS) {
            unpack(receive->packed_shadow.get(), *receive);
        }
        receive->finish();
        return true;
    };
    posted_.remove_if(is_over);
    std::erase_if(by_mpi_, is_over);
    for (const auto& receive : over) {
        if (!receive->is_cancelled) {
            matched_by_mpi(*receive);
        } else if (receive->is_answered) {
            cancelling_in_mpi(receive->source, receive->tag);
        } else if (!receive->has_wildcards()) {
            receiver(receive->source).taken_back(receive->tag);
        }
    }
    if (over.empty()) { return; }
    is_flushed_ = false;
    sort_again();
}

/// Which may be what messages of the library have waited for.
void Receives::matched_by_mpi(const Receive& receive) {
    const int source = receive.source == MPI_ANY_SOURCE ? receive.actual_source : receive.source;
    const int tag = receive.has_any_tag() ? receive.actual_tag : receive.tag;
    if (source < 0 || receive.is_answered) { return; }
    if (receive.has_wildcards()) { receiver(source).posted(tag); }
    if (receiver(source).matched_by_mpi(tag)) { ++matched_on_[{source, tag}]; }
}

void Receives::probed_in_mpi(int source, int tag) {
    handover::Receiver& end = receiver(source);
    end.posted(tag);
    if (end.matched_by_mpi(tag)) { ++matched_on_[{source, tag}]; }
    sort_again();
}

/// Messages of the library that had to wait, after any change of what they wait for.
void Receives::sort_again() {
    const std::set<int> sources = blocked_;
    for (const int source : sources) {
        blocked_.erase(source);
        std::vector<wire::Arrived> messages = unexpected_.take_all(source);
        for (size_t i = 0; i < messages.size(); ++i) {
            try {
                sort_in(std::move(messages[i]));
            } catch (...) { // those behind it must not be lost with it
                for (++i; i < messages.size(); ++i) { unexpected_.add(std::move(messages[i])); }
                blocked_.insert(source);
                throw;
            }
        }
    }
}

void Receives::communicator_freed() {
    for (const auto& receive : posted_) { receive->comm = MPI_COMM_NULL; }
    for (const auto& receive : by_mpi_) { receive->comm = MPI_COMM_NULL; }
    for (const auto& receive : receiving_) { receive->comm = MPI_COMM_NULL; }
    if (doubtful_) { doubtful_->receive->comm = MPI_COMM_NULL; }
}

const wire::Entry* Receives::find(int source, int tag) const {
    const wire::Arrived* const found = find_arrived(source, tag);
    return found == nullptr ? nullptr : &found->entry;
}

std::optional<Receives::Probed> Receives::extract(int source, int tag) {
    const wire::Arrived* const found = find_arrived(source, tag);
    if (found == nullptr) { return std::nullopt; }
    const wire::Entry& entry = found->entry;
    Probed probed{entry, found->bytes, MPI_MESSAGE_NULL};
    if (found->is_straight()) {
        const int straight_tag =
            payload_tag(entry.source, entry.tag, matched_on_[{entry.source, entry.tag}])
                .value_or(0);
        if (const auto caught = payloads_->catch_all().take(world(entry.source), straight_tag)) {
            probed.bytes = *caught;
        } else {
            probed.message = payloads_->probe(world(entry.source), straight_tag);
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

/// As a receive of MPI that was posted before the answer.
bool Receives::cancel_answered(Receive& receive) {
    if (!may_cancel_in_mpi(receive.source, receive.tag, receive.era)) { return false; }
    if (withdraw(&receive.shadow) != Withdrawal::done) { return false; }
    --shadows_;
    std::erase_if(by_mpi_, [&](const auto& kept) { return kept.get() == &receive; });
    receive.is_cancelled = true;
    receive.finish();
    cancelling_in_mpi(receive.source, receive.tag);
    return true;
}

bool Receives::cancel(Receive& receive) {
    is_flushed_ = false;
    if (receive.is_answered && receive.shadow != MPI_REQUEST_NULL) {
        return cancel_answered(receive);
    }
    const auto found = std::find_if(posted_.begin(), posted_.end(), [&](const auto& candidate) {
        return candidate.get() == &receive;
    });
    if (found == posted_.end() || !close_from(found)) { return false; }
    const std::shared_ptr<Receive> kept = *found;
    posted_.erase(found);
    const bool has_shadow = receive.shadow != MPI_REQUEST_NULL;
    const bool is_withdrawn = !has_shadow || withdraw(&receive.shadow) == Withdrawal::done;
    if (!is_withdrawn) {
        by_mpi_.push_back(kept);
        sort_again();
        return false;
    }
    if (has_shadow) { --shadows_; }
    receive.is_cancelled = true;
    receive.finish();
    if (!receive.has_wildcards()) { receiver(receive.source).taken_back(receive.tag); }
    sort_again();
    return true;
}

} // namespace nodeaware
