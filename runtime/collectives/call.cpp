#include "runtime/collectives/call.hpp"

#include "runtime/collectives/contexts.hpp"
#include "runtime/collectives/execute.hpp"
#include "runtime/collectives/nonblocking.hpp"
#include "runtime/communicators/self_communicator.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/job/log.hpp"
#include "runtime/requests/library.hpp"
#include "strategies/forecast.hpp"

#include <new>
#include <utility>

namespace nodeaware {

namespace {

void count_native_messages(const InnerCommunicator& inner, const Exchange& exchange,
                           CallRecord& record) {
    if (!library->report.wants_times()) { return; }
    const Topology& topology = inner.topology();
    const int node = topology.node_of(inner.rank());
    for (const Outgoing& message : exchange.traffic.outgoing) {
        record.bytes += message.bytes;
        if (topology.node_of(message.peer) == node) { continue; }
        ++record.node_messages;
        record.node_bytes += message.bytes;
    }
}

/// Surely, and cheaply told.
bool is_on_host(const Blocks& blocks) {
    if (blocks.buffer == MPI_IN_PLACE) { return true; }
    const bool is_one_piece = blocks.kind != Blocks::Kind::typed && blocks.buffer != MPI_BOTTOM;
    return is_one_piece && !device::locate(blocks.buffer).is_on_device;
}

/// What is known of a call that MPI would accept.
struct Accepted {
    BlockNumbers numbers;
    const Neighbors* neighbors = nullptr; ///< of an operation among neighbours
};

/// What this rank alone can say about a call: none if it may go on with the others. Throws
/// MpiError.
Reason look_at_arguments(MPI_Comm comm, Communicator& communicator,
                         const ExchangeArguments& arguments, Form form, Operation operation,
                         Accepted& accepted) {
    accepted.numbers = {communicator.size(), communicator.size(), communicator.rank()};
    if (arguments.is_with_neighbors) {
        const Neighbors& neighbors = communicator.neighbors(comm, operation);
        if (neighbors.topology == MPI_UNDEFINED) { return Reason::invalid_arguments; }
        accepted.numbers = {static_cast<int>(neighbors.destinations.size()),
                            static_cast<int>(neighbors.sources.size()), 0};
        accepted.neighbors = &neighbors;
    }
    const Examined examined = examine(arguments, accepted.numbers, form);
    if (examined == Examined::refused) { return Reason::invalid_arguments; }
    return examined == Examined::empty ? Reason::nothing_to_move : Reason::none;
}

/// The same, and the messages are listed. Throws MpiError and std::bad_alloc.
Reason look_alone(MPI_Comm comm, Communicator& communicator, const ExchangeArguments& arguments,
                  Form form, Exchange& exchange, uint64_t& uniform_bytes) {
    Accepted accepted;
    const Reason reason =
        look_at_arguments(comm, communicator, arguments, form, exchange.operation, accepted);
    if (reason != Reason::none) { return reason; }
    device::look_for_driver();
    uniform_bytes = arguments.list(comm, communicator, exchange);
    return Reason::none;
}

} // namespace

Communicator* find_communicator(MPI_Comm comm, int* result) {
    try {
        return &Communicator::as_it_is(comm);
    } catch (const MpiError& error) {
        *result = error.code;
        return nullptr;
    }
}

int raise(MPI_Comm comm, Operation operation, const std::exception& error) {
    int code = MPI_ERR_INTERN;
    if (const auto* in_mpi = dynamic_cast<const MpiError*>(&error)) { code = in_mpi->code; }
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) { code = MPI_ERR_NO_MEM; }
    log(LogLevel::warn, "{}: {}", name_of(operation), error.what());
    mpi.Comm_call_errhandler(comm, code);
    return code;
}

bool may_need_host_buffers() {
    device::look_for_driver();
    return device::driver() != nullptr && !device::mpi_is_aware();
}

