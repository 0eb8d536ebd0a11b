#pragma once

#include "runtime/collectives/nonblocking.hpp"
#include "runtime/point_to_point/communicator_messages.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <vector>

namespace nodeaware {

/// Engines that move messages, of all communicators.
extern std::atomic<int> running_engines;

/// The point-to-point side of the library: communicators, engines, and requests that need more than
/// MPI to complete. One thread calls at a time.
class MessageLayer {
  public:
    MessageLayer(const World& world, Nonblocking& nonblocking)
        : world_(world), nonblocking_(nonblocking) {}
    ~MessageLayer();
    MessageLayer(const MessageLayer&) = delete;
    MessageLayer& operator=(const MessageLayer&) = delete;

    /// Before anything else. False: point-to-point calls are not to be intercepted.
    bool open();
    /// Before MPI_Finalize, collective: sends all that is left.
    void close();

    const World& world() const { return world_; }

    /// What is known of a communicator; nullptr if its messages are of no interest.
    CommunicatorMessages* find(MPI_Comm comm);
    /// The engine of a communicator, if it has one.
    std::shared_ptr<BatchEngine> engine(MPI_Comm comm);
    /// A communicator is being freed.
    void forget(const CommunicatorMessages* gone);
    /// In a blocking collective call on the communicator.
    void meeting(MPI_Comm comm);
    /// A communicator has been made from another one, by all its ranks.
    void created(MPI_Comm parent, MPI_Comm comm);

    /// Before a call that may block in MPI: nothing may wait in containers.
    void flush();
    /// Before a collective call of ranks of this node: gives them a little time to contribute,
    /// which the call would wait for them anyway, then flushes.
    void settle();
    /// Does what can be done for all engines and nonblocking operations.
    void progress();
    /// True if a request may need progress() to complete.
    bool is_busy() const { return !engines_.empty() || swapped > 0 || nonblocking_.is_busy(); }
    /// After a completion call.
    void completed();
    /// Calls progress() and `ready` until that is true.
    template <class Ready> void wait_until(Ready ready) {
        progress();
        for (uint32_t round = 0; !ready(); ++round) { pause(round); }
    }
    /// Looks after a send of MPI whose bytes the library holds.
    void detach(MPI_Request request, std::vector<std::byte> bytes);

    /// A persistent request of the application whose operation the library executes by way of a
    /// generalized one, or remembers.
    struct Persistent {
        enum class Mode { standard, synchronous, receive };
        Mode mode = Mode::standard;
        UserMemory memory;
        MPI_Datatype kept_type = MPI_DATATYPE_NULL;
        int peer = 0;
        int tag = 0;
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Request active =
            MPI_REQUEST_NULL; ///< the generalized one, between start and completion
    };
    std::map<MPI_Request, Persistent>& persistent() { return persistent_; }
    int swapped = 0; ///< persistent requests that are active as another one

    /// Receives from any source that MPI executes and whose source is to be learned.
    std::map<MPI_Request, CommunicatorMessages*>& tracked() { return tracked_; }

    /// Messages matched by a probe that MPI has from this rank itself: what their statuses are to
    /// say.
    std::map<MPI_Message, wire::Entry>& probed() { return probed_; }

    MPI_Comm self();

  private:
    struct Detached {
        MPI_Request request;
        std::vector<std::byte> bytes;
    };
    void pause(uint32_t round);

    const World& world_;
    Nonblocking& nonblocking_;
    CompletionCalls completions_;
    MPI_Comm last_comm_ = MPI_COMM_NULL;
    CommunicatorMessages* last_ = nullptr;
    std::vector<std::shared_ptr<BatchEngine>> engines_;
    std::map<MPI_Request, Persistent> persistent_;
    std::map<MPI_Request, CommunicatorMessages*> tracked_;
    std::map<MPI_Message, wire::Entry> probed_;
    std::vector<Detached> detached_;
    MPI_Comm self_ = MPI_COMM_NULL;
};

/// While point-to-point calls are intercepted; else nullptr.
namespace p2p {
inline MessageLayer* layer = nullptr;
}

} // namespace nodeaware
