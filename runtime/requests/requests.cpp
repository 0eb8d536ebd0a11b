#include "runtime/requests/requests.hpp"

#include "runtime/mpi/errors_return.hpp"
#include "runtime/progress/activity.hpp"

#include <algorithm>
#include <utility>

namespace nodeaware {

Requests::~Requests() {
    for (auto& [request, persistent] : persistent_) {
        if (persistent.kept_type != MPI_DATATYPE_NULL) { mpi.Type_free(&persistent.kept_type); }
    }
}

void Requests::add_failure(MPI_Request request, const Failure& failure) {
    const std::lock_guard lock(failure_mutex_);
    const auto [kept, is_new] = failures_.insert_or_assign(request, failure);
    if (is_new) { activity.requests.fetch_add(1, std::memory_order_relaxed); }
    failure_count_.store(static_cast<int>(failures_.size()), std::memory_order_release);
}

std::optional<Requests::Failure> Requests::find_failure(MPI_Request request) const {
    if (!has_failures()) { return std::nullopt; }
    const std::lock_guard lock(failure_mutex_);
    const auto found = failures_.find(request);
    return found == failures_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Requests::Failure> Requests::take_failure(MPI_Request request) {
    auto failure = find_failure(request);
    if (failure) {
        const std::lock_guard lock(failure_mutex_);
        if (failures_.erase(request) > 0) {
            activity.requests.fetch_sub(1, std::memory_order_relaxed);
        }
        failure_count_.store(static_cast<int>(failures_.size()), std::memory_order_release);
    }
    return failure;
}

void Requests::remember(MPI_Request request, const PersistentRequest& persistent) {
    forget_persistent(request);
    PersistentRequest& kept = persistent_[request];
    kept = persistent;
    // The application may free its datatype while the request lives.
    UserMemory& memory = kept.memory;
    if (memory.dense != nullptr || memory.bytes == 0) {
        memory.count = static_cast<MPI_Count>(memory.bytes);
        memory.type = MPI_BYTE;
        if (memory.dense != nullptr) { memory.address = memory.dense; }
    } else {
        kept.kept_type = keep_datatype(memory.type);
        memory.type = kept.kept_type;
    }
}

const NamedReceives::Receive* NamedReceives::find(MPI_Request request) const {
    const auto found = receives_.find(request);
    const bool is_known = found != receives_.end() && found->second.observer != nullptr;
    return is_known ? &found->second : nullptr;
}

void NamedReceives::forget(MPI_Request request) {
    const auto found = receives_.find(request); // its place will be needed again
    if (found != receives_.end()) { found->second.observer = nullptr; }
}

void NamedReceives::forget(const ReceiveObserver* observer) {
    for (auto& [request, receive] : receives_) {
        if (receive.observer == observer) { receive.observer = nullptr; }
    }
}

bool Requests::may_cancel(MPI_Request request) const {
    if (observed_.count(request) > 0) { return true; }
    const NamedReceives::Receive* const receive = named.find(request);
    return receive == nullptr ||
           receive->observer->may_cancel(receive->source, receive->tag, receive->era);
}

void Requests::cancelled(MPI_Request request) {
    if (observed_.count(request) > 0) { return; }
    const NamedReceives::Receive* const found = named.find(request);
    if (found == nullptr) { return; }
    const NamedReceives::Receive receive = *found;
    named.forget(request);
    receive.observer->may_be_cancelled(receive.source, receive.tag);
    observed_[request] = receive.observer;
}

void Requests::forget(const ReceiveObserver* observer) {
    named.forget(observer);
    std::erase_if(observed_, [&](const auto& entry) { return entry.second == observer; });
    std::vector<Kept> others;
    for (Kept& kept : std::exchange(kept_, {})) {
        if (kept.observer == observer) {
            mpi.Request_free(&kept.request);
        } else {
            others.push_back(kept);
        }
    }
    kept_.insert(kept_.end(), others.begin(), others.end());
}

void Requests::completed(MPI_Request request, const MPI_Status& status) {
    named.forget(request);
    const auto found = observed_.find(request);
    if (found == observed_.end()) { return; }
    ReceiveObserver* const observer = found->second;
    observed_.erase(found);
    observer->received(status);
}

void Requests::note_no_more() {
    are_noted_.store(false, std::memory_order_relaxed);
    observed_.clear();
    named.forget_all();
    free_kept();
    while (!persistent_.empty()) { forget_persistent(persistent_.begin()->first); }
}

bool Requests::freed(MPI_Request request) {
    named.forget(request); // first, for MPI will use the handle again, whatever fails here
    open_receives_.erase(request);
    forget_persistent(request);
    look_at_kept(); // there may be ever more
    const auto observed = observed_.find(request);
    const bool is_kept = observed != observed_.end();
    if (is_kept) {
        kept_.push_back({request, observed->second});
        observed_.erase(observed);
    }
    return is_kept;
}

void Requests::look_at_kept() {
    if (kept_.empty()) { return; }
    const CompletionErrorsReturn errors_return;
    for (size_t i = 0; i < kept_.size();) {
        int is_over = 0;
        MPI_Status status;
        const int code = mpi.Request_get_status(kept_[i].request, &is_over, &status);
        if (code == MPI_SUCCESS && is_over == 0) {
            ++i;
            continue;
        }
        Kept over = kept_[i];
        kept_.erase(kept_.begin() + static_cast<ptrdiff_t>(i));
        if (code == MPI_SUCCESS) {
            over.observer->received(status);
        } else {
            over.observer->received_unknown();
        }
        mpi.Request_free(&over.request); // the observer may end with it
    }
}

void Requests::free_kept() {
    for (Kept& kept : std::exchange(kept_, {})) { mpi.Request_free(&kept.request); }
}

void Requests::forget_persistent(MPI_Request request) {
    take_failure(request);
    const auto found = persistent_.find(request);
    if (found == persistent_.end()) { return; }
    PersistentRequest& persistent = found->second;
    if (persistent.active != MPI_REQUEST_NULL) {
        take_failure(persistent.active);
        open_receives_.erase(persistent.active);
        mpi.Request_free(&persistent.active);
        --active_persistent;
    }
    if (persistent.kept_type != MPI_DATATYPE_NULL) { mpi.Type_free(&persistent.kept_type); }
    persistent_.erase(found);
}

int raise(const Requests::Failure& failure, bool several) {
    const int code = several ? MPI_ERR_IN_STATUS : failure.code;
    if (is_open_mpi()) {
        const bool has_communicator = failure.comm != MPI_COMM_NULL; // which may be freed since
        mpi.Comm_call_errhandler(has_communicator ? failure.comm : MPI_COMM_WORLD, failure.code);
    } else {
        mpi.Comm_call_errhandler(raises_errors(), code);
    }
    return code;
}

} // namespace nodeaware
