#include "tests/unit/handover/world.hpp"

#include <cstring>
#include <set>

namespace nodeaware::handover_test {

bool World::is_pending(size_t i) const {
    if (cancelled_[i]) { return false; }
    if (posted_[i] != nullptr) { return !posted_[i]->is_done; }
    return !network_.requests.at(plain_[i] - 1).is_over;
}

std::vector<std::string> World::steps() const {
    std::vector<std::string> steps;
    if (sent_ < plan_.messages.size()) { steps.emplace_back("send"); }
    if (proposals_ < plan_.proposals && sender_.phase() == Phase::mpi) {
        steps.emplace_back("propose");
    }
    if (!down_.empty()) { steps.emplace_back("receiver is told"); }
    if (!up_.empty()) { steps.emplace_back("sender is told"); }
    if (!native_.empty()) { steps.emplace_back("MPI brings"); }
    for (size_t i = 0; i < library_.size(); ++i) {
        steps.push_back("library " + std::to_string(i));
    }
    if (posted_.size() < plan_.receives.size()) { steps.emplace_back("post"); }
    for (size_t i = 0; cancels_ > 0 && i < posted_.size(); ++i) {
        if (is_pending(i)) { steps.push_back("cancel " + std::to_string(i)); }
    }
    const bool may_leave = questions_ < plan_.questions && sender_.is_by_library() && !is_asked_;
    if (may_leave) { steps.emplace_back("leave"); }
    steps.emplace_back("look");
    return steps;
}

void World::send_by_library(uint32_t kind, const std::vector<int>& content, int tag) {
    const uint64_t bytes = content.size() * sizeof(int);
    const std::shared_ptr<std::byte[]> memory(new std::byte[bytes + 1]);
    if (bytes > 0) { std::memcpy(memory.get(), content.data(), bytes); }
    library_.push_back({{source, tag, sequence_++, kind, bytes}, {memory, memory.get()}});
}

void World::hand_over_if(handover::Sender::Next next) {
    if (next == handover::Sender::Next::give_up) { down_.push_back({wire::given_up, {}, 0}); }
    if (next != handover::Sender::Next::hand_over) { return; }
    send_by_library(wire::handed_over, sender_.tags(), 0);
    used_library_ = true;
}

void World::send() {
    const int number = static_cast<int>(sent_);
    const int tag = plan_.messages[sent_++];
    if (sender_.is_by_library()) { return send_by_library(0, {number}, tag); }
    native_.push_back({number, tag});
    sender_.sent_by_mpi(tag);
    if (sender_.phase() == Phase::answered) { hand_over_if(sender_.look()); }
}

void World::take_note(const wire::Arrived& note) {
    std::vector<int> tags(note.entry.bytes / sizeof(int));
    if (!tags.empty()) { std::memcpy(tags.data(), note.bytes.get(), note.entry.bytes); }
    if (note.entry.flags == wire::handed_over) { return receives_.handed_over(source, tags); }
    if (note.entry.flags == wire::has_left) { return receives_.left(source); }
    const bool is_confirmed = receives_.leave(source);
    const uint64_t told = is_confirmed ? 1 : 0;
    if (is_confirmed || questions_ < plan_.questions) {
        up_.push_back({wire::confirmed, {told, 0}, note.entry.sequence});
    }
}

void World::take_at_receiver() {
    const Note note = down_.front();
    down_.pop_front();
    if (note.kind == wire::given_up) { return receives_.given_up(source); }
    // The same that its communicator looks at: receives of MPI whose message is not known.
    bool is_known = doubts_ == 0;
    for (size_t i = 0; i < posted_.size(); ++i) {
        const bool is_any = posted_[i] == nullptr && plan_.receives[i] == MPI_ANY_TAG;
        if (is_any && !cancelled_[i] && got_[i] < 0) { is_known = false; }
    }
    const auto answer = is_known ? receives_.answer(source) : std::nullopt;
    up_.push_back(answer ? Note{wire::answer, answer->count, 0} : Note{wire::declined, {}, 0});
}

void World::take_at_sender() {
    const Note note = up_.front();
    up_.pop_front();
    if (note.kind == wire::declined) { return sender_.declined(); }
    if (note.kind == wire::answer) { return hand_over_if(sender_.answered(note.count)); }
    is_asked_ = false;
    const bool is_confirmed = note.count.messages != 0;
    if (!is_confirmed || !sender_.confirmed(note.sequence, sequence_)) { return; }
    send_by_library(wire::has_left, {}, 0);
    returned_ = true;
}

void World::deliver(size_t which) {
    const wire::Arrived message = library_[which];
    library_.erase(library_.begin() + static_cast<ptrdiff_t>(which));
    receives_.arrive(message);
}

void World::post() {
    const size_t i = posted_.size();
    const int tag = plan_.receives[i];
    cancelled_.push_back(false);
    plain_.push_back(0);
    eras_.push_back(receives_.era_of(source));
    if (!receives_.concerns(source)) {
        posted_.push_back(nullptr);
        plain_[i] = network_.post(&got_[i], tag);
        if (tag != MPI_ANY_TAG) { receives_.note_posted_in_mpi(source, tag); }
        check_plain();
        return;
    }
    auto receive = std::make_shared<Receive>();
    receive->memory = {&got_[i], 1, MPI_INT, sizeof(int), reinterpret_cast<std::byte*>(&got_[i])};
    receive->source = source;
    receive->tag = tag;
    posted_.push_back(receive);
    receives_.post(receive);
}

/// The application completes receives of MPI with wildcards, and cancelled ones, at once.
void World::check_plain() {
    for (size_t i = 0; i < posted_.size(); ++i) {
        if (posted_[i] != nullptr || plan_.receives[i] != MPI_ANY_TAG || plain_[i] == 0) {
            continue;
        }
        Network::Request& request = network_.requests.at(plain_[i] - 1);
        if (!request.is_over || request.is_gone) { continue; }
        request.is_gone = true;
        if (!request.is_cancelled) {
            receives_.was_not_cancelled_in_mpi(source, request.matched_tag);
        }
    }
}

void World::cancel(size_t i) {
    --cancels_;
    if (posted_[i] != nullptr) {
        cancelled_[i] = receives_.cancel(*posted_[i]);
        return;
    }
    const int tag = plan_.receives[i];
    if (tag != MPI_ANY_TAG && !receives_.may_cancel_in_mpi(source, tag, eras_[i])) { return; }
    Network::Request& request = network_.requests.at(plain_[i] - 1);
    if (plan_.receives[i] != MPI_ANY_TAG) {
        receives_.cancelling_in_mpi(source, plan_.receives[i]);
    }
    request.is_over = request.is_cancelled = request.is_gone = true; // is_pending(): not matched
    cancelled_[i] = true;
}

void World::take(const std::string& step) {
    const auto number = [&] { return std::stoul(step.substr(step.rfind(' ') + 1)); };
    if (step == "send") { return send(); }
    if (step == "post") { return post(); }
    if (step == "look") { return receives_.advance(); }
    if (step == "receiver is told") { return take_at_receiver(); }
    if (step == "sender is told") { return take_at_sender(); }
    if (step.rfind("library", 0) == 0) { return deliver(number()); }
    if (step.rfind("cancel", 0) == 0) { return cancel(number()); }
    if (step == "MPI brings") {
        network_.arrive(native_.front());
        native_.pop_front();
        return check_plain();
    }
    if (step == "leave") {
        ++questions_;
        is_asked_ = true;
        sender_.leave(sequence_);
        return send_by_library(wire::leaves, {}, 0);
    }
    ++proposals_;
    sender_.propose();
    down_.push_back({wire::proposal, {}, 0});
}

std::string World::state() const {
    std::string text;
    const auto add = [&](auto value) { text += std::to_string(static_cast<long>(value)) + ' '; };
    for (const auto value :
         {static_cast<int>(sent_), static_cast<int>(sender_.phase()), static_cast<int>(sequence_),
          cancels_, proposals_, questions_, is_asked_ ? 1 : 0, returned_ ? 1 : 0}) {
        add(value);
    }
    for (const int tag : sender_.tags()) { add(tag); }
    for (const auto* notes : {&down_, &up_}) {
        text += '|';
        for (const Note& note : *notes) {
            add(note.kind);
            add(note.count.messages);
            add(note.sequence);
        }
    }
    text += '|';
    for (const auto& message : native_) { add(message.number); }
    text += '|';
    std::set<uint32_t> under_way;
    for (const auto& message : library_) { under_way.insert(message.entry.sequence); }
    for (const uint32_t sequence : under_way) { add(sequence); }
    text += '|';
    for (const auto& message : network_.unexpected) { add(message.number); }
    for (size_t i = 0; i < posted_.size(); ++i) {
        text += '|';
        add(got_[i]);
        add(cancelled_[i]);
        add(eras_[i]);
        if (posted_[i] == nullptr) { continue; }
        add(posted_[i]->is_done);
        if (posted_[i]->shadow == MPI_REQUEST_NULL) { continue; }
        const Network::Request& shadow = request_of(posted_[i]->shadow);
        add(10 + shadow.is_over + 2 * shadow.is_cancelled);
    }
    return text + (receives_.concerns(source) ? " l" : " m") +
           (receives_.may_come_by_mpi(source, MPI_ANY_TAG) ? "n" : "-");
}

/// A receive gets the first message that no receive before it has got.
std::string World::wrong(bool is_over) const {
    std::set<int> taken;
    for (size_t i = 0; i < posted_.size(); ++i) {
        if (got_[i] >= 0 && !taken.insert(got_[i]).second) { return "a message came twice"; }
        if (cancelled_[i] && got_[i] >= 0) { return "a cancelled receive has a message"; }
    }
    if (!is_over) { return {}; }
    taken.clear();
    for (size_t i = 0; i < posted_.size(); ++i) {
        if (cancelled_[i]) { continue; }
        int expected = -1;
        for (size_t k = plan_.messages.size(); k-- > 0;) {
            const bool fits =
                plan_.receives[i] == MPI_ANY_TAG || plan_.receives[i] == plan_.messages[k];
            if (fits && taken.count(static_cast<int>(k)) == 0) { expected = static_cast<int>(k); }
        }
        taken.insert(expected);
        if (got_[i] != expected || (expected >= 0 && is_pending(i))) {
            return "receive " + std::to_string(i) + " has message " + std::to_string(got_[i]) +
                   " for " + std::to_string(expected);
        }
    }
    return {};
}

} // namespace nodeaware::handover_test
