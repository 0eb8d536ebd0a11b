#include "runtime/requests/requests.hpp"

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
    PersistentRequest& kept = persistent_[request];
    kept = persistent;
    // The application may free its datatype while the request lives.
    UserMemory& memory = kept.memory;
    if (memory.dense != nullptr || memory.bytes == 0) {
        memory.count = static_cast<MPI_Count>(memory.bytes);
        memory.type = MPI_BYTE;
        if (memory.dense != nullptr) { memory.address = memory.dense; }
    } else {
        MPI_CALL(Type_dup, memory.type, &kept.kept_type);
        memory.type = kept.kept_type;
    }
}

std::optional<RecentReceives::Receive> RecentReceives::take(MPI_Request request) {
    const Receive* const found = find(request);
    if (found == nullptr) { return std::nullopt; }
    return std::exchange(ring_[static_cast<size_t>(found - ring_.data())], Receive{});
}

const RecentReceives::Receive* RecentReceives::find(MPI_Request request) const {
    const size_t count = std::min(next_, ring_.size());
    for (size_t i = 1; i <= count; ++i) {
        const Receive& receive = ring_[(next_ - i) % ring_.size()];
        if (receive.request == request) { return &receive; }
    }
    return nullptr;
}

void RecentReceives::forget(const ReceiveObserver* observer) {
    for (Receive& receive : ring_) {
        if (receive.observer == observer) { receive.observer = nullptr; }
    }
}

bool Requests::may_cancel(MPI_Request request) const {
    if (observed_.count(request) > 0) { return true; }
    const RecentReceives::Receive* const receive = recent.find(request);
    return receive == nullptr || receive->observer == nullptr ||
           receive->observer->may_cancel(receive->source, receive->tag, receive->era);
}

void Requests::cancelled(MPI_Request request) {
    if (observed_.count(request) > 0) { return; }
    const auto receive = recent.take(request);
    if (!receive) { ++unknown_cancels; }
    if (!receive || receive->observer == nullptr) { return; }
    receive->observer->may_be_cancelled(receive->source, receive->tag);
    observed_[request] = receive->observer;
}

void Requests::forget(const ReceiveObserver* observer) {
    recent.forget(observer);
    std::erase_if(observed_, [&](const auto& entry) { return entry.second == observer; });
}

void Requests::freed(MPI_Request request) {
    if (const auto found = observed_.find(request); found != observed_.end()) {
        found->second->received_unknown();
        observed_.erase(found);
    }
    take_failure(request);
    const auto found = persistent_.find(request);
    if (found == persistent_.end()) { return; }
    PersistentRequest& persistent = found->second;
    if (persistent.active != MPI_REQUEST_NULL) {
        take_failure(persistent.active);
        mpi.Request_free(&persistent.active);
        --active_persistent;
    }
    if (persistent.kept_type != MPI_DATATYPE_NULL) { mpi.Type_free(&persistent.kept_type); }
    persistent_.erase(found);
}

#ifdef OPEN_MPI

int raise(const Requests::Failure& failure, bool several) {
    const bool has_communicator = failure.comm != MPI_COMM_NULL; // which may be freed since
    mpi.Comm_call_errhandler(has_communicator ? failure.comm : MPI_COMM_WORLD, failure.code);
    return several ? MPI_ERR_IN_STATUS : failure.code;
}

#else

/// MPICH raises errors of completing functions on MPI_COMM_WORLD.
int raise(const Requests::Failure& failure, bool several) {
    const int code = several ? MPI_ERR_IN_STATUS : failure.code;
    mpi.Comm_call_errhandler(MPI_COMM_WORLD, code);
    return code;
}

#endif

} // namespace nodeaware
