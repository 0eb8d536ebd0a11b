#pragma once

#include "runtime/job/device_counts.hpp"
#include "runtime/job/operation.hpp"
#include "runtime/job/reason.hpp"
#include "runtime/job/world.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace nodeaware {

/// What one call came to, for NODEAWARE_REPORT and NODEAWARE_TRACE.
struct CallRecord {
    Operation operation = Operation::alltoallv;
    Reason reason = Reason::none;
    const Strategy* strategy = nullptr; ///< nullptr: native
    bool built = false;                 ///< a schedule was built for it
    uint64_t bytes = 0;                 ///< that this rank sends
    uint64_t node_messages = 0;         ///< to other nodes, as the application sends them
    uint64_t node_bytes = 0;
    uint64_t sent_messages = 0; ///< to other nodes, as they were sent
    uint64_t sent_bytes = 0;
    double seconds = 0;
    bool is_measured = false;    ///< to compare strategies
    double learning_seconds = 0; ///< what such comparisons have cost, when that becomes known
    DeviceCounts device;
};

/// What calls have come to, of one rank or of all.
struct Counted {
    enum Column {
        native,
        rerouted,
        built,
        bytes,
        node_messages,
        node_bytes,
        sent_messages,
        sent_bytes,
        nanoseconds,
        columns
    };
    using Row = std::array<uint64_t, columns>;
    /// What memory of devices was moved for.
    static constexpr std::array<std::string_view, 3> device_uses = {
        "rerouted calls", "calls left to MPI", "point-to-point"};

    std::array<Row, operation_count> operations{};
    std::array<uint64_t, reason_count> reasons{};
    std::vector<uint64_t> by_strategy; ///< calls, in the order of the list
    uint64_t measured_calls = 0;       ///< to compare strategies
    uint64_t learning_nanoseconds = 0;
    std::array<DeviceSums::Values, device_uses.size()> devices{};

    /// Calls `work` with each of the numbers, always in the same order.
    template <class Work> void each(Work work) {
        for (Row& row : operations) { std::for_each(row.begin(), row.end(), work); }
        std::for_each(reasons.begin(), reasons.end(), work);
        std::for_each(by_strategy.begin(), by_strategy.end(), work);
        work(measured_calls);
        work(learning_nanoseconds);
        for (auto& values : devices) { std::for_each(values.begin(), values.end(), work); }
    }
};

/// Counts calls; threads may count at the same time.
class Report {
  public:
    void open(const Options& options) { wants_times_ = options.report || !options.trace.empty(); }
    /// `told` is told of every call that is counted.
    void tell(void (*told)(const CallRecord& record)) { told_ = told; }
    bool wants_times() const { return wants_times_; }
    void add(const CallRecord& record);
    /// The same of a call that traces have among those that make communicators.
    void count(const CallRecord& record);
    /// Of this rank, so far.
    Counted counted() const;

    /// A number beside the calls, for the report.
    struct Note {
        std::string_view text;
        uint64_t value = 0;
    };

  private:
    using Row = std::array<std::atomic<uint64_t>, Counted::columns>;

    std::array<Row, operation_count> rows_{};
    std::array<std::atomic<uint64_t>, reason_count> reasons_{};
    std::vector<std::atomic<uint64_t>> by_strategy_ =
        std::vector<std::atomic<uint64_t>>(strategies().size());
    DeviceSums device_rerouted_;
    DeviceSums device_native_;
    std::atomic<uint64_t> measured_calls_ = 0;
    std::atomic<uint64_t> learning_nanoseconds_ = 0;
    bool wants_times_ = false;
    void (*told_)(const CallRecord& record) = nullptr;
};

} // namespace nodeaware