std::unique_ptr<HostBuffers> host_buffers(MPI_Comm comm, const ExchangeArguments& arguments,
                                          Form form) {
    const CallRecord& record = left_to_mpi.record;
    if (record.reason == Reason::invalid_arguments || comm == MPI_COMM_NULL) { return nullptr; }
    if (is_on_host(arguments.sent) && is_on_host(arguments.received)) { return nullptr; }
    Communicator& communicator = Communicator::as_it_is(comm);
    if (communicator.look(comm, library->world) == Reason::intercommunicator) { return nullptr; }
    Accepted accepted;
    const Reason reason =
        look_at_arguments(comm, communicator, arguments, form, record.operation, accepted);
    if (reason != Reason::none) { return nullptr; }
    auto buffers = std::make_unique<HostBuffers>(arguments, accepted.numbers, accepted.neighbors);
    if (!buffers->are_needed()) { return nullptr; }
    buffers->make();
    return buffers;
}

Call::Call(Operation operation, MPI_Comm comm, const ExchangeArguments& arguments)
    : comm_(comm), arguments_(arguments) {
    record_.operation = operation;
}

bool Call::run(int* result) {
    const auto start = Clock::now();
    Selected selected;
    const DeviceCounting counting(record_.device);
    try {
        library->progress.before_blocking();
        record_.reason = attempt(result, selected);
    } catch (const std::exception& error) {
        record_.reason = Reason::none;
        *result = raise(comm_, record_.operation, error);
    }
    if (record_.reason != Reason::none) {
        left_to_mpi = {selected, record_, start, nullptr};
        return false;
    }
    if (library->report.wants_times()) { record_.seconds = seconds_since(start); }
    library->report.add(record_);
    return true;
}

Reason Call::attempt(int* result, Selected& selected) {
    const Choice& choice = library->world.options.choice(record_.operation);
    if (choice.kind == Choice::Kind::native) { return Reason::chosen; }
    if (comm_ == MPI_COMM_NULL) { return Reason::invalid_arguments; }
    Communicator* const communicator = find_communicator(comm_, result);
    if (communicator == nullptr) { return Reason::none; }
    const Reason obstacle = communicator->look(comm_, library->world);
    const bool only_relays = communicator->may_relay(record_.operation, choice);
    if (obstacle != Reason::none && !only_relays) {
        const bool is_scarce = communicator->obstacle(record_.operation) == Reason::no_resources;
        return is_scarce ? Reason::no_resources : obstacle;
    }
    Exchange first;
    const bool is_prepared = communicator->has_inner();
    Exchange& exchange = is_prepared ? communicator->inner().exchange() : first;
    exchange.clear();
    exchange.operation = record_.operation;
    uint64_t uniform_bytes = 0;
    const Reason reason =
        look_alone(comm_, *communicator, arguments_, Form::blocking, exchange, uniform_bytes);
    if (reason != Reason::none) { return reason; }
    if (only_relays && !communicator->relays(choice, uniform_bytes, library->world)) {
        return obstacle;
    }
    if (exchange.in_place) { stage_outgoing(exchange, self_communicator()); }
    number_memory(exchange);
    return run_with_others(choice, *communicator, exchange, uniform_bytes, result, selected);
}

/// Collective over the communicator.
Reason Call::run_with_others(const Choice& choice, Communicator& communicator, Exchange& exchange,
                             uint64_t uniform_bytes, int* result, Selected& selected) {
    communicator.prepare(comm_, library->world);
    const Reason obstacle = communicator.obstacle(record_.operation);
    if (obstacle != Reason::none) { return obstacle; }
    InnerCommunicator& inner = communicator.inner();
    count_native_messages(inner, exchange, record_);
    selected = communicator.selection().select(inner, exchange, choice, uniform_bytes);
    record_.is_measured = selected.is_measured;
    record_.learning_seconds = selected.learning_seconds;
    if (selected.strategy == nullptr) { return Reason::native_is_faster; }
    record_.strategy = selected.strategy;
    *result = execute(comm_, inner, exchange, selected, record_);
    if (selected.is_measured) { selected.learn_time(); }
    return Reason::none;
}

