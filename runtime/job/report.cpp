#include "runtime/job/report.hpp"

namespace nodeaware {

void Report::count(const CallRecord& record) {
    const bool is_native = record.reason != Reason::none;
    const Counted::Row values = {
        is_native ? 1U : 0U,  is_native ? 0U : 1U,  record.built ? 1U : 0U,
        record.bytes,         record.node_messages, record.node_bytes,
        record.sent_messages, record.sent_bytes,    static_cast<uint64_t>(record.seconds * 1e9)};
    Row& row = rows_[static_cast<size_t>(record.operation)];
    for (size_t i = 0; i < values.size(); ++i) {
        row[i].fetch_add(values[i], std::memory_order_relaxed);
    }
    (is_native ? device_native_ : device_rerouted_).add(record.device);
    reasons_[static_cast<size_t>(record.reason)].fetch_add(1, std::memory_order_relaxed);
    if (record.strategy != nullptr) {
        const auto place = record.strategy - strategies().data();
        by_strategy_[static_cast<size_t>(place)].fetch_add(1, std::memory_order_relaxed);
    }
    if (record.is_measured) { measured_calls_.fetch_add(1, std::memory_order_relaxed); }
    learning_nanoseconds_.fetch_add(static_cast<uint64_t>(record.learning_seconds * 1e9),
                                    std::memory_order_relaxed);
}

void Report::add(const CallRecord& record) {
    count(record);
    if (told_ != nullptr) { told_(record); }
}

Counted Report::counted() const {
    Counted sums;
    for (size_t i = 0; i < rows_.size(); ++i) {
        std::copy(rows_[i].begin(), rows_[i].end(), sums.operations[i].begin());
    }
    std::copy(reasons_.begin(), reasons_.end(), sums.reasons.begin());
    sums.by_strategy.assign(by_strategy_.begin(), by_strategy_.end());
    sums.measured_calls = measured_calls_;
    sums.learning_nanoseconds = learning_nanoseconds_;
    sums.devices = {device_rerouted_.values(), device_native_.values(),
                    DeviceCounting::of_messages.values()};
    return sums;
}

} // namespace nodeaware
