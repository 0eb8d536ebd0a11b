#pragma once

#include "runtime/point_to_point/buffered_sends.hpp"
#include "runtime/point_to_point/communicator_messages.hpp"
#include "runtime/point_to_point/detached_sends.hpp"
#include "runtime/progress/progress.hpp"
#include "runtime/requests/requests.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <vector>

namespace nodeaware {

/// The point-to-point side of the library: the communicators whose messages are learned from, and
/// the engines that move messages. Called by who holds a Turn.
class MessageLayer : public WorkSource {
  public:
    /// Collective over MPI_COMM_WORLD. `mailboxes`: nullptr, on all ranks: the system has refused
    /// them.
    MessageLayer(const World& world, Requests& requests, Progress& progress,
                 std::shared_ptr<Mailboxes> mailboxes);
    ~MessageLayer() override;

    /// False if point-to-point calls of this job are of no interest.
    static bool is_wanted(const World& world);
    // Before MPI_Finalize: waits until what this rank has sent has left. Then, when nothing comes
    // any more, the end. Throw MpiError.
    void send_all();
    void close();

    const World& world() const { return world_; }

    /// What is known of a communicator; nullptr if its messages are of no interest.
    CommunicatorMessages* find(MPI_Comm comm);
    /// The engine of a communicator, if it has one.
    std::shared_ptr<BatchEngine> engine(MPI_Comm comm);
    /// A communicator has been made from another one, by all its ranks.
    void created(MPI_Comm parent, MPI_Comm comm);
    /// It has failed on this rank. Whether on the others, too, is not known, so from now on this
    /// rank knows no names of new communicators.
    void not_created() { knows_names_ = false; }

    bool is_busy() const override;
    void advance() override;
    /// Nothing may wait in containers.
    void before_blocking() override;
    /// Before a collective call of ranks of this node: gives them a little time to contribute,
    /// which the call would wait for them anyway.
    void before_meeting();
    /// The program makes memory that ranks share: they may learn from it that a message was sent,
    /// and wait for it outside of MPI. So from now on none waits for others.
    void memory_shared() { memory_is_shared_ = true; }
    /// Buffered messages of some communicators have memory of their own (MPI 4.1, 3.6.1), of which
    /// the library does not know the size.
    void buffer_attached() { has_other_buffers_ = true; }
    bool has_other_buffers() const { return has_other_buffers_; }
    /// Several threads call MPI: batches of one cannot be told from those of another.
    static bool has_several_threads() { return Turn::are_of_several_threads(); }
    /// Before anything may wait in the library: one of several threads may wait for another, of
    /// which MPI knows nothing, so no message waits for others any more.
    void note_threads();
    /// Nothing is under way, so a blocking function of MPI may do a call, which is quicker: what it
    /// does is noted before another thread can look.
    bool may_call_blocking() const { return !progress.is_busy() && !Turn::are_taken(); }
    /// This thread may wait for one that is in a function of MPI, and has asked the library before.
    void thread_leaves();
    /// MPI has all messages of this rank, now and later: there are several threads, of which `auto`
    /// takes no messages, and nothing is with the library any more.
    bool is_left_to_mpi() const { return !requests.are_noted(); }
    /// After that, at each call: now and then other ranks are answered that propose something.
    void answer_in_passing(MPI_Comm comm);
    /// The configuration names a strategy: nothing is to be thought or measured to be faster by
    /// MPI.
    bool is_asked_for() const {
        return world_.options.choice(Operation::point_to_point).kind == Choice::Kind::fixed;
    }
    template <class Ready> void wait_until(Ready ready, bool is_for_send = false) {
        progress.wait_until(ready, is_for_send);
    }

    Requests& requests;
    Progress& progress;
    DetachedSends detached;
    BufferedSends buffered;
    /// Before the memory is detached that the application has given for them: whoever sends more
    /// than its receivers take is to notice. They are copies, so that nothing depends on it.
    void wait_for_buffered();

    /// Messages of an engine matched by a probe: MPI has their bytes, from this rank itself or as
    /// payloads that went straight.
    struct Probed {
        wire::Entry entry; ///< what their statuses are to say
        MPI_Comm comm;
        std::shared_ptr<BatchEngine> engine; ///< of a payload, else nullptr
    };
    std::map<MPI_Message, Probed>& probed() { return probed_; }

    MPI_Comm self();
    /// Another one, for sends that may be refused; and no more of it, if one was.
    MPI_Comm trials();
    void end_trials();
    const std::shared_ptr<Mailboxes>& mailboxes() const { return mailboxes_; }
    const std::shared_ptr<StraightMessages>& payloads() const { return payloads_; }
    bool memory_is_shared() const { return memory_is_shared_; }
    /// The engine has something to look after from now on.
    void activate(const std::shared_ptr<BatchEngine>& engine);

  private:
    void count_engines();
    bool may_leave_to_mpi();
    void leave_to_mpi();

    const World& world_;
    std::shared_ptr<Mailboxes> mailboxes_;
    std::shared_ptr<StraightMessages> payloads_; ///< nullptr: there is no communicator for them
    bool memory_is_shared_ = false;
    bool is_of_one_thread_ = true; ///< as far as is noted
    std::atomic<bool> has_other_buffers_{false};
    bool knows_names_ = true;
    MPI_Comm last_comm_ = MPI_COMM_NULL;
    CommunicatorMessages* last_ = nullptr; ///< of it, also nullptr
    uint64_t freed_before_last_ = 0;
    std::vector<std::shared_ptr<BatchEngine>> engines_; ///< that have something to look after
    int counted_engines_ = 0;
    std::vector<std::weak_ptr<BatchEngine>> known_; ///< that ever had
    std::map<MPI_Message, Probed> probed_;
    MPI_Comm self_ = MPI_COMM_NULL;
    MPI_Comm trials_ = MPI_COMM_NULL;
    MPI_Comm other_trials_ = MPI_COMM_NULL; ///< of those that follow
};

/// While point-to-point calls are intercepted; else nullptr.
namespace p2p {
inline MessageLayer* layer = nullptr;
}

} // namespace nodeaware
