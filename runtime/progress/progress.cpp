#include "runtime/progress/progress.hpp"

#include "runtime/progress/clock.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace nodeaware {

void Progress::remove(WorkSource& source) { std::erase(sources_, &source); }

bool Progress::is_busy() const {
    const Turn turn;
    return has_failed_.load(std::memory_order_relaxed) ||
           std::any_of(sources_.begin(), sources_.end(),
                       [](const WorkSource* source) { return source->is_busy(); });
}

void Progress::keep(std::exception_ptr failure) {
    const std::lock_guard lock(failed_mutex_);
    if (failed_ == nullptr) { failed_ = std::move(failure); }
    has_failed_.store(true, std::memory_order_relaxed);
}

void Progress::tell_of_failure() {
    if (!has_failed_.load(std::memory_order_relaxed)) { return; }
    std::exception_ptr failure;
    {
        const std::lock_guard lock(failed_mutex_);
        failure = std::exchange(failed_, nullptr);
        has_failed_.store(false, std::memory_order_relaxed);
    }
    if (failure != nullptr) { std::rethrow_exception(failure); }
}

void Progress::advance_inside() noexcept {
    const Turn turn;
    for (WorkSource* source : sources_) {
        try {
            if (source->is_busy()) { source->advance(); }
        } catch (...) { keep(std::current_exception()); }
    }
}

void Progress::advance() {
    const Turn turn;
    tell_of_failure();
    for (WorkSource* source : sources_) {
        if (source->is_busy()) { source->advance(); }
    }
}

void Progress::advance_in_passing() {
    if (!is_busy()) { return; }
    const double start = now();
    if (start < next_in_passing_.load(std::memory_order_relaxed)) { return; }
    advance();
    const double end = now();
    constexpr double most = 25e-3; // it may only have waited for the processor
    next_in_passing_.store(end + std::min(4 * (end - start), most), std::memory_order_relaxed);
}

/// Others wait for what each of them lets go.
void Progress::before_blocking() {
    const Turn turn;
    std::exception_ptr failed;
    for (WorkSource* source : sources_) {
        try {
            source->before_blocking();
        } catch (...) { failed = std::current_exception(); }
    }
    if (failed) { std::rethrow_exception(failed); }
}

void Progress::before_blocking_later() noexcept {
    try {
        before_blocking();
    } catch (...) { keep(std::current_exception()); }
}

} // namespace nodeaware
