#include "runtime/collectives/nonblocking.hpp"

#include "runtime/collectives/blocks.hpp"
#include "runtime/job/log.hpp"
#include "runtime/mpi/errors_return.hpp"
#include "runtime/progress/activity.hpp"
#include "runtime/requests/library.hpp"

#include <algorithm>
#include <new>
#include <utility>

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

/// Collectives cannot be; MPICH says nothing.
int cancel(void* /*state*/, int /*complete*/) {
    return is_open_mpi() ? MPI_ERR_REQUEST : MPI_SUCCESS;
}

} // namespace

Nonblocking::~Nonblocking() {
    if (self_ != MPI_COMM_NULL) { mpi.Comm_free(&self_); }
}

void Nonblocking::begin(std::shared_ptr<NonblockingContext> context, Exchange exchange,
                        const CallRecord& record, MPI_Comm comm, MPI_Request* request) {
    const std::lock_guard lock(mutex_);
    try {
        auto types = std::make_unique<KeptTypes>(exchange);
        UnderWay& operation = add_generalized(record, comm, request);
        operation.types = std::move(types);
        show(operation, exchange);
        const DeviceCounting counting(operation.record.device);
        operation.exchange.emplace(std::move(context), std::move(exchange), MPI_SUCCESS);
    } catch (const std::bad_alloc&) { throw MpiError(MPI_ERR_NO_MEM, "nonblocking operation"); }
    begin_last();
}

/// With the lock held. The exchange is to follow, when nothing can fail any more.
Nonblocking::UnderWay& Nonblocking::add(const CallRecord& record, MPI_Comm comm) {
    under_way_.push_back(std::make_unique<UnderWay>(record, comm));
    return *under_way_.back();
}

Nonblocking::UnderWay& Nonblocking::add_generalized(const CallRecord& record, MPI_Comm comm,
                                                    MPI_Request* request) {
    UnderWay& operation = add(record, comm);
    if (const int code = mpi.Grequest_start(query, release, cancel, nullptr, request);
        code != MPI_SUCCESS) {
        under_way_.pop_back();
        throw MpiError(code, "MPI_Grequest_start");
    }
    operation.request = *request;
    return operation;
}

/// MPI is called without the lock: it may call an error handler.
int Nonblocking::begin_on_host(std::unique_ptr<HostBuffers> buffers, const Begin& begin,
                               const CallRecord& record, MPI_Comm comm, MPI_Request* request) {
    buffers->keep_types();
    auto exchange = std::make_shared<ExchangeOnHost>(std::move(buffers), comm);
    std::unique_lock lock(mutex_);
    UnderWay& operation = add_generalized(record, comm, request);
    lock.unlock();
    int code = MPI_SUCCESS;
    try {
        const DeviceCounting counting(operation.record.device);
        code = exchange->begin(begin);
    } catch (...) { // of an error handler
        lock.lock();
        take_back(operation, request);
        throw;
    }
    lock.lock();
    if (code != MPI_SUCCESS) {
        take_back(operation, request);
        return code;
    }
    operation.on_host = std::move(exchange);
    under_way_count_.fetch_add(1, std::memory_order_release);
    activity.requests.fetch_add(1, std::memory_order_relaxed);
    return code;
}

/// With the lock held. It has not begun.
void Nonblocking::take_back(const UnderWay& operation, MPI_Request* request) {
    mpi.Grequest_complete(*request);
    mpi.Wait(request, MPI_STATUS_IGNORE);
    std::erase_if(under_way_, [&](const auto& one) { return one.get() == &operation; });
}

/// To profilers.
void Nonblocking::show(UnderWay& operation, const Exchange& exchange) {
    if (!ranges::are_on) { return; }
    operation.range.open(name_of(operation.record.operation), operation.record.strategy->name,
                         exchange.bytes_sent());
}

/// With the lock held. Operations that began before are left alone, as there may be many; unless
/// they have to begin first.
void Nonblocking::begin_last() {
    under_way_count_.fetch_add(1, std::memory_order_release);
    activity.requests.fetch_add(1, std::memory_order_relaxed);
    if (has_to_begin_) {
        advance_locked();
        return;
    }
    const CompletionErrorsReturn errors_return;
    UnderWay& last = *under_way_.back();
    const bool is_done = last.progress();
    has_to_begin_ = !last.has_begun();
    if (!is_done) { return; }
    const auto finished = std::move(under_way_.back());
    under_way_.pop_back();
    finish(*finished);
}

MPI_Comm Nonblocking::self() {
    if (self_ == MPI_COMM_NULL) { self_ = InnerCommunicator::create_private(MPI_COMM_SELF); }
    return self_;
}

void Nonblocking::make_persistent(std::shared_ptr<NonblockingContext> context, Exchange exchange,
                                  const CallRecord& record, MPI_Comm comm, MPI_Request* request) {
    auto made = std::make_unique<Persistent>();
    made->context = std::move(context);
    made->types = std::make_unique<KeptTypes>(exchange);
    made->exchange = std::move(exchange);
    made->record = record;
    keep_persistent(std::move(made), comm, request);
}

int Nonblocking::make_persistent_on_host(std::unique_ptr<HostBuffers> buffers, const Begin& begin,
                                         const CallRecord& record, MPI_Comm comm,
                                         MPI_Request* request) {
    buffers->keep_types();
    auto made = std::make_unique<Persistent>();
    made->record = record;
    made->on_host = std::make_shared<ExchangeOnHost>(std::move(buffers), comm);
    if (const int code = made->on_host->make_persistent(begin); code != MPI_SUCCESS) {
        return code;
    }
    keep_persistent(std::move(made), comm, request);
    return MPI_SUCCESS;
}

