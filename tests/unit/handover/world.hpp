#pragma once

#include "runtime/point_to_point/receives.hpp"
#include "tests/unit/handover/network.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace nodeaware::handover_test {

/// What is to happen: tags of the messages, of the receives (or MPI_ANY_TAG), and so many cancels.
struct Plan {
    std::vector<int> messages;
    std::vector<int> receives;
    int cancels = 0;
    int questions = 0; ///< for the way back
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
    int questions_ = 0;
    bool is_asked_ = false;
};

} // namespace nodeaware::handover_test
