// Every interleaving of messages, receives, cancels and notes of one connection, through the code
// that decides what comes by MPI and what by the library, over an MPI of a few lines.

#include "runtime/point_to_point/receives.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>
#include <string>

namespace nodeaware {

namespace {

constexpr int source = 1; ///< the only sender

/// What MPI has on the receiving rank: receives in the order of their posting, messages likewise.
struct Network {
    struct Request {
        int* memory = nullptr;
        int tag = 0; ///< or MPI_ANY_TAG
        bool is_over = false;
        bool is_cancelled = false;
        bool is_gone = false;
        int matched_tag = 0;
    };
    struct Message {
        int number = 0;
        int tag = 0;
    };
    std::deque<Request> requests; ///< a handle is a position plus 1
    std::deque<Message> unexpected;

    static bool accepts(const Request& request, int tag) {
        return !request.is_over && (request.tag == MPI_ANY_TAG || request.tag == tag);
    }
    static void match(Request& request, const Message& message) {
        request.is_over = true;
        request.matched_tag = message.tag;
        *request.memory = message.number;
    }
    void arrive(const Message& message) {
        for (Request& request : requests) {
            if (accepts(request, message.tag)) { return match(request, message); }
        }
        unexpected.push_back(message);
    }
    size_t post(int* memory, int tag) {
        requests.push_back({memory, tag, false, false, false, 0});
        for (auto at = unexpected.begin(); at != unexpected.end(); ++at) {
            if (!accepts(requests.back(), at->tag)) { continue; }
            match(requests.back(), *at);
            unexpected.erase(at);
            break;
        }
        return requests.size();
    }
};
Network* network = nullptr;

MPI_Request handle_of(size_t number) {
    MPI_Request request = MPI_REQUEST_NULL;
    const auto value = static_cast<uintptr_t>(number);
    std::memcpy(&request, &value, sizeof request);
    return request;
}
Network::Request& request_of(MPI_Request handle) {
    uintptr_t value = 0;
    std::memcpy(&value, &handle, sizeof handle);
    return network->requests.at(value - 1);
}

int fake_irecv(void* memory, int /*count*/, MPI_Datatype /*type*/, int /*from*/, int tag,
               MPI_Comm /*comm*/, MPI_Request* request) {
    *request = handle_of(network->post(static_cast<int*>(memory), tag));
    return MPI_SUCCESS;
}
int fake_cancel(MPI_Request* request) {
    Network::Request& kept = request_of(*request);
    if (!kept.is_over) { kept.is_over = kept.is_cancelled = true; }
    return MPI_SUCCESS;
}
int fake_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    const Network::Request& kept = request_of(request);
    *flag = kept.is_over ? 1 : 0;
    if (status == MPI_STATUS_IGNORE || !kept.is_over) { return MPI_SUCCESS; }
    status->MPI_SOURCE = kept.is_cancelled ? MPI_ANY_SOURCE : source;
    status->MPI_TAG = kept.matched_tag;
    status->MPI_ERROR = kept.is_cancelled ? 1 : 0; // for fake_test_cancelled
    return MPI_SUCCESS;
}
int fake_test(MPI_Request* request, int* flag, MPI_Status* status) {
    fake_get_status(*request, flag, status);
    if (*flag != 0) {
        request_of(*request).is_gone = true;
        *request = MPI_REQUEST_NULL;
    }
    return MPI_SUCCESS;
}
int fake_wait(MPI_Request* request, MPI_Status* /*status*/) {
    request_of(*request).is_gone = true;
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}
int fake_test_cancelled(const MPI_Status* status, int* flag) {
    *flag = status->MPI_ERROR;
    return MPI_SUCCESS;
}
int fake_elements(const MPI_Status* /*status*/, MPI_Datatype /*type*/, MPI_Count* count) {
    *count = sizeof(int);
    return MPI_SUCCESS;
}
#ifndef OPEN_MPI
int fake_get_errhandler(MPI_Comm /*comm*/, MPI_Errhandler* /*handler*/) { return MPI_SUCCESS; }
int fake_set_errhandler(MPI_Comm /*comm*/, MPI_Errhandler /*handler*/) { return MPI_SUCCESS; }
int fake_free_errhandler(MPI_Errhandler* /*handler*/) { return MPI_SUCCESS; }
#endif

/// What is to happen: tags of the messages, of the receives (or MPI_ANY_TAG), and so many cancels.
struct Plan {
    std::vector<int> messages;
    std::vector<int> receives;
    int cancels = 0;
    bool goes_back = false;
    int proposals = 1;
};

/// Both ends of a connection, and what is under way between them.
class World {
  public:
    explicit World(const Plan& plan)
        : plan_(plan), receives_(MPI_COMM_NULL, {0, 1}, nullptr,
                                 [this](const wire::Arrived& note) { take_note(note); }) {
        network = &network_;
        cancels_ = plan.cancels;
        got_.assign(plan.receives.size(), -1);
    }
    ~World() {
        for (const auto& receive : posted_) {
            if (receive != nullptr) { receive->shadow = MPI_REQUEST_NULL; }
        }
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// What may happen now, each by a name.
    std::vector<std::string> steps() const;
    void take(const std::string& step);
    /// All that decides what may happen from here on.
    std::string state() const;
    /// What is wrong; empty: nothing. `is_over`: nothing else happens.
    std::string wrong(bool is_over) const;
    bool has_used_library() const { return used_library_; }
    bool has_returned() const { return returned_; }

  private:
    using Phase = handover::Sender::Phase;
    struct Note {
        uint32_t kind = 0;
        handover::Count count;
        uint32_t sequence = 0;
    };

    void send();
    void send_by_library(uint32_t kind, const std::vector<int>& content, int tag);
    void hand_over_if(handover::Sender::Next next);
    void take_note(const wire::Arrived& note);
    void take_at_receiver();
    void take_at_sender();
    void deliver(size_t which);
    void post();
    void cancel(size_t which);
    bool is_pending(size_t i) const;
    void check_plain();

    Plan plan_;
    Network network_;
    handover::Sender sender_;
    Receives receives_;
    std::vector<std::shared_ptr<Receive>> posted_; ///< nullptr: MPI's alone
    std::vector<size_t> plain_;                    ///< request of MPI, 0: none
    std::vector<uint32_t> eras_;                   ///< when it was posted
    std::vector<bool> cancelled_;
    std::vector<int> got_;
    size_t sent_ = 0;
    uint32_t sequence_ = 0;
    int cancels_ = 0;
    int doubts_ = 0;
    std::deque<Note> down_;
    std::deque<Note> up_;
    std::deque<Network::Message> native_;
    std::vector<wire::Arrived> library_;
    int proposals_ = 0;
    bool used_library_ = false;
    bool returned_ = false;
    bool asked_back_ = false;
};

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
    const bool may_leave = plan_.goes_back && sender_.phase() == Phase::library && !asked_back_;
    if (may_leave) { steps.emplace_back("leave"); }
    steps.emplace_back("look");
    return steps;
}

void World::send_by_library(uint32_t kind, const std::vector<int>& content, int tag) {
    const uint64_t bytes = content.size() * sizeof(int);
    const std::shared_ptr<std::byte[]> memory(new std::byte[bytes + 1]);
    std::memcpy(memory.get(), content.data(), bytes);
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
    std::memcpy(tags.data(), note.bytes.get(), note.entry.bytes);
    if (note.entry.flags == wire::handed_over) { return receives_.handed_over(source, tags); }
    if (note.entry.flags == wire::has_left) { return receives_.left(source); }
    if (receives_.leave(source)) { up_.push_back({wire::confirmed, {}, note.entry.sequence}); }
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
    if (!sender_.confirmed(note.sequence, sequence_)) { return; }
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
        asked_back_ = true;
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
          cancels_, proposals_, asked_back_ ? 1 : 0, returned_ ? 1 : 0}) {
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

struct Seen {
    size_t states = 0;
    size_t ends = 0;
    size_t by_library = 0; ///< of these
    size_t returned = 0;
};

/// Visits every state; what went before is done again each time, for the library cannot go back.
class Search {
  public:
    explicit Search(Plan plan) : plan_(std::move(plan)) {}
    std::string run(Seen* seen);

  private:
    std::unique_ptr<World> at(const std::vector<std::string>& path) const {
        auto world = std::make_unique<World>(plan_);
        for (const std::string& step : path) { world->take(step); }
        return world;
    }

    Plan plan_;
};

std::string Search::run(Seen* seen) {
    std::set<std::string> states;
    std::vector<std::vector<std::string>> open = {{}};
    while (!open.empty()) {
        const std::vector<std::string> path = std::move(open.back());
        open.pop_back();
        const auto world = at(path);
        const std::string state = world->state();
        if (!states.insert(state).second) { continue; }
        const std::vector<std::string> steps = world->steps();
        bool is_over = false;
        if (steps == std::vector<std::string>{"look"} ||
            std::all_of(steps.begin(), steps.end(), [](const std::string& step) {
                return step == "look" || step == "propose" || step == "leave" ||
                       step.rfind("cancel", 0) == 0;
            })) {
            world->take("look");
            world->take("look");
            is_over = world->state() == state;
        }
        const std::string wrong = world->wrong(is_over);
        if (!wrong.empty()) {
            std::string text = wrong + ":";
            for (const std::string& step : path) { text += " " + step + ","; }
            return text;
        }
        ++seen->states;
        seen->ends += is_over ? 1 : 0;
        seen->by_library += is_over && world->has_used_library() ? 1 : 0;
        seen->returned += is_over && world->has_returned() ? 1 : 0;
        for (const std::string& step : steps) {
            open.push_back(path);
            open.back().push_back(step);
        }
    }
    return {};
}

class Handover : public ::testing::Test {
  protected:
    void SetUp() override {
        mpi.Irecv = fake_irecv;
        mpi.Cancel = fake_cancel;
        mpi.Request_get_status = fake_get_status;
        mpi.Test = fake_test;
        mpi.Wait = fake_wait;
        mpi.Test_cancelled = fake_test_cancelled;
        mpi.Get_elements_x = fake_elements;
#ifndef OPEN_MPI
        mpi.Comm_get_errhandler = fake_get_errhandler;
        mpi.Comm_set_errhandler = fake_set_errhandler;
        mpi.Errhandler_free = fake_free_errhandler;
#endif
    }
    static void expect_all_right(const Plan& plan, bool may_return) {
        Seen seen;
        EXPECT_EQ(Search(plan).run(&seen), "");
        EXPECT_GT(seen.by_library, 0U);
        EXPECT_EQ(seen.returned > 0, may_return);
        std::printf("%zu states, %zu ends, %zu by the library, %zu returned\n", seen.states,
                    seen.ends, seen.by_library, seen.returned);
    }
};

constexpr int any = MPI_ANY_TAG;

TEST_F(Handover, OfOneChannel) { expect_all_right({{7, 7, 7}, {7, 7, 7, 7}, 1, false}, false); }
TEST_F(Handover, OfTwoChannels) { expect_all_right({{7, 8, 7}, {8, 7, 7}, 1, false}, false); }
TEST_F(Handover, WithWildcards) { expect_all_right({{7, 8, 7}, {any, 7, any}, 1, false}, false); }
TEST_F(Handover, WithNamesBehindWildcards) {
    expect_all_right({{8, 7, 8, 7}, {any, 8, 7, any}, 0, false}, false);
}
TEST_F(Handover, AndBack) { expect_all_right({{7, 7, 7}, {7, 7, 7}, 0, true}, true); }
TEST_F(Handover, AndBackAndOnceMore) {
    expect_all_right({{7, 7, 7, 7}, {7, 7, 7, 7}, 0, true, 2}, true);
}
TEST_F(Handover, ProposedTwice) {
    expect_all_right({{7, 7, 8, 7}, {7, 8, 7, 7}, 1, false, 2}, false);
}
TEST_F(Handover, ProposedTwiceWithWildcards) {
    expect_all_right({{7, 8, 7, 7}, {7, any, 7, any}, 1, false, 2}, false);
}
TEST_F(Handover, AndBackWithWildcards) {
    expect_all_right({{7, 8, 7}, {7, any, any}, 1, true, 2}, true);
}

} // namespace

} // namespace nodeaware
