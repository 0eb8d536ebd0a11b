#include "tests/unit/handover/world.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace nodeaware::handover_test {

namespace {

constexpr int numbers = 16; ///< of the messages of a source

std::vector<int> members_of(const Plan& plan) {
    std::vector<int> members;
    for (size_t i = 0; i <= plan.sources.size(); ++i) { members.push_back(static_cast<int>(i)); }
    return members;
}

} // namespace

World::World(const Plan& plan)
    : plan_(plan), receives_(MPI_COMM_NULL, members_of(plan), nullptr,
                             [this](const wire::Arrived& note) { take_note(note); }),
      got_(plan.receives.size(), -1), cancels_(plan.cancels) {
    network = &network_;
    for (const Plan::Source& source : plan.sources) {
        ends_.emplace_back();
        ends_.back().source = static_cast<int>(ends_.size());
        ends_.back().plan = source;
    }
}

bool World::is_pending(size_t i) const {
    if (cancelled_[i]) { return false; }
    if (posted_[i] != nullptr) { return !posted_[i]->is_done; }
    return plain_[i] != 0 && !network_.requests.at(plain_[i] - 1).is_over;
}

void World::add_steps(const End& end, std::vector<std::string>& steps) const {
    const std::string whose = ends_.size() == 1 ? "" : " of " + std::to_string(end.source);
    if (end.sent < end.plan.messages.size()) { steps.push_back("send" + whose); }
    if (end.proposals < end.plan.proposals && end.sender.phase() == Phase::mpi) {
        steps.push_back("propose" + whose);
    }
    if (!end.down.empty()) { steps.push_back("receiver is told" + whose); }
    if (!end.up.empty()) { steps.push_back("sender is told" + whose); }
    if (!end.native.empty()) { steps.push_back("MPI brings" + whose); }
    for (size_t i = 0; i < end.library.size(); ++i) {
        steps.push_back("library " + std::to_string(i) + whose);
    }
    const bool may_leave =
        end.questions < end.plan.questions && end.sender.is_by_library() && !end.is_asked;
    if (may_leave) { steps.push_back("leave" + whose); }
}

std::vector<std::string> World::steps() const {
    std::vector<std::string> steps;
    for (const End& end : ends_) { add_steps(end, steps); }
    if (posted_.size() < plan_.receives.size()) {
        const auto kind = plan_.receives[posted_.size()].kind;
        const bool posts = kind == Plan::Receive::Kind::posted || found_;
        steps.emplace_back(posts ? "post" : "probe");
    }
    for (size_t i = 0; cancels_ > 0 && i < posted_.size(); ++i) {
        if (is_pending(i)) { steps.push_back("cancel " + std::to_string(i)); }
    }
    steps.emplace_back("look");
    return steps;
}

Network::Message World::message(const End& end, size_t number) {
    return {numbers * end.source + static_cast<int>(number), end.source, end.plan.messages[number]};
}

void World::send_by_library(End& end, uint32_t kind, const std::vector<int>& content, int tag) {
    const uint64_t bytes = content.size() * sizeof(int);
    const std::shared_ptr<std::byte[]> memory(new std::byte[bytes + 1]);
    if (bytes > 0) { std::memcpy(memory.get(), content.data(), bytes); }
    end.library.push_back({{end.source, tag, end.sequence++, kind, bytes}, {memory, memory.get()}});
}

void World::hand_over_if(End& end, handover::Sender::Next next) {
    if (next == handover::Sender::Next::give_up) { end.down.push_back({wire::given_up, {}, 0}); }
    if (next != handover::Sender::Next::hand_over) { return; }
    send_by_library(end, wire::handed_over, end.sender.tags(), 0);
    used_library_ = true;
}

void World::send(End& end) {
    const Network::Message sent = message(end, end.sent++);
    if (end.sender.is_by_library()) { return send_by_library(end, 0, {sent.number}, sent.tag); }
    end.native.push_back(sent);
    end.sender.sent_by_mpi(sent.tag);
    if (end.sender.phase() == Phase::answered) { hand_over_if(end, end.sender.look()); }
}

void World::take_note(const wire::Arrived& note) {
    const int source = note.entry.source;
    End& end = ends_[static_cast<size_t>(source) - 1];
    std::vector<int> tags(note.entry.bytes / sizeof(int));
    if (!tags.empty()) { std::memcpy(tags.data(), note.bytes.get(), note.entry.bytes); }
    if (note.entry.flags == wire::handed_over) { return receives_.handed_over(source, tags); }
    if (note.entry.flags == wire::has_left) { return receives_.left(source); }
    const bool is_confirmed = receives_.leave(source);
    const uint64_t told = is_confirmed ? 1 : 0;
    if (is_confirmed || end.questions < end.plan.questions) {
        end.up.push_back({wire::confirmed, {told, 0}, note.entry.sequence});
    }
}

