#pragma once

#include "runtime/point_to_point/receives.hpp"
#include "tests/unit/handover/explanation.hpp"
#include "tests/unit/handover/network.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nodeaware::handover_test {

/// What is to happen.
struct Plan {
    struct Source {
        std::vector<int> messages; ///< their tags
        int proposals = 0;
        int questions = 0; ///< for the way back
    };
    struct Receive {
        enum class Kind {
            posted,
            probed, ///< a probe; then a receive that names what it has found
            taken   ///< by a matched probe
        };
        Pattern pattern;
        Kind kind = Kind::posted;
    };
    std::vector<Source> sources;
    std::vector<Receive> receives;
    int cancels = 0;
};

/// All ends of the connections to a rank, and what is under way between them.
class World {
  public:
    explicit World(const Plan& plan);
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
    /// All that decides what may happen from here on, and whether it is right.
    std::string state() const;
    /// What is wrong; empty: nothing. `is_over`: nothing else happens.
    std::string wrong(bool is_over);
    bool has_used_library() const { return used_library_; }
    bool has_returned() const { return returned_; }

  private:
    using Phase = handover::Sender::Phase;
    struct Note {
        uint32_t kind = 0;
        handover::Count count;
        uint32_t sequence = 0;
    };
    /// A sender, and what is under way to and from it.
    struct End {
        int source = 0;
        Plan::Source plan;
        handover::Sender sender;
        size_t sent = 0;
        uint32_t sequence = 0;
        int proposals = 0;
        int questions = 0;
        bool is_asked = false;
        std::deque<Note> down;
        std::deque<Note> up;
        std::deque<Network::Message> native;
        std::vector<wire::Arrived> library;
    };

    void add_steps(const End& end, std::vector<std::string>& steps) const;
    static Network::Message message(const End& end, size_t number);
    void send(End& end);
    static void send_by_library(End& end, uint32_t kind, const std::vector<int>& content, int tag);
    void hand_over_if(End& end, handover::Sender::Next next);
    void take_note(const wire::Arrived& note);
    void take_at_receiver(End& end);
    void take_at_sender(End& end);
    void deliver(End& end, size_t which);
    void receive();
    std::optional<Pattern> probe(const Pattern& pattern);
    void take_probed(const Pattern& pattern, const Pattern& found);
    void post(const Pattern& pattern);
    void cancel(size_t which);
    bool is_pending(size_t i) const;
    void check_plain();

    Plan plan_;
    Network network_;
    Receives receives_;
    std::vector<End> ends_;
    std::vector<std::shared_ptr<Receive>> posted_; ///< nullptr: MPI's alone
    std::vector<Pattern> patterns_;                ///< of these
    std::vector<size_t> plain_;                    ///< request of MPI, 0: none
    std::vector<uint32_t> eras_;                   ///< when it was posted
    std::vector<bool> cancelled_;
    std::vector<int> got_;
    std::optional<Pattern> found_; ///< by a probe, to be received next
    std::vector<Act> acts_;
    std::vector<int> delivered_; ///< by the library: from whom
    int cancels_ = 0;
    bool used_library_ = false;
    bool returned_ = false;
};

} // namespace nodeaware::handover_test
