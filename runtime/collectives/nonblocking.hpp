#pragma once

#include "runtime/collectives/exchange_on_host.hpp"
#include "runtime/collectives/kept_types.hpp"
#include "runtime/collectives/pending_exchange.hpp"
#include "runtime/job/ranges.hpp"
#include "runtime/job/report.hpp"
#include "runtime/progress/progress.hpp"
#include "runtime/requests/requests.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace nodeaware {

/// The requests of nonblocking and persistent operations that the library executes. Those of
/// nonblocking ones are generalized requests. Those of persistent ones are persistent receives of
/// nothing, which a message of this rank to itself completes. So MPI itself knows every request,
/// and the functions that wait, test, free and cancel need no help but somebody to call progress().
/// Several threads may call.
class Nonblocking : public WorkSource {
  public:
    Nonblocking(Report& report, Requests& requests) : report_(report), requests_(requests) {}
    ~Nonblocking() override;

    /// Begins an operation of a call on `comm`. `record` is what its report begins with. Throws
    /// MpiError, and has begun nothing then.
    void begin(std::shared_ptr<NonblockingContext> context, Exchange exchange,
               const CallRecord& record, MPI_Comm comm, MPI_Request* request);
    /// Makes a persistent request. Throws MpiError.
    void make_persistent(std::shared_ptr<NonblockingContext> context, Exchange exchange,
                         const CallRecord& record, MPI_Comm comm, MPI_Request* request);

    /// MPI's own function, with the arguments of the call but for the buffers.
    using Begin = std::function<int(MPI_Request*)>;
    /// The same for calls that are left to MPI, between copies: MPI's own requests are the
    /// library's. Return what `begin` has, which has called the error handler of the call.
    int begin_on_host(std::unique_ptr<HostBuffers> buffers, const Begin& begin,
                      const CallRecord& record, MPI_Comm comm, MPI_Request* request);
    int make_persistent_on_host(std::unique_ptr<HostBuffers> buffers, const Begin& begin,
                                const CallRecord& record, MPI_Comm comm, MPI_Request* request);

    bool is_busy() const override { return under_way_count_.load(std::memory_order_acquire) > 0; }
    void advance() override;

    void started(std::span<const MPI_Request> requests);
    void freed(MPI_Request request);
    /// It is that of a persistent collective.
    bool is_persistent(MPI_Request request);

  private:
    struct Persistent {
        std::shared_ptr<ExchangeOnHost> on_host; ///< else what follows
        std::shared_ptr<NonblockingContext> context;
        Exchange exchange;
        std::unique_ptr<KeptTypes> types;
        CallRecord record;
        MPI_Comm comm = MPI_COMM_NULL; ///< of the application
        int tag = 0;
    };
    struct UnderWay {
        MPI_Request request = MPI_REQUEST_NULL;
        std::optional<PendingExchange> exchange; ///< else
        std::shared_ptr<ExchangeOnHost> on_host;
        std::unique_ptr<KeptTypes> types;
        CallRecord record;
        MPI_Comm comm;                          ///< of the application
        const Persistent* persistent = nullptr; ///< nullptr: a generalized request
        std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
        ranges::LongRange range;
        UnderWay(const CallRecord& begun, MPI_Comm called_on) : record(begun), comm(called_on) {}
        bool progress() {
            const DeviceCounting counting(record.device);
            if (on_host != nullptr) { return on_host->progress(); }
            return exchange && exchange->progress(); // neither: MPI has not been called yet
        }
        bool has_begun() const { return !exchange || exchange->has_begun(); }
        int error() const { return on_host != nullptr ? on_host->error() : exchange->error(); }
    };

    bool is_under_way(MPI_Request request) const;
    UnderWay& add(const CallRecord& record, MPI_Comm comm);
    UnderWay& add_generalized(const CallRecord& record, MPI_Comm comm, MPI_Request* request);
    void take_back(const UnderWay& operation, MPI_Request* request);
    int unused_tag();
    void keep_persistent(std::unique_ptr<Persistent> made, MPI_Comm comm, MPI_Request* request);
    static void show(UnderWay& operation, const Exchange& exchange);
    void begin_last();
    void advance_locked();
    void finish(UnderWay& operation);
    void report(UnderWay& operation);
    void count_containers(CallRecord& record);
    void start(MPI_Request request, Persistent& persistent);
    static void begin_again(UnderWay& operation, Persistent& persistent);
    /// The communicator for messages of this rank to itself.
    MPI_Comm self();

    Report& report_;
    Requests& requests_;
    std::atomic<int> under_way_count_{0};
    std::mutex mutex_;
    std::vector<std::unique_ptr<UnderWay>> under_way_;
    size_t turn_ = 0;
    bool has_to_begin_ = false; ///< one of them at least
    std::map<MPI_Request, std::unique_ptr<Persistent>> persistent_;
    MPI_Comm self_ = MPI_COMM_NULL;
    int next_tag_ = 0; ///< of persistent requests
    bool has_used_all_tags_ = false;
    uint64_t told_containers_ = 0; ///< of this rank's, those that are in records
    uint64_t told_bytes_ = 0;      ///< and theirs
};

} // namespace nodeaware
