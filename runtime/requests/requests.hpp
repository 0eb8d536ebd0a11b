#pragma once

#include "runtime/memory/datatype.hpp"
#include "runtime/mpi/mpi.hpp"
#include "runtime/progress/clock.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

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
    /// The receive is posted while this rank may block in MPI.
    virtual void waits() = 0;
    /// The application will not learn what the receive has taken.
    virtual void received_unknown() = 0;
};

/// Receives that MPI executes and that are not observed, for they name source and tag: an observer
/// is told if one may be gone. MPI uses handles again, so there are no more of them than requests
/// that were ever open at once.
class NamedReceives {
  public:
    struct Receive {
        ReceiveObserver* observer = nullptr;
        int source = 0;
        int tag = 0;
        uint32_t era = 0; ///< of the source
    };
    void add(MPI_Request request, const Receive& receive) {
        receives_.insert_or_assign(request, receive);
    }
    /// nullptr: nobody wants to know of that request.
    const Receive* find(MPI_Request request) const;
    /// The handle stands for something else now.
    void forget(MPI_Request request);
    void forget(const ReceiveObserver* observer);
    void forget_all() { receives_.clear(); }

  private:
    std::unordered_map<MPI_Request, Receive> receives_; ///< without observer: forgotten
};

/// A persistent point-to-point request of the application. The library may execute it by way of a
/// request of its own.
struct PersistentRequest {
    enum class Mode { standard, synchronous, buffered, receive };
    Mode mode = Mode::standard;
    UserMemory memory;
    MPI_Datatype kept_type = MPI_DATATYPE_NULL; ///< if the datatype will be needed
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

/// What the library knows of the application's requests beyond what MPI knows. Used by who holds a
/// Turn, but for failures: those may come from several threads.
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
    std::unordered_map<MPI_Request, PersistentRequest>& persistent() { return persistent_; }
    /// Remembers a persistent request that MPI has made. Throws MpiError.
    void remember(MPI_Request request, const PersistentRequest& persistent);
    /// It is one no more.
    void forget_persistent(MPI_Request request);
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

    /// A receive of the library has begun, or is complete: there is no need to ask MPI meanwhile.
    void receive_begun(MPI_Request request) { open_receives_.insert(request); }
    /// False: the application has freed the request, and is told nothing.
    bool receive_complete(MPI_Request request) { return open_receives_.erase(request) > 0; }
    bool is_open(MPI_Request request) const { return open_receives_.count(request) > 0; }

    /// Receives that MPI executes and whose messages somebody wants to know.
    std::unordered_map<MPI_Request, ReceiveObserver*>& observed() { return observed_; }
    NamedReceives named;
    /// There is more to it than MPI knows.
    bool knows(MPI_Request request) const {
        return persistent_.count(request) > 0 || is_open(request) || observed_.count(request) > 0 ||
               named.find(request) != nullptr;
    }
    /// The application cancels a request that MPI executes. False: it must not be, and will
    /// complete.
    bool may_cancel(MPI_Request request) const;
    /// It has.
    void cancelled(MPI_Request request);
    /// The one that it has cancelled was the library's.
    bool own_was_cancelled = false;
    void forget(const ReceiveObserver* observer);
    /// Nobody wants to know of requests of MPI any more: threads may wait for them there.
    void note_no_more();
    bool are_noted() const { return are_noted_.load(std::memory_order_relaxed); }
    /// Receives and persistent requests that the library executes.
    bool has_own() const { return active_persistent > 0 || !open_receives_.empty(); }

    /// One of MPI that its end is not told of otherwise is complete.
    void completed(MPI_Request request, const MPI_Status& status);
    /// The application frees a request. True: an observer wants to know what it will have taken, so
    /// it is kept until then and not to be freed.
    bool freed(MPI_Request request);
    /// Whether those kept are over. Communicators may end with them, but for those that are in use.
    /// Throws MpiError.
    void look_at_kept();
    /// Nobody wants to know any more.
    void free_kept();

  private:
    struct Kept {
        MPI_Request request;
        ReceiveObserver* observer;
    };

    std::unordered_map<MPI_Request, PersistentRequest> persistent_;
    std::unordered_map<MPI_Request, ReceiveObserver*> observed_;
    std::vector<Kept> kept_;
    std::unordered_set<MPI_Request> open_receives_;
    std::atomic<bool> are_noted_{true};
    mutable std::mutex failure_mutex_;
    std::map<MPI_Request, Failure> failures_;
    std::atomic<int> failure_count_{0};
};

/// Calls the error handler that MPI itself would call where a request fails, and returns what the
/// completing function returns. `several`: the function completes several requests, and their
/// statuses tell what has become of each.
int raise(const Requests::Failure& failure, bool several);

} // namespace nodeaware
