#pragma once

#include "runtime/memory/datatype.hpp"
#include "runtime/mpi/mpi.hpp"
#include "runtime/progress/clock.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace nodeaware {

/// Somebody who wants to know the messages that receives of MPI take.
class ReceiveObserver {
  public:
    ReceiveObserver() = default;
    ReceiveObserver(const ReceiveObserver&) = delete;
    ReceiveObserver& operator=(const ReceiveObserver&) = delete;
    virtual ~ReceiveObserver() = default;

    virtual void received(const MPI_Status& status) = 0;
    /// A receive that names source and tag, posted in that era of the source, may be cancelled: its
    /// message is not known to be under way.
    virtual bool may_cancel(int source, int tag, uint32_t era) = 0;
    /// A receive from `source` with `tag`, which was taken to get its message, may be cancelled.
    /// What becomes of it is told when it is over.
    virtual void may_be_cancelled(int source, int tag) = 0;
    /// From now on one of its receives may be cancelled without it being told.
    virtual void has_forgotten() = 0;
    /// The receive is posted while this rank may block in MPI.
    virtual void waits() = 0;
    /// The application will not learn what the receive has taken.
    virtual void received_unknown() = 0;
};

/// The last receives that MPI executes and that are not observed: programs that cancel one do so
/// soon, if ever. An observer is told that its receive, which names source and tag, may be gone; of
/// others (nullptr) nobody wants to know.
class RecentReceives {
  public:
    struct Receive {
        MPI_Request request = MPI_REQUEST_NULL;
        ReceiveObserver* observer = nullptr;
        int source = 0;
        int tag = 0;
        uint32_t era = 0; ///< of the source
    };
    void add(const Receive& receive) {
        Receive& oldest = ring_[next_++ % ring_.size()];
        if (oldest.observer != nullptr) { oldest.observer->has_forgotten(); }
        oldest = receive;
    }
    /// The newest with this request, which is forgotten then.
    std::optional<Receive> take(MPI_Request request);
    const Receive* find(MPI_Request request) const;
    void forget(const ReceiveObserver* observer);

  private:
    std::array<Receive, 1024> ring_;
    size_t next_ = 0;
};

/// A persistent point-to-point request of the application. The library may execute it by way of a
/// request of its own.
struct PersistentRequest {
    enum class Mode { standard, synchronous, buffered, receive };
    Mode mode = Mode::standard;
    UserMemory memory;
    MPI_Datatype kept_type = MPI_DATATYPE_NULL; ///< duplicate, if the datatype will be needed
    int peer = 0;
    int tag = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    /// The library's request, from the start to the completion of an execution.
    MPI_Request active = MPI_REQUEST_NULL;
};

/// Calls that completed something: what is posted after one belongs to another batch.
class CompletionCalls {
  public:
    void count() {
        ++number_;
        if (is_time_wanted) { last_seconds_ = now(); }
    }
    uint64_t number() const { return number_; }
    double last_seconds() const { return last_seconds_; } ///< see now()
    bool is_time_wanted = false;                          ///< somebody learns from what is posted

  private:
    uint64_t number_ = 0;
    double last_seconds_ = 0;
};

/// What the library knows of the application's requests beyond what MPI knows. Used by one thread
/// at a time, but for failures: those may come from several.
class Requests {
  public:
    Requests() = default;
    ~Requests();
    Requests(const Requests&) = delete;
    Requests& operator=(const Requests&) = delete;

    /// How an operation of the library that has a request of its own ended, if not well. MPI would
    /// raise the error of such a request on whatever communicator it likes: so for MPI they all end
    /// well, and the functions that complete requests do the rest; as long as there is a failure,
    /// they are asked to.
    struct Failure {
        MPI_Comm comm = MPI_COMM_NULL; ///< that of the application's call
        int code = MPI_SUCCESS;
    };
    void add_failure(MPI_Request request, const Failure& failure);
    /// What a request has failed with; nothing is remembered of it then.
    std::optional<Failure> take_failure(MPI_Request request);
    std::optional<Failure> find_failure(MPI_Request request) const;
    bool has_failures() const { return failure_count_.load(std::memory_order_acquire) != 0; }

    CompletionCalls completions;

    /// Persistent point-to-point requests by their handles.
    std::map<MPI_Request, PersistentRequest>& persistent() { return persistent_; }
    /// Remembers a persistent request that MPI has made. Throws MpiError.
    void remember(MPI_Request request, const PersistentRequest& persistent);
    /// The request that MPI completes in place of the application's: the library's if it executes a
    /// persistent one, else the same.
    MPI_Request seen_by_mpi(MPI_Request request) const {
        if (active_persistent == 0) { return request; }
        const auto found = persistent_.find(request);
        const bool is_replaced =
            found != persistent_.end() && found->second.active != MPI_REQUEST_NULL;
        return is_replaced ? found->second.active : request;
    }
    /// How many are executed by the library now.
    int active_persistent = 0;

    /// Receives that MPI executes and whose messages somebody wants to know.
    std::map<MPI_Request, ReceiveObserver*>& observed() { return observed_; }
    RecentReceives recent;
    /// The application cancels a request that MPI executes. False: it must not be, and will
    /// complete.
    bool may_cancel(MPI_Request request) const;
    /// It has.
    void cancelled(MPI_Request request);
    /// The one that it has cancelled was the library's.
    bool own_was_cancelled = false;
    /// Requests that were cancelled and of which nobody knows what they were.
    uint64_t unknown_cancels = 0;
    void forget(const ReceiveObserver* observer);

    /// A request is about to be freed by the application.
    void freed(MPI_Request request);

  private:
    std::map<MPI_Request, PersistentRequest> persistent_;
    std::map<MPI_Request, ReceiveObserver*> observed_;
    mutable std::mutex failure_mutex_;
    std::map<MPI_Request, Failure> failures_;
    std::atomic<int> failure_count_{0};
};

/// Calls the error handler that MPI itself would call where a request fails, and returns what the
/// completing function returns. `several`: the function completes several requests, and their
/// statuses tell what has become of each.
int raise(const Requests::Failure& failure, bool several);

} // namespace nodeaware
