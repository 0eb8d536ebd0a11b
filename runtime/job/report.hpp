#pragma once

#include "runtime/job/device_counts.hpp"
#include "runtime/job/operation.hpp"
#include "runtime/job/reason.hpp"
#include "runtime/job/world.hpp"

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

/// Counts calls; threads may count at the same time.
class Report {
  public:
    void open(const Options& options) { wants_times_ = options.report || !options.trace.empty(); }
    /// `told` is told of every call that is counted.
    void tell(void (*told)(const CallRecord& record)) { told_ = told; }
    bool wants_times() const { return wants_times_; }
    void add(const CallRecord& record);

    /// A number beside the calls, for the report.
    struct Note {
        std::string_view text;
        uint64_t value = 0;
    };

    /// Collective over MPI_COMM_WORLD: rank 0 prints the sums over all ranks, if the options ask
    /// for it. The `notes` have the same texts on all ranks; sums of 0 are not printed.
    void close(const World& world, const std::vector<Note>& notes);

  private:
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
    using Row = std::array<std::atomic<uint64_t>, columns>;

    std::array<Row, operation_count> rows_{};
    std::array<std::atomic<uint64_t>, reason_count> reasons_{};
    std::vector<std::atomic<uint64_t>> by_strategy_ = std::vector<std::atomic<uint64_t>>(
        strategies().size()); ///< calls, in the order of the list
    DeviceSums device_rerouted_;
    DeviceSums device_native_;
    std::atomic<uint64_t> measured_calls_ = 0;
    std::atomic<uint64_t> learning_nanoseconds_ = 0;
    bool wants_times_ = false;
    void (*told_)(const CallRecord& record) = nullptr;
};

} // namespace nodeaware
