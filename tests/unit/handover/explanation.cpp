#include "tests/unit/handover/explanation.hpp"

#include <algorithm>

namespace nodeaware::handover_test {

namespace {

struct Moment {
    std::vector<size_t> arrived; ///< by source
    size_t act = 0;
    struct Waiting {
        size_t receive;
        Pattern pattern;
    };
    std::vector<Waiting> waiting;
    std::vector<Network::Message> unexpected;
    size_t matched = 0; ///< receives with the message that they have got
};

class Search {
  public:
    explicit Search(const Seen& seen)
        : seen_(seen),
          to_match_(static_cast<size_t>(std::count_if(seen.got.begin(), seen.got.end(),
                                                      [](int number) { return number >= 0; }))) {}
    bool from(const Moment& moment) const;

  private:
    bool match(Moment& moment, size_t receive, const Network::Message& message) const;
    bool arrive(Moment& moment, size_t source) const;
    static std::vector<Network::Message> candidates(const Moment& moment, const Pattern& pattern);
    bool act(Moment moment) const;

    const Seen& seen_;
    size_t to_match_;
};

/// What is under way may have been matched by MPI, though the program has not seen it.
bool Search::match(Moment& moment, size_t receive, const Network::Message& message) const {
    const int got = seen_.got[receive];
    if (got < 0) { return !seen_.is_over; }
    ++moment.matched;
    return got == message.number;
}

bool Search::arrive(Moment& moment, size_t source) const {
    const Network::Message& message = seen_.sent[source][moment.arrived[source]++];
    const auto first = std::find_if(moment.waiting.begin(), moment.waiting.end(),
                                    [&](const Moment::Waiting& waiting) {
                                        return waiting.pattern.accepts(message.source, message.tag);
                                    });
    if (first == moment.waiting.end()) {
        moment.unexpected.push_back(message);
        return true;
    }
    const size_t receive = first->receive;
    moment.waiting.erase(first);
    return match(moment, receive, message);
}

/// Which of the sources that have something for it a receive looks at first is MPI's to choose.
std::vector<Network::Message> Search::candidates(const Moment& moment, const Pattern& pattern) {
    std::vector<Network::Message> first;
    for (const Network::Message& message : moment.unexpected) {
        const bool is_later =
            std::any_of(first.begin(), first.end(), [&](const Network::Message& other) {
                return other.source == message.source;
            });
        if (!is_later && pattern.accepts(message.source, message.tag)) { first.push_back(message); }
    }
    return first;
}

/// The next act, and what comes after it.
bool Search::act(Moment moment) const {
    const Act& act = seen_.acts[moment.act++];
    const auto waits = std::find_if(
        moment.waiting.begin(), moment.waiting.end(),
        [&](const Moment::Waiting& waiting) { return waiting.receive == act.receive; });
    if (act.kind == Act::Kind::cancel) {
        if (waits == moment.waiting.end()) { return false; }
        moment.waiting.erase(waits);
        return from(moment);
    }
    if (act.kind == Act::Kind::refused) { return waits == moment.waiting.end() && from(moment); }
    const std::vector<Network::Message> found = candidates(moment, act.pattern);
    if (act.kind == Act::Kind::probe) {
        const bool is_right =
            std::any_of(found.begin(), found.end(), [&](const Network::Message& message) {
                return message.source == act.source && message.tag == act.tag;
            });
        return (act.has_found ? is_right : found.empty()) && from(moment);
    }
    if (found.empty()) {
        moment.waiting.push_back({act.receive, act.pattern});
        return act.kind == Act::Kind::post && from(moment);
    }
    return std::any_of(found.begin(), found.end(), [&](const Network::Message& message) {
        Moment next = moment;
        std::erase_if(next.unexpected, [&](const Network::Message& other) {
            return other.number == message.number;
        });
        return match(next, act.receive, message) && from(next);
    });
}

bool Search::from(const Moment& moment) const {
    bool has_come = true;
    for (size_t i = 0; i < seen_.sent.size(); ++i) {
        has_come = has_come && moment.arrived[i] == seen_.sent[i].size();
    }
    const size_t left = seen_.acts.size() - moment.act;
    if (left == 0 && moment.matched == to_match_ && (has_come || !seen_.is_over)) { return true; }
    for (size_t i = 0; i < seen_.sent.size(); ++i) {
        if (moment.arrived[i] == seen_.sent[i].size()) { continue; }
        Moment next = moment;
        if (arrive(next, i) && from(next)) { return true; }
    }
    if (left == 0 || (left == 1 && seen_.is_over && !has_come)) { return false; }
    return act(moment);
}

} // namespace

bool is_explained(const Seen& seen) {
    Moment begin;
    begin.arrived.assign(seen.sent.size(), 0);
    return Search(seen).from(begin);
}

} // namespace nodeaware::handover_test
