#include "runtime/point_to_point/message_counts.hpp"
#include "runtime/progress/clock.hpp"

#include <cstring>
#include <utility>

/// What both ends of a connection tell each other.
namespace nodeaware {

namespace {

template <class Value> std::span<const std::byte> bytes_of(const Value& value) {
    return std::as_bytes(std::span(&value, 1));
}

} // namespace

void BatchEngine::count_outgoing(int destination, int by) {
    handed_over_ += by;
    mailboxes_->takes_part(world(destination), by);
}

void BatchEngine::sent_by_mpi(int destination, int tag) {
    handover::Sender& sender = connection(destination).sender;
    sender.sent_by_mpi(tag);
    proposals_.sent();
    if (sender.phase() == handover::Sender::Phase::answered) { go_on(destination, sender.look()); }
}

void BatchEngine::propose(int destination) {
    Connection& known = connection(destination);
    known.sender.propose();
    known.proposed_at = now();
    ++outgoing_connections_;
    ++counts_.proposed;
    proposals_.asked();
    owner_->is_active();
    known.has_told = known.is_synchronous;
    send_note({0, known.is_synchronous ? 1 : 0, 0, wire::proposal, 0}, destination);
}

void BatchEngine::note_synchronous(int destination) {
    Connection& known = connection(destination);
    known.is_synchronous = true;
    ++known.synchronous_sends;
    if (!known.has_told && want_back(known)) { ask_back(true); }
}

/// False: it is MPI's, or was wanted before.
bool BatchEngine::want_back(Connection& known) {
    if (known.sender.phase() == handover::Sender::Phase::mpi) { return false; }
    if (std::exchange(known.wants_back, true)) { return false; }
    ++wanted_back_;
    return true;
}

void BatchEngine::end_connection(Connection& known) {
    if (std::exchange(known.wants_back, false)) { --wanted_back_; }
    --outgoing_connections_;
}

/// Receives with wildcards wait while this rank may block elsewhere: senders that wait, too, cannot
/// be told that they are matched.
void BatchEngine::refuse_synchronous() {
    for (size_t i = 0; i < connections_.size(); ++i) {
        Connection* const known = connections_[i].get();
        const int source = static_cast<int>(i);
        if (known == nullptr || !known->brings_synchronous || known->is_refused) { continue; }
        known->is_refused = true;
        send_note({0, 0, 0, wire::refused, 0}, source);
    }
}

void BatchEngine::leave(uint32_t comparison) {
    comparison_ = comparison;
    for (const auto& known : connections_) {
        if (known != nullptr) { want_back(*known); }
    }
    ask_back(true);
}

/// While the application waits for what it has sent, it is likely that nothing comes between the
/// question and its answer. `also_idle`: connections on which nothing was sent since the last time.
void BatchEngine::ask_back(bool also_idle) {
    for (size_t i = 0; i < connections_.size(); ++i) {
        Connection* const known = connections_[i].get();
        if (known == nullptr || !known->wants_back || known->is_asked_back) { continue; }
        if (!known->sender.is_by_library()) { continue; } // yet
        if (!also_idle && known->sequence == known->asked_at) { continue; }
        const int destination = static_cast<int>(i);
        send_owed(destination);
        known->sender.leave(known->sequence);
        send_numbered(destination, wire::leaves, {}, static_cast<int>(comparison_));
        known->is_asked_back = true;
        known->asked_at = known->sequence;
    }
}

/// In the order of the messages.
void BatchEngine::send_numbered(int destination, uint32_t kind, std::span<const std::byte> bytes,
                                int tag) {
    uint32_t& sequence = connection(destination).sequence;
    send_note({0, tag, sequence, kind, 0}, destination, bytes);
    ++sequence; // what failed leaves no gap
}

void BatchEngine::take_control(const wire::Arrived& note) {
    const wire::Entry& entry = note.entry;
    if (entry.flags == wire::proposal) { return take_proposal(entry.source, entry.tag != 0); }
    if (entry.flags == wire::given_up) { return receives_.given_up(entry.source); }
    if (entry.flags == wire::confirmed) { return take_confirmation(entry); }
    if (entry.flags == wire::refused) { return take_refusal(entry.source); }
    if (entry.flags == wire::asks) { return announce(); }
    if (entry.flags == wire::answer) {
        wire::Answer answer;
        std::memcpy(&answer, note.bytes.get(), sizeof answer);
        return take_answer(entry.source, answer);
    }
    Connection& known = connection(entry.source);
    known.sender.declined();
    end_connection(known);
    ++counts_.declined;
}

void BatchEngine::take_numbered(const wire::Arrived& note) {
    const wire::Entry& entry = note.entry;
    if (entry.flags == wire::handed_over) {
        std::vector<int> tags(entry.bytes / sizeof(int));
        if (!tags.empty()) { std::memcpy(tags.data(), note.bytes.get(), entry.bytes); }
        return receives_.handed_over(entry.source, tags);
    }
    if (entry.flags == wire::has_left) { return receives_.left(entry.source); }
    mailboxes_->join_comparison(static_cast<uint32_t>(entry.tag));
    const int is_confirmed = receives_.leave(entry.source) ? 1 : 0;
    send_note({0, is_confirmed, entry.sequence, wire::confirmed, 0}, entry.source);
}

void BatchEngine::take_proposal(int source, bool is_synchronous) {
    const bool knows_receives = owner_ != nullptr && owner_->knows_receives(is_synchronous);
    const auto answer = knows_receives ? receives_.answer(source) : std::nullopt;
    if (!answer) { return send_note({0, 0, 0, wire::declined, 0}, source); }
    owner_->is_active();
    Connection& known = connection(source);
    known.brings_synchronous = is_synchronous;
    known.is_refused = false;
    const wire::Answer told{answer->count.messages, answer->count.hash, answer->part};
    send_note({0, 0, 0, wire::answer, 0}, source, bytes_of(told));
}

void BatchEngine::take_answer(int source, const wire::Answer& answer) {
    number_anew(source);
    Connection& known = connection(source);
    mailboxes_->note_round_trip(now() - known.proposed_at);
    known.part = static_cast<int>(answer.part);
    go_on(source, known.sender.answered({answer.messages, answer.hash}));
}

/// Messages to this rank are numbered from its answer on.
void BatchEngine::number_anew(int destination) {
    credits_.forget(destination);
    const auto is_there = [&](const auto& entry) { return entry.first.first == destination; };
    std::erase_if(announced_, is_there);
    std::erase_if(awaited_, is_there);
    for (auto& [number, untold] : untold_) {
        if (untold.mark.channel.first == destination) { untold.counts = false; }
    }
}

void BatchEngine::go_on(int destination, handover::Sender::Next next) {
    if (next == handover::Sender::Next::hand_over) { return hand_over(destination); }
    if (next == handover::Sender::Next::wait) { return; }
    end_connection(connection(destination));
    ++counts_.given_up;
    send_note({0, 0, 0, wire::given_up, 0}, destination);
}

void BatchEngine::hand_over(int destination) {
    Connection& known = connection(destination);
    known.owed_tags = known.sender.tags();
    for (const int tag : *known.owed_tags) { credits_.note_sent_by_mpi({destination, tag}); }
    count_outgoing(destination, 1);
    ++counts_.handed_over;
    proposals_.was_accepted();
    send_owed(destination);
}

/// Nothing goes by the library before it.
void BatchEngine::send_owed(int destination) {
    Connection& known = connection(destination);
    if (!known.owed_tags) { return; }
    send_numbered(destination, wire::handed_over, std::as_bytes(std::span(*known.owed_tags)));
    known.owed_tags.reset();
}

void BatchEngine::take_confirmation(const wire::Entry& entry) {
    Connection& known = connection(entry.source);
    known.is_asked_back = false;
    const bool is_confirmed = entry.tag != 0;
    if (!is_confirmed || !known.sender.confirmed(entry.sequence, known.sequence)) { return; }
    send_numbered(entry.source, wire::has_left);
    number_anew(entry.source);
    count_outgoing(entry.source, -1);
    end_connection(known);
    ++counts_.returned;
}

void BatchEngine::take_refusal(int destination) {
    Connection& known = connection(destination);
    if (!want_back(known)) { return; }
    message_counts::add(message_counts::Verdict::returned_risky);
    ask_back(true);
}

} // namespace nodeaware
