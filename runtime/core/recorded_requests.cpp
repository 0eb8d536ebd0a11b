#include "runtime/core/recorded_requests.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <new>

namespace nodeaware::recorded_requests {

namespace {

class Requests {
  public:
    void add(MPI_Request request, const Known& known) {
        constexpr size_t most = 16384;
        const std::lock_guard guard(mutex_);
        if (known_.size() >= most) { return; }
        erase(request);
        known_.emplace(request, known);
        exchanges_ += known.is_exchange ? 1 : 0;
    }
    void forget(MPI_Request request) {
        const std::lock_guard guard(mutex_);
        erase(request);
    }
    std::optional<Known> find(MPI_Request request) {
        const std::lock_guard guard(mutex_);
        const auto found = known_.find(request);
        return found == known_.end() ? std::nullopt : std::optional(found->second);
    }
    bool has_exchanges() const { return exchanges_.load(std::memory_order_relaxed) > 0; }

  private:
    void erase(MPI_Request request) {
        const auto found = known_.find(request);
        if (found == known_.end()) { return; }
        exchanges_ -= found->second.is_exchange ? 1 : 0;
        known_.erase(found);
    }

    std::mutex mutex_;
    std::map<MPI_Request, Known> known_;
    std::atomic<int> exchanges_{0}; ///< of these; most programs have none, and wait often
};

/// Never destroyed: programs call MPI_Finalize also after destructors have run.
Requests& all() {
    static auto* const requests = new Requests;
    return *requests;
}

} // namespace

void add(MPI_Request request, const Known& known) { all().add(request, known); }
void forget(MPI_Request request) { all().forget(request); }
std::optional<Known> find(MPI_Request request) { return all().find(request); }

Awaited::Awaited(int count, const MPI_Request* requests) : requests_(requests) {
    if (requests == nullptr || !all().has_exchanges()) { return; }
    try {
        for (int i = 0; i < count; ++i) {
            const auto known = find(requests[i]);
            if (!known || !known->is_exchange) { continue; }
            patterns_.push_back(known->pattern);
            if (!known->is_persistent) { places_.push_back({i, requests[i]}); }
        }
    } catch (const std::bad_alloc&) {} // those that there was room for
}

void Awaited::done() const {
    for (const Place& place : places_) {
        if (requests_[place.index] != place.request) { forget(place.request); }
    }
}

} // namespace nodeaware::recorded_requests