NonblockingCall::NonblockingCall(Operation operation, MPI_Comm comm,
                                 const ExchangeArguments& arguments, bool is_persistent,
                                 MPI_Request* request)
    : comm_(comm), arguments_(arguments), is_persistent_(is_persistent), request_(request) {
    record_.operation = operation;
}

bool NonblockingCall::run(int* result) {
    const auto start = Clock::now();
    const DeviceCounting counting(record_.device);
    try {
        record_.reason = attempt(result);
    } catch (const std::exception& error) {
        record_.reason = Reason::none;
        *result = raise(comm_, record_.operation, error);
    }
    if (record_.reason == Reason::none) { return true; }
    left_to_mpi = {{}, record_, start, unprepared_};
    return false;
}

Reason NonblockingCall::attempt(int* result) {
    const Choice& choice = library->world.options.choice(record_.operation);
    if (library->world.leaves_to_mpi(record_.operation)) {
        return choice.kind == Choice::Kind::native ? Reason::chosen : Reason::one_machine;
    }
    if (comm_ == MPI_COMM_NULL || request_ == nullptr) { return Reason::invalid_arguments; }
    Communicator* const communicator = find_communicator(comm_, result);
    if (communicator == nullptr) { return Reason::none; }
    const Reason obstacle = communicator->look(comm_, library->world);
    if (obstacle != Reason::none) { return obstacle; }
    // Making a persistent request may wait for others, beginning an operation must not.
    if (!is_persistent_ && (communicator->context() == nullptr ||
                            communicator->obstacle(record_.operation) != Reason::none)) {
        return why_not(*communicator);
    }
    Exchange exchange;
    exchange.operation = record_.operation;
    uint64_t uniform_bytes = 0;
    const Reason reason =
        look_alone(comm_, *communicator, arguments_,
                   is_persistent_ ? Form::persistent : Form::nonblocking, exchange, uniform_bytes);
    if (reason != Reason::none) { return reason; }
    if (is_persistent_) {
        contexts::prepare(comm_);
        if (communicator->context() == nullptr ||
            communicator->obstacle(record_.operation) != Reason::none) {
            return why_not(*communicator);
        }
    }
    *result = MPI_SUCCESS;
    return begin(choice, *communicator, std::move(exchange), uniform_bytes);
}

Reason NonblockingCall::why_not(Communicator& communicator) {
    for (const Reason reason :
         {communicator.context_obstacle(), communicator.obstacle(record_.operation)}) {
        if (reason != Reason::not_prepared && reason != Reason::none) { return reason; }
    }
    unprepared_ = &communicator;
    return Reason::not_prepared;
}

Reason NonblockingCall::begin(const Choice& choice, Communicator& communicator, Exchange exchange,
                              uint64_t uniform_bytes) {
    const InnerCommunicator& inner = communicator.inner();
    count_native_messages(inner, exchange, record_);
    if (choice.kind == Choice::Kind::automatic && uniform_bytes > 0 &&
        !gathering_pays(inner.topology(), uniform_bytes, inner.parameters().costs)) {
        return Reason::native_is_faster;
    }
    static const Strategy* const gathered = find_strategy("gathered");
    record_.strategy = gathered;
    if (is_persistent_) {
        auto context = communicator.next_persistent_context();
        if (context == nullptr) { return Reason::no_resources; }
        library->nonblocking->make_persistent(std::move(context), std::move(exchange), record_,
                                              comm_, request_);
    } else {
        if (exchange.in_place) { stage_outgoing(exchange, self_communicator()); }
        library->nonblocking->begin(communicator.context(), std::move(exchange), record_, comm_,
                                    request_);
    }
    return Reason::none;
}

} // namespace nodeaware
