#include "runtime/collectives/nonblocking.hpp"

#include "runtime/collectives/blocks.hpp"
#include "runtime/job/log.hpp"
#include "runtime/mpi/errors_return.hpp"
#include "runtime/progress/activity.hpp"

#include <algorithm>

namespace nodeaware {

namespace {

/// What MPI asks of a generalized request when it completes.
int query(void* /*state*/, MPI_Status* status) {
    mpi.Status_set_elements(status, MPI_BYTE, 0);
    mpi.Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS; // see Requests::Failure
}

int release(void* /*state*/) { return MPI_SUCCESS; }

int cancel(void* /*state*/, int /*complete*/) { return MPI_SUCCESS; } // collectives cannot be

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
                        const CallRecord& record, MPI_Comm comm, MPI_Request* request) {
    const std::lock_guard lock(mutex_);
    auto types = std::make_unique<KeptTypes>(exchange);
    MPI_CALL(Grequest_start, query, release, cancel, nullptr, request);
    auto operation =
        std::make_unique<UnderWay>(*request, std::move(context), std::move(exchange), record, comm);
    operation->types = std::move(types);
    add(std::move(operation));
    advance_locked();
}

/// With the lock held.
void Nonblocking::add(std::unique_ptr<UnderWay> operation) {
    under_way_.push_back(std::move(operation));
    under_way_count_.fetch_add(1, std::memory_order_release);
    activity.requests.fetch_add(1, std::memory_order_relaxed);
}

MPI_Comm Nonblocking::self() {
    if (self_ == MPI_COMM_NULL) { self_ = InnerCommunicator::create_private(MPI_COMM_SELF); }
    return self_;
}

void Nonblocking::make_persistent(std::shared_ptr<NonblockingContext> context, Exchange exchange,
                                  const CallRecord& record, MPI_Comm comm, MPI_Request* request) {
    const std::lock_guard lock(mutex_);
    auto made = std::make_unique<Persistent>();
    made->context = std::move(context);
    made->types = std::make_unique<KeptTypes>(exchange);
    made->exchange = std::move(exchange);
    made->record = record;
    made->comm = comm;
    made->tag = next_tag_++ % tags::first_nonblocking; // the standard promises as many
    MPI_CALL(Recv_init, nullptr, 0, MPI_BYTE, 0, made->tag, self(), request);
    persistent_[*request] = std::move(made);
    activity.requests.fetch_add(1, std::memory_order_relaxed);
}

void Nonblocking::started(std::span<const MPI_Request> requests) {
    const std::lock_guard lock(mutex_);
    if (persistent_.empty()) { return; }
    for (const MPI_Request request : requests) {
        const auto found = persistent_.find(request);
        if (found != persistent_.end()) { start(request, *found->second); }
    }
    advance_locked();
}

void Nonblocking::start(MPI_Request request, Persistent& persistent) {
    try {
        Exchange exchange = persistent.exchange;
        if (exchange.in_place) { stage_outgoing(exchange, persistent.context->inner().comm()); }
        auto operation = std::make_unique<UnderWay>(
            request, persistent.context, std::move(exchange), persistent.record, persistent.comm);
        operation->persistent = &persistent;
        add(std::move(operation));
    } catch (const MpiError& error) { log(LogLevel::warn, "MPI_Start: {}", error.what()); }
}

void Nonblocking::freed(MPI_Request request) {
    const std::lock_guard lock(mutex_);
    if (!is_under_way(request) && persistent_.erase(request) > 0) {
        activity.requests.fetch_sub(1, std::memory_order_relaxed);
    }
}

bool Nonblocking::is_under_way(MPI_Request request) const {
    return std::any_of(under_way_.begin(), under_way_.end(),
                       [&](const auto& operation) { return operation->request == request; });
}

void Nonblocking::advance() {
    const std::lock_guard lock(mutex_);
    advance_locked();
}

/// With the lock held.
void Nonblocking::advance_locked() {
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
    activity.requests.fetch_sub(1, std::memory_order_relaxed);
    under_way_count_.fetch_sub(1, std::memory_order_release);
    CallRecord& record = operation.record;
    record.sent_messages = operation.exchange.messages_sent();
    record.sent_bytes = operation.exchange.bytes_sent();
    if (report_.wants_times()) {
        const std::chrono::duration<double> time =
            std::chrono::steady_clock::now() - operation.start;
        record.seconds = time.count();
    }
    report_.add(record);
    if (const int code = operation.exchange.error(); code != MPI_SUCCESS) {
        requests_.add_failure(operation.request, {operation.comm, code});
    }
    if (operation.persistent == nullptr) {
        mpi.Grequest_complete(operation.request);
    } else {
        mpi.Send(nullptr, 0, MPI_BYTE, 0, operation.persistent->tag, self_);
    }
}

} // namespace nodeaware
