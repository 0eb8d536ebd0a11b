#include "runtime/collectives/nonblocking.hpp"

#include "runtime/collectives/blocks.hpp"
#include "runtime/job/log.hpp"
#include "runtime/mpi/errors_return.hpp"
#include "runtime/progress/backoff.hpp"

#include <algorithm>

namespace nodeaware {

constinit std::atomic<int> library_requests{0};

namespace {

/// What MPI asks of a generalized request when it completes. `outcome` is the code that the
/// operation ends with.
int query(void* outcome, MPI_Status* status) {
    mpi.Status_set_elements(status, MPI_BYTE, 0);
    mpi.Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return *static_cast<int*>(outcome);
}

int release(void* outcome) {
    delete static_cast<int*>(outcome);
    return MPI_SUCCESS;
}

int cancel(void* /*outcome*/, int /*complete*/) { return MPI_SUCCESS; } // collectives cannot be

} // namespace

KeptTypes::KeptTypes(Exchange& exchange) {
    for (UserMemory& memory : exchange.outgoing) { keep(memory); }
    for (UserMemory& memory : exchange.incoming) { keep(memory); }
}

void KeptTypes::keep(UserMemory& memory) {
    if (memory.dense != nullptr) {
        memory = {memory.dense, static_cast<MPI_Count>(memory.bytes), MPI_BYTE, memory.bytes,
                  memory.dense};
        return;
    }
    auto [found, is_new] = duplicates_.try_emplace(memory.type, MPI_DATATYPE_NULL);
    if (is_new) { MPI_CALL(Type_dup, memory.type, &found->second); }
    memory.type = found->second;
}

KeptTypes::~KeptTypes() {
    for (auto& [original, duplicate] : duplicates_) {
        if (duplicate != MPI_DATATYPE_NULL) { mpi.Type_free(&duplicate); }
    }
}

Nonblocking::~Nonblocking() {
    if (self_ != MPI_COMM_NULL) { mpi.Comm_free(&self_); }
}

void Nonblocking::begin(std::shared_ptr<NonblockingContext> context, Exchange exchange,
                        const CallRecord& record, MPI_Request* request) {
    const std::lock_guard lock(mutex_);
    auto types = std::make_unique<KeptTypes>(exchange);
    auto outcome = std::make_unique<int>(MPI_SUCCESS);
    MPI_CALL(Grequest_start, query, release, cancel, outcome.get(), request);
    auto operation =
        std::make_unique<UnderWay>(*request, std::move(context), std::move(exchange), record);
    operation->outcome = outcome.release();
    operation->types = std::move(types);
    under_way_.push_back(std::move(operation));
    library_requests.fetch_add(1, std::memory_order_relaxed);
    advance();
}

MPI_Comm Nonblocking::self() {
    if (self_ == MPI_COMM_NULL) { self_ = InnerCommunicator::create_private(MPI_COMM_SELF); }
    return self_;
}

void Nonblocking::make_persistent(std::shared_ptr<NonblockingContext> context, Exchange exchange,
                                  const CallRecord& record, MPI_Request* request) {
    const std::lock_guard lock(mutex_);
    auto made = std::make_unique<Persistent>();
    made->context = std::move(context);
    made->types = std::make_unique<KeptTypes>(exchange);
    made->exchange = std::move(exchange);
    made->record = record;
    made->tag = next_tag_++ % tags::first_nonblocking; // the standard promises as many
    MPI_CALL(Recv_init, nullptr, 0, MPI_BYTE, 0, made->tag, self(), request);
    persistent_[*request] = std::move(made);
    library_requests.fetch_add(1, std::memory_order_relaxed);
}

void Nonblocking::started(std::span<const MPI_Request> requests) {
    const std::lock_guard lock(mutex_);
    if (persistent_.empty()) { return; }
    for (const MPI_Request request : requests) {
        const auto found = persistent_.find(request);
        if (found != persistent_.end()) { start(request, *found->second); }
    }
    advance();
}

void Nonblocking::start(MPI_Request request, Persistent& persistent) {
    try {
        Exchange exchange = persistent.exchange;
        if (exchange.in_place) { stage_outgoing(exchange, persistent.context->inner().comm()); }
        auto operation = std::make_unique<UnderWay>(request, persistent.context,
                                                    std::move(exchange), persistent.record);
        operation->persistent = &persistent;
        under_way_.push_back(std::move(operation));
        library_requests.fetch_add(1, std::memory_order_relaxed);
    } catch (const MpiError& error) { log(LogLevel::warn, "MPI_Start: {}", error.what()); }
}

void Nonblocking::freed(MPI_Request request) {
    const std::lock_guard lock(mutex_);
    if (!is_under_way(request) && persistent_.erase(request) > 0) {
        library_requests.fetch_sub(1, std::memory_order_relaxed);
    }
}

bool Nonblocking::is_under_way(MPI_Request request) const {
    return std::any_of(under_way_.begin(), under_way_.end(),
                       [&](const auto& operation) { return operation->request == request; });
}

bool Nonblocking::any_under_way(std::span<const MPI_Request> requests) const {
    return !under_way_.empty() &&
           std::any_of(requests.begin(), requests.end(), [&](MPI_Request request) {
               return request != MPI_REQUEST_NULL && is_under_way(request);
           });
}

bool Nonblocking::progress(std::span<const MPI_Request> requests) {
    const std::lock_guard lock(mutex_);
    advance();
    return any_under_way(requests);
}

void Nonblocking::complete(std::span<const MPI_Request> requests, bool oversubscribed) {
    std::vector<MPI_Request> ours;
    {
        const std::lock_guard lock(mutex_);
        std::copy_if(requests.begin(), requests.end(), std::back_inserter(ours),
                     [&](MPI_Request request) {
                         return request != MPI_REQUEST_NULL && is_under_way(request);
                     });
    }
    for (uint32_t round = 0; !ours.empty() && progress(ours); ++round) {
        backoff::pause(round, oversubscribed);
    }
}

/// With the lock held.
void Nonblocking::advance() {
    if (under_way_.empty()) { return; }
    const CompletionErrorsReturn errors_return;
    std::vector<std::unique_ptr<UnderWay>> finished;
    size_t kept = 0;
    for (auto& operation : under_way_) {
        if (operation->exchange.progress()) {
            finished.push_back(std::move(operation));
        } else {
            under_way_[kept++] = std::move(operation);
        }
    }
    under_way_.resize(kept);
    for (const auto& operation : finished) { finish(*operation); }
}

void Nonblocking::finish(UnderWay& operation) {
    library_requests.fetch_sub(1, std::memory_order_relaxed);
    CallRecord& record = operation.record;
    record.sent_messages = operation.exchange.messages_sent();
    record.sent_bytes = operation.exchange.bytes_sent();
    if (report_.wants_times()) {
        const std::chrono::duration<double> time =
            std::chrono::steady_clock::now() - operation.start;
        record.seconds = time.count();
    }
    report_.add(record);
    const int code = operation.exchange.error();
    if (operation.persistent == nullptr) {
        *operation.outcome = code;
        mpi.Grequest_complete(operation.request);
        return;
    }
    // A byte too many is an error of the receive: MPI_ERR_TRUNCATE, the only one that operations
    // end with in a program that does not misuse MPI.
    const char byte = 0;
    mpi.Send(&byte, code == MPI_SUCCESS ? 0 : 1, MPI_BYTE, 0, operation.persistent->tag, self_);
}

} // namespace nodeaware
