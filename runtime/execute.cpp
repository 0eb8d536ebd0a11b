#include "runtime/library.hpp"
#include "runtime/log.hpp"
#include "runtime/mpi_machine.hpp"

#include <exception>

namespace nodeaware {

namespace {

void run_to_end(Execution<MpiMachine>& execution, Communicator& communicator) {
    Waiter& waiter = communicator.waiter();
    waiter.begin();
    while (true) {
        const uint32_t bell = communicator.arena().bell();
        const uint64_t before = execution.advances();
        if (execution.progress()) { return; }
        if (execution.advances() != before) {
            waiter.begin();
            continue;
        }
        const bool nothing_under_way = execution.under_way() == 0;
        if (nothing_under_way) { waiter.progress_mpi(); }
        waiter.pause(bell, nothing_under_way);
    }
}

int move(Communicator& communicator, const Exchange& exchange, const Strategy& strategy,
         CallRecord& record) {
    const uint32_t operation = communicator.next_operation();
    MpiMachine machine(communicator.handle(), communicator.arena(), exchange, operation);
    const auto pack = [&](const Schedule& schedule) {
        Execution<MpiMachine>::run_prologue(schedule, machine);
    };
    const auto [schedule, built] = communicator.agreement().agree(
        operation, {exchange.traffic, strategy, communicator.parameters(), exchange.sharing}, pack);
    communicator.arena().reset_counters(operation + 1, communicator.used_counters(operation + 1));
    communicator.used_counters(operation) = schedule->counters;

    Execution<MpiMachine> execution(*schedule, machine, operation);
    run_to_end(execution, communicator);
    record.built = built;
    record.sent_messages = schedule->node_messages_sent;
    record.sent_bytes = schedule->node_bytes_sent;
    return schedule->truncated ? MPI_ERR_TRUNCATE : machine.error();
}

} // namespace

int execute(MPI_Comm comm, Communicator& communicator, const Exchange& exchange,
            const Strategy& strategy, CallRecord& record) {
    int code = MPI_SUCCESS;
    try {
        code = move(communicator, exchange, strategy, record);
    } catch (const MpiError& error) {
        log(LogLevel::warn, "{}: {}", name_of(exchange.operation), error.what());
        code = error.code;
    } catch (const std::bad_alloc&) { code = MPI_ERR_NO_MEM; }
    if (code != MPI_SUCCESS) { mpi.Comm_call_errhandler(comm, code); }
    return code;
}

} // namespace nodeaware