void World::take_at_receiver(End& end) {
    const Note note = end.down.front();
    end.down.pop_front();
    if (note.kind == wire::given_up) { return receives_.given_up(end.source); }
    // The same that its communicator looks at: receives of MPI whose message is not known.
    bool is_known = true;
    for (size_t i = 0; i < posted_.size(); ++i) {
        const bool is_any = posted_[i] == nullptr && patterns_[i].has_wildcards();
        if (is_any && !cancelled_[i] && got_[i] < 0) { is_known = false; }
    }
    const auto answer = is_known ? receives_.answer(end.source) : std::nullopt;
    end.up.push_back(answer ? Note{wire::answer, answer->count, 0} : Note{wire::declined, {}, 0});
}

void World::take_at_sender(End& end) {
    const Note note = end.up.front();
    end.up.pop_front();
    if (note.kind == wire::declined) { return end.sender.declined(); }
    if (note.kind == wire::answer) { return hand_over_if(end, end.sender.answered(note.count)); }
    end.is_asked = false;
    const bool is_confirmed = note.count.messages != 0;
    if (!is_confirmed || !end.sender.confirmed(note.sequence, end.sequence)) { return; }
    send_by_library(end, wire::has_left, {}, 0);
    returned_ = true;
}

void World::deliver(End& end, size_t which) {
    const wire::Arrived message = end.library[which];
    end.library.erase(end.library.begin() + static_cast<ptrdiff_t>(which));
    delivered_.push_back(end.source);
    receives_.arrive(message);
}

/// The next of the plan; a probe that finds nothing has changed nothing.
void World::receive() {
    const Plan::Receive& next = plan_.receives[posted_.size()];
    if (next.kind == Plan::Receive::Kind::posted) { return post(next.pattern); }
    if (found_) { return post(*std::exchange(found_, std::nullopt)); }
    const auto found = probe(next.pattern);
    if (!found) { return; }
    if (next.kind == Plan::Receive::Kind::taken) { return take_probed(next.pattern, *found); }
    found_ = found;
    acts_.push_back({Act::Kind::probe, 0, next.pattern, true, found->source, found->tag});
}

/// As MPI_Iprobe does it: source and tag.
std::optional<Pattern> World::probe(const Pattern& pattern) {
    receives_.advance();
    if (const wire::Entry* const found = receives_.find(pattern.source, pattern.tag)) {
        return Pattern{found->source, found->tag};
    }
    if (!receives_.may_come_by_mpi(pattern.source, pattern.tag)) { return std::nullopt; }
    const auto first = network_.probe(pattern);
    if (first == network_.unexpected.end()) { return std::nullopt; }
    return Pattern{first->source, first->tag};
}

/// As MPI_Improbe.
void World::take_probed(const Pattern& pattern, const Pattern& found) {
    const size_t i = posted_.size();
    if (const auto taken = receives_.extract(pattern.source, pattern.tag)) {
        std::memcpy(&got_[i], taken->bytes.get(), sizeof(int));
    } else {
        const auto first = network_.probe(pattern);
        got_[i] = first->number;
        network_.unexpected.erase(first);
        receives_.probed_in_mpi(found.source, found.tag);
    }
    posted_.push_back(nullptr);
    patterns_.push_back(found);
    plain_.push_back(0);
    cancelled_.push_back(false);
    eras_.push_back(0);
    acts_.push_back({Act::Kind::take, i, pattern});
}

void World::post(const Pattern& pattern) {
    const size_t i = posted_.size();
    acts_.push_back({Act::Kind::post, i, pattern});
    patterns_.push_back(pattern);
    cancelled_.push_back(false);
    plain_.push_back(0);
    eras_.push_back(pattern.source == MPI_ANY_SOURCE ? 0 : receives_.era_of(pattern.source));
    if (!receives_.concerns(pattern.source)) {
        posted_.push_back(nullptr);
        plain_[i] = network_.post(&got_[i], pattern);
        if (!pattern.has_wildcards()) { receives_.note_posted_in_mpi(pattern.source, pattern.tag); }
        check_plain();
        return;
    }
    auto receive = std::make_shared<Receive>();
    receive->memory = {&got_[i], 1, MPI_INT, sizeof(int), reinterpret_cast<std::byte*>(&got_[i])};
    receive->source = pattern.source;
    receive->tag = pattern.tag;
    posted_.push_back(receive);
    receives_.post(receive);
}

/// The application completes receives of MPI with wildcards, and cancelled ones, at once.
void World::check_plain() {
    for (size_t i = 0; i < posted_.size(); ++i) {
        if (posted_[i] != nullptr || !patterns_[i].has_wildcards() || plain_[i] == 0) { continue; }
        Network::Request& request = network_.requests.at(plain_[i] - 1);
        if (!request.is_over || request.is_gone) { continue; }
        request.is_gone = true;
        if (!request.is_cancelled) {
            receives_.was_not_cancelled_in_mpi(request.matched_source, request.matched_tag);
        }
    }
}

