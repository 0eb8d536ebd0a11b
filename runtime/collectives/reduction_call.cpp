#include "runtime/collectives/reduction_call.hpp"

#include "runtime/collectives/call.hpp"
#include "runtime/collectives/exchange_arguments.hpp"
#include "runtime/collectives/reduction_kind.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/requests/library.hpp"

#include <exception>

namespace nodeaware {

namespace {

/// Above this MPI's algorithms, which divide the terms among the ranks, are better.
constexpr uint64_t most_bytes = 1024;
/// A communicator is worth what is kept for it once it is used so often.
constexpr int calls_before = 30;

/// Open MPI takes one element from where the result goes, without MPI_IN_PLACE: a rank that is not
/// refused must not leave the others alone.
abi::MPI_Count most_in_the_same_place() { return is_open_mpi() ? 1 : 0; }

bool is_on_device(const void* buffer) { return device::locate(buffer).is_on_device; }

} // namespace

ReductionCall::ReductionCall(const abi::Reduction& reduction, MPI_Comm comm)
    : comm_(comm),
      count_(reduction.count), reduction_{.sent = reduction.sent,
                                          .received = reduction.received,
                                          .count = 0,
                                          .type = exchange_arguments::native(reduction.type),
                                          .op = exchange_arguments::native(reduction.op),
                                          .bytes = 0} {
    record_.operation = Operation::allreduce;
}

/// By the arguments alone: a call that MPI would accept, and might be one for us.
bool ReductionCall::is_candidate() const {
    const void* const received = reduction_.received;
    return count_ > 0 && count_ <= static_cast<abi::MPI_Count>(most_bytes) &&
           comm_ != MPI_COMM_NULL && received != nullptr && received != MPI_IN_PLACE &&
           reduction_.sent != nullptr &&
           (reduction_.sent != received || count_ <= most_in_the_same_place());
}

abi::Offered ReductionCall::run(int* result) {
    try {
        return attempt(result);
    } catch (const std::exception& error) {
        *result = raise(comm_, record_.operation, error);
        return abi::Offered::done;
    }
}

abi::Offered ReductionCall::attempt(int* result) {
    if (!is_candidate()) { return abi::Offered::left_alone; }
    const ReductionKind kind = reduction_kind(reduction_.op, reduction_.type);
    const Choice& choice = library->world.options.choice(Operation::allreduce);
    const bool may_change_bits = kind == ReductionKind::bits_may_change;
    if (kind == ReductionKind::unknown || (may_change_bits && !choice.reorders)) {
        return abi::Offered::left_alone;
    }
    looks_at_terms_ = kind == ReductionKind::order_free_if_in;
    reduction_.count = static_cast<int>(count_);
    reduction_.bytes = inspect(reduction_.type).size * static_cast<uint64_t>(count_);
    if (reduction_.bytes > most_bytes) { return abi::Offered::left_alone; }
    Communicator* const found = find_communicator(comm_, result);
    if (found == nullptr) { return abi::Offered::done; }
    Communicator& communicator = *found;
    if (communicator.look(comm_, library->world) != Reason::none) {
        return abi::Offered::left_alone;
    }
    if (communicator.reductions < calls_before) {
        ++communicator.reductions;
        return abi::Offered::left_alone;
    }
    const auto start = Clock::now();
    record_.bytes = reduction_.bytes;
    Selected selected;
    library->progress.before_blocking();
    record_.reason = run_with_others(communicator, result, selected);
    if (record_.reason != Reason::none) {
        left_to_mpi = {selected, record_, start, nullptr};
        return abi::Offered::left_and_counted;
    }
    if (library->report.wants_times()) { record_.seconds = seconds_since(start); }
    library->report.add(record_);
    return abi::Offered::done;
}

bool ReductionCall::may_read_terms() const {
    device::look_for_driver();
    const bool may_be_on_device = device::driver() != nullptr;
    if (may_be_on_device &&
        (is_on_device(reduction_.received) || is_on_device(reduction_.terms()))) {
        return false;
    }
    return !looks_at_terms_ ||
           are_order_free(reduction_.terms(), static_cast<uint64_t>(reduction_.count),
                          reduction_.bytes / static_cast<uint64_t>(reduction_.count));
}

/// Collective over the communicator.
Reason ReductionCall::run_with_others(Communicator& communicator, int* result, Selected& selected) {
    communicator.prepare(comm_, library->world);
    const Reason obstacle = communicator.obstacle(record_.operation);
    if (obstacle != Reason::none) { return obstacle; }
    InnerCommunicator& inner = communicator.inner();
    const Choice& choice = library->world.options.choice(record_.operation);
    Exchange& exchange = inner.exchange();
    exchange.clear();
    exchange.operation = record_.operation;
    selected = communicator.selection().select(inner, exchange, choice,
                                               NodeReduction::block_bytes(reduction_.bytes));
    record_.is_measured = selected.is_measured;
    record_.learning_seconds = selected.learning_seconds;
    if (selected.strategy == nullptr) { return Reason::native_is_faster; }
    NodeReduction by_nodes(inner, reduction_);
    *result = by_nodes.run(may_read_terms(), selected, record_);
    if (*result == MPI_SUCCESS && !by_nodes.is_done()) { return Reason::order_matters; }
    record_.strategy = selected.strategy;
    if (selected.is_measured) { selected.learn_time(); }
    if (*result != MPI_SUCCESS) { mpi.Comm_call_errhandler(comm_, *result); }
    return Reason::none;
}

} // namespace nodeaware
