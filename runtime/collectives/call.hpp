#pragma once

#include "runtime/collectives/blocks.hpp"
#include "runtime/collectives/execute.hpp"
#include "runtime/collectives/nonblocking.hpp"
#include "runtime/communicators/communicator.hpp"
#include "runtime/job/log.hpp"
#include "runtime/memory/device_memory.hpp"
#include "runtime/requests/library.hpp"
#include "strategies/forecast.hpp"

#include <chrono>
#include <memory>
#include <utility>

namespace nodeaware {

inline void count_native_messages(const InnerCommunicator& inner, const Exchange& exchange,
                                  CallRecord& record) {
    const Topology& topology = inner.topology();
    const int node = topology.node_of(inner.rank());
    for (const Outgoing& message : exchange.traffic.outgoing) {
        record.bytes += message.bytes;
        if (topology.node_of(message.peer) == node) { continue; }
        ++record.node_messages;
        record.node_bytes += message.bytes;
    }
}

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A call that this thread leaves to MPI: what is to be done when it is over.
struct LeftToMpi {
    Selected selected;
    CallRecord record;
    Clock::time_point start;
    Communicator* unprepared = nullptr; ///< waits for a meeting if MPI accepts the call
};
inline thread_local LeftToMpi left_to_mpi;

/// One intercepted call on its way. `fill` lists the messages in the exchange, and returns the
/// bytes of a block if all ranks know that all blocks have that size, else 0. Every decision here
/// is one that all ranks of the communicator take alike.
template <class Fill> class Call {
  public:
    Call(Operation operation, MPI_Comm comm, Fill fill) : comm_(comm), fill_(fill) {
        record_.operation = operation;
    }

    bool run(int* result) {
        library->progress.before_blocking();
        const auto start = Clock::now();
        Selected selected;
        record_.reason = attempt(result, selected);
        if (record_.reason != Reason::none) {
            left_to_mpi = {selected, record_, start, nullptr};
            return false;
        }
        if (library->report.wants_times()) { record_.seconds = seconds_since(start); }
        library->report.add(record_);
        return true;
    }

  private:
    Reason attempt(int* result, Selected& selected) {
        const Choice& choice = library->world.options.choice(record_.operation);
        if (choice.kind == Choice::Kind::native) { return Reason::chosen; }
        if (comm_ == MPI_COMM_NULL) { return Reason::invalid_arguments; }
        Communicator& communicator = Communicator::of(comm_, library->world);
        const Reason obstacle = communicator.obstacle(record_.operation);
        if (obstacle != Reason::none) { return obstacle; }
        InnerCommunicator& inner = communicator.inner();
        Exchange& exchange = inner.exchange();
        exchange.clear();
        look_for_devices();
        exchange.operation = record_.operation;
        uint64_t uniform_bytes = 0;
        try {
            uniform_bytes = fill_(communicator, exchange);
            if (exchange.in_place) { stage_outgoing(exchange, inner.comm()); }
            number_memory(exchange);
        } catch (const InvalidArguments&) {
            return Reason::invalid_arguments;
        } catch (const MpiError&) { return Reason::invalid_arguments; }
        if (library->report.wants_times()) { count_native_messages(inner, exchange, record_); }
        try {
            selected =
                communicator.selection().select(inner, record_.operation, choice, uniform_bytes);
        } catch (const MpiError& error) {
            // The other ranks may have selected a strategy: the native call would wait for them.
            *result = error.code;
            mpi.Comm_call_errhandler(comm_, error.code);
            return Reason::none;
        }
        record_.is_measured = selected.is_measured;
        record_.learning_seconds = selected.learning_seconds;
        if (selected.strategy == nullptr) { return Reason::native_is_faster; }
        record_.strategy = selected.strategy;
        *result = execute(comm_, inner, exchange, selected, record_);
        if (selected.is_measured) { selected.learn_time(); }
        return Reason::none;
    }

    MPI_Comm comm_;
    Fill fill_;
    CallRecord record_;
};

/// A nonblocking or persistent call on its way. All ranks decide alike, for they have made the same
/// calls on the communicator before.
template <class Fill> class NonblockingCall {
  public:
    NonblockingCall(Operation operation, MPI_Comm comm, Fill fill, bool is_persistent,
                    MPI_Request* request)
        : comm_(comm), fill_(fill), is_persistent_(is_persistent), request_(request) {
        record_.operation = operation;
    }

    bool run(int* result) {
        const auto start = Clock::now();
        record_.reason = attempt(result);
        if (record_.reason == Reason::none) { return true; }
        left_to_mpi = {{}, record_, start, unprepared_};
        return false;
    }

  private:
    Reason attempt(int* result) {
        const Choice& choice = library->world.options.choice(record_.operation);
        if (choice.kind == Choice::Kind::native) { return Reason::chosen; }
        if (comm_ == MPI_COMM_NULL || request_ == nullptr) { return Reason::invalid_arguments; }
        // Making a persistent request may wait for others, beginning an operation must not.
        Communicator& communicator = is_persistent_
                                         ? Communicator::with_context(comm_, library->world)
                                         : Communicator::as_it_is(comm_);
        if (communicator.context() == nullptr ||
            communicator.obstacle(record_.operation) != Reason::none) {
            return why_not(communicator, record_.operation);
        }
        Exchange exchange;
        const Reason reason = fill(communicator, exchange, choice);
        if (reason != Reason::none) { return reason; }
        *result = MPI_SUCCESS;
        try {
            begin(communicator.context(), std::move(exchange));
        } catch (const MpiError& error) {
            // The other ranks have begun: the native call would wait for them.
            *result = error.code;
            mpi.Comm_call_errhandler(comm_, error.code);
        }
        return Reason::none;
    }

    Reason why_not(Communicator& communicator, Operation operation) {
        for (const Reason reason :
             {communicator.context_obstacle(), communicator.obstacle(operation)}) {
            if (reason != Reason::not_prepared && reason != Reason::none) { return reason; }
        }
        unprepared_ = &communicator;
        return Reason::not_prepared;
    }

    Reason fill(Communicator& communicator, Exchange& exchange, const Choice& choice) {
        look_for_devices();
        exchange.operation = record_.operation;
        uint64_t uniform_bytes = 0;
        try {
            uniform_bytes = fill_(communicator, exchange);
        } catch (const InvalidArguments&) {
            return Reason::invalid_arguments;
        } catch (const MpiError&) { return Reason::invalid_arguments; }
        const InnerCommunicator& inner = communicator.inner();
        if (library->report.wants_times()) { count_native_messages(inner, exchange, record_); }
        if (choice.kind == Choice::Kind::automatic && uniform_bytes > 0 &&
            !gathering_pays(inner.topology(), uniform_bytes, inner.parameters().costs)) {
            return Reason::native_is_faster;
        }
        return Reason::none;
    }

    void begin(const std::shared_ptr<NonblockingContext>& context, Exchange exchange) {
        static const Strategy* const gathered = find_strategy("gathered");
        record_.strategy = gathered;
        if (is_persistent_) {
            library->nonblocking->make_persistent(context, std::move(exchange), record_, comm_,
                                                  request_);
            return;
        }
        if (exchange.in_place) { stage_outgoing(exchange, context->inner().comm()); }
        library->nonblocking->begin(context, std::move(exchange), record_, comm_, request_);
    }

    MPI_Comm comm_;
    Fill fill_;
    bool is_persistent_;
    MPI_Request* request_;
    Communicator* unprepared_ = nullptr;
    CallRecord record_;
};

/// Runs a call; the hooks must not throw into the application, whose call stack may be C or
/// Fortran. What fails here leaves the call to MPI.
template <class Run> bool run_guarded(Operation operation, Run run) {
    try {
        return run();
    } catch (const std::exception& error) {
        log(LogLevel::warn, "{}: {}", name_of(operation), error.what());
        left_to_mpi = {};
        left_to_mpi.record.operation = operation;
        left_to_mpi.record.reason = Reason::internal_failure;
        left_to_mpi.start = Clock::now();
        return false;
    }
}

} // namespace nodeaware