void World::cancel(size_t i) {
    --cancels_;
    const Pattern& pattern = patterns_[i];
    if (posted_[i] != nullptr) {
        cancelled_[i] = receives_.cancel(*posted_[i]);
    } else if (pattern.has_wildcards() ||
               receives_.may_cancel_in_mpi(pattern.source, pattern.tag, eras_[i])) {
        if (!pattern.has_wildcards()) { receives_.cancelling_in_mpi(pattern.source, pattern.tag); }
        Network::Request& request = network_.requests.at(plain_[i] - 1);
        request.is_over = request.is_cancelled = request.is_gone = true; // is_pending(): no message
        cancelled_[i] = true;
    }
    acts_.push_back({cancelled_[i] ? Act::Kind::cancel : Act::Kind::refused, i, {}});
}

void World::take(const std::string& step) {
    const size_t whose = step.find(" of ");
    const std::string what = step.substr(0, whose);
    End& end = ends_[whose == std::string::npos ? 0 : std::stoul(step.substr(whose + 4)) - 1];
    const auto number = [&] { return std::stoul(what.substr(what.rfind(' ') + 1)); };
    if (what == "send") { return send(end); }
    if (what == "post" || what == "probe") { return receive(); }
    if (what == "look") { return receives_.advance(); }
    if (what == "receiver is told") { return take_at_receiver(end); }
    if (what == "sender is told") { return take_at_sender(end); }
    if (what.rfind("library", 0) == 0) { return deliver(end, number()); }
    if (what.rfind("cancel", 0) == 0) { return cancel(number()); }
    if (what == "MPI brings") {
        network_.arrive(end.native.front());
        end.native.pop_front();
        return check_plain();
    }
    if (what == "leave") {
        ++end.questions;
        end.is_asked = true;
        end.sender.leave(end.sequence);
        return send_by_library(end, wire::leaves, {}, 0);
    }
    ++end.proposals;
    end.sender.propose();
    end.down.push_back({wire::proposal, {}, 0});
}

std::string World::state() const {
    std::string text;
    const auto add = [&](auto value) { text += std::to_string(static_cast<long>(value)) + ' '; };
    for (const End& end : ends_) {
        for (const auto value :
             {static_cast<int>(end.sent), static_cast<int>(end.sender.phase()),
              static_cast<int>(end.sequence), end.proposals, end.questions, end.is_asked ? 1 : 0}) {
            add(value);
        }
        for (const int tag : end.sender.tags()) { add(tag); }
        for (const auto* notes : {&end.down, &end.up}) {
            text += '|';
            for (const Note& note : *notes) {
                add(note.kind);
                add(note.count.messages);
                add(note.sequence);
            }
        }
        text += '|';
        for (const auto& message : end.native) { add(message.number); }
        text += '|';
        std::set<uint32_t> under_way;
        for (const auto& message : end.library) { under_way.insert(message.entry.sequence); }
        for (const uint32_t sequence : under_way) { add(sequence); }
        text += receives_.concerns(end.source) ? " l" : " m";
        text += receives_.may_come_by_mpi(end.source, MPI_ANY_TAG) ? "n|" : "-|";
    }
    add(returned_);
    const auto is_handed_over = [](const End& end) { return end.plan.proposals > 0; };
    if (std::count_if(ends_.begin(), ends_.end(), is_handed_over) > 1) {
        for (const int source : delivered_) { add(source); }
    }
    const wire::Entry* const first = receives_.find(MPI_ANY_SOURCE, MPI_ANY_TAG);
    add(first == nullptr ? 0 : numbers * first->source + static_cast<int>(first->sequence));
    for (const auto& message : network_.unexpected) { add(message.number); }
    text += '|';
    for (const Act& act : acts_) {
        add(act.kind);
        add(act.receive);
        if (act.has_found) { add(numbers * act.source + act.tag); }
    }
    for (size_t i = 0; i < posted_.size(); ++i) {
        text += '|';
        add(got_[i]);
        add(eras_[i]);
        if (posted_[i] == nullptr) { continue; }
        add(posted_[i]->is_done);
        if (posted_[i]->shadow == MPI_REQUEST_NULL) { continue; }
        const Network::Request& shadow = request_of(posted_[i]->shadow);
        add(10 + shadow.is_over + 2 * shadow.is_cancelled);
    }
    return text;
}

/// At the end a probe for anything has to see what is left.
std::string World::wrong(bool is_over) {
    network = &network_; // others may have been made since
    Seen seen;
    for (const End& end : ends_) {
        seen.sent.emplace_back();
        for (size_t i = 0; i < end.sent; ++i) { seen.sent.back().push_back(message(end, i)); }
    }
    seen.acts = acts_;
    seen.got = got_;
    seen.is_over = is_over;
    if (is_over) {
        const Pattern anything{MPI_ANY_SOURCE, MPI_ANY_TAG};
        const auto found = probe(anything);
        seen.acts.push_back({Act::Kind::probe, 0, anything, found.has_value(),
                             found ? found->source : 0, found ? found->tag : 0});
        for (size_t i = 0; i < posted_.size(); ++i) {
            if (got_[i] >= 0 && is_pending(i)) { return "a receive with a message is not over"; }
        }
    }
    if (is_explained(seen)) { return {}; }
    std::string text = "not by the rules of MPI, receives have";
    for (const int number : got_) { text += " " + std::to_string(number); }
    return text;
}

} // namespace nodeaware::handover_test