/// Of a persistent request; the standard promises as many as there are here. Where all are in use,
/// one is used twice.
int Nonblocking::unused_tag() {
    const auto is_used = [&](int tag) {
        return std::any_of(persistent_.begin(), persistent_.end(),
                           [&](const auto& kept) { return kept.second->tag == tag; });
    };
    for (int tried = 0; tried < tags::first_nonblocking; ++tried) {
        const int tag = next_tag_++;
        if (next_tag_ == tags::first_nonblocking) {
            next_tag_ = 0;
            has_used_all_tags_ = true;
        }
        if (!has_used_all_tags_ || !is_used(tag)) { return tag; }
    }
    return next_tag_;
}

void Nonblocking::keep_persistent(std::unique_ptr<Persistent> made, MPI_Comm comm,
                                  MPI_Request* request) {
    const std::lock_guard lock(mutex_);
    made->comm = comm;
    made->tag = unused_tag();
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
}

/// The others will begin the operation, so this rank does in any case.
void Nonblocking::start(MPI_Request request, Persistent& persistent) {
    UnderWay& operation = add(persistent.record, persistent.comm);
    operation.request = request;
    operation.persistent = &persistent;
    begin_again(operation, persistent);
    begin_last();
}

void Nonblocking::begin_again(UnderWay& operation, Persistent& persistent) {
    const DeviceCounting counting(operation.record.device);
    if (persistent.on_host != nullptr) {
        persistent.on_host->start();
        operation.on_host = persistent.on_host;
        return;
    }
    Exchange exchange;
    int error = MPI_SUCCESS;
    try {
        exchange = persistent.exchange;
        look_where_it_is(exchange);
        if (exchange.in_place) { stage_outgoing(exchange, persistent.context->inner().comm()); }
    } catch (const MpiError& failure) { error = failure.code; } catch (const std::bad_alloc&) {
        error = MPI_ERR_NO_MEM;
    }
    show(operation, exchange);
    operation.exchange.emplace(persistent.context, std::move(exchange), error);
}

void Nonblocking::freed(MPI_Request request) {
    const std::lock_guard lock(mutex_);
    if (!is_under_way(request) && persistent_.erase(request) > 0) {
        activity.requests.fetch_sub(1, std::memory_order_relaxed);
    }
}

bool Nonblocking::is_persistent(MPI_Request request) {
    const std::lock_guard lock(mutex_);
    return persistent_.count(request) > 0;
}

bool Nonblocking::is_under_way(MPI_Request request) const {
    return std::any_of(under_way_.begin(), under_way_.end(),
                       [&](const auto& operation) { return operation->request == request; });
}

void Nonblocking::advance() {
    const std::lock_guard lock(mutex_);
    advance_locked();
}

/// With the lock held. Of many operations the oldest are looked after, which will mostly end first,
/// and a few of the others in turn: each look lets MPI work, which takes its time.
void Nonblocking::advance_locked() {
    if (under_way_.empty()) { return; }
    const CompletionErrorsReturn errors_return;
    std::vector<std::unique_ptr<UnderWay>> finished;
    const auto look_after = [&](size_t i) {
        if (under_way_[i] != nullptr && under_way_[i]->progress()) {
            finished.push_back(std::move(under_way_[i]));
        }
    };
    constexpr size_t few = 8;
    const size_t count = under_way_.size();
    const bool all = has_to_begin_ || count <= 2 * few;
    for (size_t i = 0; i < (all ? count : few); ++i) { look_after(i); }
    for (size_t i = 0; i < (all ? 0 : few); ++i) { look_after(few + turn_++ % (count - few)); }
    if (!finished.empty()) { std::erase(under_way_, nullptr); }
    if (has_to_begin_) {
        has_to_begin_ = std::any_of(under_way_.begin(), under_way_.end(),
                                    [](const auto& operation) { return !operation->has_begun(); });
    }
    for (const auto& operation : finished) { finish(*operation); }
}

/// Sent by this rank since the last record: those of an operation, and what travels with it.
void Nonblocking::count_containers(CallRecord& record) {
    if (library->mailboxes == nullptr || library->world.threads_at_once) { return; }
    const Mailboxes::Counts& counts = library->mailboxes->counts();
    const uint64_t containers = counts.containers + counts.apart;
    record.sent_messages += containers - std::exchange(told_containers_, containers);
    record.sent_bytes += counts.bytes - std::exchange(told_bytes_, counts.bytes);
}

void Nonblocking::report(UnderWay& operation) {
    CallRecord& record = operation.record;
    if (operation.exchange) {
        record.sent_messages = operation.exchange->messages_sent();
        record.sent_bytes = operation.exchange->bytes_sent();
        count_containers(record);
    }
    if (report_.wants_times()) {
        const std::chrono::duration<double> time =
            std::chrono::steady_clock::now() - operation.start;
        record.seconds = time.count();
    }
    report_.add(record);
}

void Nonblocking::finish(UnderWay& operation) {
    under_way_count_.fetch_sub(1, std::memory_order_release);
    report(operation);
    if (const int code = operation.error(); code != MPI_SUCCESS) {
        requests_.add_failure(operation.request, {operation.comm, code});
    }
    // A failure has to be told, so not before it is known.
    activity.requests.fetch_sub(1, std::memory_order_relaxed);
    if (operation.persistent == nullptr) {
        mpi.Grequest_complete(operation.request);
    } else {
        mpi.Send(nullptr, 0, MPI_BYTE, 0, operation.persistent->tag, self_);
    }
}

} // namespace nodeaware
