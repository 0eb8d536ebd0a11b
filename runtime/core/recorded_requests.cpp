#include "runtime/core/recorded_requests.hpp"

#include <atomic>
#include <map>
#include <mutex>

namespace nodeaware::recorded_requests {

namespace {

class Requests {
  public:
    void add(MPI_Request request, const Known& known) {
        constexpr size_t most = 16384;
        const std::lock_guard guard(mutex_);
        if (known_.size() >= most) { return; }
        known_.insert_or_assign(request, known);
        count();
    }
    void forget(MPI_Request request) {
        const std::lock_guard guard(mutex_);
        known_.erase(request);
        count();
    }
    std::optional<Known> find(MPI_Request request) {
        if (!is_any_.load(std::memory_order_relaxed)) { return std::nullopt; }
        const std::lock_guard guard(mutex_);
        const auto found = known_.find(request);
        return found == known_.end() ? std::nullopt : std::optional(found->second);
    }
    bool is_any() const { return is_any_.load(std::memory_order_relaxed); }

  private:
    void count() { is_any_.store(!known_.empty(), std::memory_order_relaxed); }

    std::mutex mutex_;
    std::map<MPI_Request, Known> known_;
    std::atomic<bool> is_any_{false}; ///< most programs have none, and wait often
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
    if (requests == nullptr || !all().is_any()) { return; }
    try {
        for (int i = 0; i < count; ++i) {
            const auto known = find(requests[i]);
            if (known && known->is_exchange) { places_.push_back({i, requests[i], *known}); }
        }
    } catch (const std::bad_alloc&) { places_.clear(); }
}

std::vector<int> Awaited::done() {
    std::vector<int> patterns;
    for (const Place& place : places_) {
        const bool is_over = !place.known.is_persistent && requests_[place.index] != place.request;
        if (is_over) { forget(place.request); }
        patterns.push_back(place.known.pattern);
    }
    return patterns;
}

} // namespace nodeaware::recorded_requests
