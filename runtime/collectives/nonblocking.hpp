#pragma once

#include "runtime/collectives/pending_exchange.hpp"
#include "runtime/job/report.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace nodeaware {

/// Operations under way and persistent requests.
extern std::atomic<int> library_requests;

/// Datatypes of an exchange that outlives the call which brought it: the application may free its
/// own.
class KeptTypes {
  public:
    /// Duplicates the datatypes that will be needed, and names them in the exchange. Throws
    /// MpiError.
    explicit KeptTypes(Exchange& exchange);
    ~KeptTypes();
    KeptTypes(const KeptTypes&) = delete;
    KeptTypes& operator=(const KeptTypes&) = delete;

  private:
    void keep(UserMemory& memory);
    std::map<MPI_Datatype, MPI_Datatype> duplicates_;
};

/// The requests of nonblocking and persistent operations that the library executes. Those of
/// nonblocking ones are generalized requests. Those of persistent ones are persistent receives of
/// nothing, which a message of this rank to itself completes. So MPI itself knows every request,
/// and the functions that wait, test, free and cancel need no help but somebody to call progress().
/// Several threads may call.
class Nonblocking {
  public:
    explicit Nonblocking(Report& report) : report_(report) {}
    ~Nonblocking();
    Nonblocking(const Nonblocking&) = delete;
    Nonblocking& operator=(const Nonblocking&) = delete;

    /// Begins an operation. `record` is what its report begins with. Throws MpiError, and has begun
    /// nothing then.
    void begin(std::shared_ptr<NonblockingContext> context, Exchange exchange,
               const CallRecord& record, MPI_Request* request);
    /// Makes a persistent request. Throws MpiError.
    void make_persistent(std::shared_ptr<NonblockingContext> context, Exchange exchange,
                         const CallRecord& record, MPI_Request* request);

    /// Operations are under way. For programs in which one thread at a time calls MPI.
    bool is_busy() const { return !under_way_.empty(); }

    void started(std::span<const MPI_Request> requests);
    void freed(MPI_Request request);

    /// Does what can be done. True if one of the requests belongs to an operation under way.
    bool progress(std::span<const MPI_Request> requests);
    /// Returns when none does.
    void complete(std::span<const MPI_Request> requests, bool oversubscribed);

  private:
    struct Persistent {
        std::shared_ptr<NonblockingContext> context;
        Exchange exchange;
        std::unique_ptr<KeptTypes> types;
        CallRecord record;
        int tag = 0;
    };
    struct UnderWay {
        MPI_Request request;
        PendingExchange exchange;
        std::unique_ptr<KeptTypes> types;
        int* outcome;                 ///< of a generalized request: what it will return
        const Persistent* persistent; ///< nullptr: a generalized request
        CallRecord record;
        std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
        UnderWay(MPI_Request handle, std::shared_ptr<NonblockingContext> context, Exchange messages,
                 const CallRecord& begun)
            : request(handle), exchange(std::move(context), std::move(messages)), outcome(nullptr),
              persistent(nullptr), record(begun) {}
    };

    bool is_under_way(MPI_Request request) const;
    bool any_under_way(std::span<const MPI_Request> requests) const;
    void advance();
    void finish(UnderWay& operation);
    void start(MPI_Request request, Persistent& persistent);
    /// The communicator for messages of this rank to itself.
    MPI_Comm self();

    Report& report_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<UnderWay>> under_way_;
    std::map<MPI_Request, std::unique_ptr<Persistent>> persistent_;
    MPI_Comm self_ = MPI_COMM_NULL;
    int next_tag_ = 0;
};

} // namespace nodeaware
