#include "runtime/collectives/execute.hpp"

#include "runtime/collectives/mpi_transport.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/device/slabs.hpp"
#include "runtime/job/log.hpp"
#include "runtime/job/ranges.hpp"
#include "runtime/memory/copied_together.hpp"
#include "runtime/mpi/errors_return.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <sched.h>
#include <utility>

namespace nodeaware {

namespace {

/// While it lives, a waiting rank calls `check` now and then.
class Watch {
  public:
    Watch(Waiter& waiter, std::function<void()> check) : waiter_(waiter) {
        waiter_.set_check(std::move(check));
    }
    ~Watch() { waiter_.set_check(nullptr); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

  private:
    Waiter& waiter_;
};

/// That a rank looks for at a time.
constexpr int most_strays = 64;

/// Looks for messages left over from earlier operations, whose senders may wait for them to be
/// received. Returns the node that the last operation's came from, or -1.
int forget_the_past(MpiTransport& transport, const Topology& topology, uint32_t operation) {
    constexpr uint32_t past_operations = 4;
    int node = -1;
    for (uint32_t past = 1; past <= past_operations; ++past) {
        for (const auto kind : {tags::Kind::piece, tags::Kind::direct, tags::Kind::carrier}) {
            for (int i = 0; i < most_strays; ++i) {
                const int source = transport.discard_stray(tags::of(kind, operation - past),
                                                           [](int) { return false; });
                if (source < 0) { break; }
                if (past == 1) { node = topology.node_of(source); }
            }
        }
    }
    return node;
}

/// Looks for messages of this operation that nobody here expects.
void look_for_mismatch(MpiTransport& transport, const Execution<MpiTransport>& execution,
                       uint32_t operation) {
    const std::pair<tags::Kind, Action> kinds[] = {{tags::Kind::piece, Action::receive_piece},
                                                   {tags::Kind::direct, Action::receive_direct},
                                                   {tags::Kind::carrier, Action::receive_carrier}};
    for (const auto& [kind, action] : kinds) {
        for (int i = 0; i < most_strays; ++i) {
            const int source =
                transport.discard_stray(tags::of(kind, operation), [&, wanted = action](int peer) {
                    return execution.will_receive(wanted, peer);
                });
            if (source < 0) { break; }
            transport.mismatch(source);
        }
    }
    transport.cancel_given_up();
}

/// Some of them; most calls do not look.
bool are_on_device(const std::vector<UserMemory>& memories) {
    return device::driver() != nullptr &&
           std::any_of(memories.begin(), memories.end(),
                       [](const UserMemory& memory) { return memory.dense_on_device != nullptr; });
}

/// What others may copy of what this rank sends: messages too large to be copied together, if all
/// of these lie in one context. nullptr: nothing. Memory of a pool has no context.
const device::Place* place_of_large(const std::vector<UserMemory>& memories) {
    const device::Place* place = nullptr;
    for (const UserMemory& memory : memories) {
        if (memory.bytes <= DeviceCosts::copied_together) { continue; }
        const bool is_there = memory.dense_on_device != nullptr && memory.place.context != nullptr;
        if (place == nullptr) { place = &memory.place; }
        if (!is_there || !device::are_on_one_device(memory.place, *place)) { return nullptr; }
    }
    return place;
}

void share_device(Exchange& exchange, const Parameters& parameters) {
    if (parameters.device_copy == DeviceCopy::md || device::driver() == nullptr) { return; }
    exchange.traffic.readable = device::imports().lost();
    const device::Place* const place = place_of_large(exchange.outgoing);
    if (place == nullptr) { return; }
    exchange.traffic.slab = device::slabs().id_in(*place, parameters.device_slab_bytes);
}

Agreement::Result agree(InnerCommunicator& inner, const Exchange& exchange,
                        const Selected& selected, MpiTransport& transport, uint32_t operation,
                        CallRecord& record) {
    const Watch watch(inner.waiter(), [&] {
        // Other ranks of this node may still be in the last operation, and wait for what has come
        // here instead.
        const int node = forget_the_past(transport, inner.topology(), operation);
        if (node >= 0) { inner.arena().give_up(operation - 1, node); }
    });
    const auto pack = [&](const Schedule& schedule) {
        Execution<MpiTransport>::run_prologue(schedule, transport);
    };
    const auto result =
        inner.agreement().agree(operation,
                                {exchange.traffic, *selected.strategy, *selected.parameters,
                                 exchange.sharing, selected.candidates},
                                pack);
    transport.use_slabs(*result.slabs);
    selected.learn_predictions(result.predictions);
    record.built = result.built;
    return result;
}

/// Begins the execution. What others wait for comes first, sends before all; the more so with more
/// ranks than cores, where what this rank does next keeps others from sending.
bool begin(Execution<MpiTransport>& execution, InnerCommunicator& inner, bool owes_bell) {
    const bool done = execution.progress();
    if (owes_bell) { inner.arena().ring(); }
    if (!done && inner.waiter().is_crowded()) { sched_yield(); }
    return done;
}

void run_to_end(Execution<MpiTransport>& execution, const Agreement::Result& agreed,
                MpiTransport& transport, InnerCommunicator& inner, uint32_t operation) {
    Waiter& waiter = inner.waiter();
    if (begin(execution, inner, agreed.owes_bell)) { return; }
    const Watch watch(waiter, [&] {
        look_for_mismatch(transport, execution, operation);
        forget_the_past(transport, inner.topology(), operation);
    });
    waiter.begin();
    while (true) {
        const uint32_t bell = inner.arena().bell();
        const uint64_t before = execution.advances();
        if (execution.progress()) { return; }
        if (execution.advances() != before) {
            waiter.begin();
        } else {
            waiter.pause(bell, execution.under_way() == 0);
        }
    }
}

/// From nodes that this one has given up.
void receive_what_still_comes(InnerCommunicator& inner, const StepMemory& memory,
                              uint32_t operation) {
    constexpr uint32_t long_ago = 64;
    inner.strays().end_before(operation - std::min(operation, long_ago));
    if (memory.given_up_count() == 0) { return; }
    for (int node = 0; node < inner.topology().nodes(); ++node) {
        if (memory.given_up(node)) {
            inner.strays().receive(operation, inner.topology().ranks_of(node));
        }
    }
}

int move(InnerCommunicator& inner, const Exchange& exchange, const Selected& selected,
         CallRecord& record) {
    const uint32_t operation = inner.next_operation();
    ArenaMemory memory(inner.arena(), inner.pinned(), operation);
    MpiTransport transport(inner.comm(), inner.topology(), memory, exchange,
                           tags::of_blocking(operation));
    const Agreement::Result agreed = agree(inner, exchange, selected, transport, operation, record);
    inner.arena().reset_counters(operation + 1, inner.used_counters(operation + 1));
    const Schedule& schedule = *agreed.schedule;
    inner.used_counters(operation) = schedule.counters;
    Execution<MpiTransport> execution(schedule, transport, operation, inner.waiter().is_crowded());
    run_to_end(execution, agreed, transport, inner, operation);
    receive_what_still_comes(inner, memory, operation);
    record.sent_messages = schedule.node_messages_sent + execution.carried_messages();
    record.sent_bytes = schedule.node_bytes_sent + execution.carried_bytes();
    return schedule.truncated ? MPI_ERR_TRUNCATE : transport.error();
}

} // namespace

int execute_step(InnerCommunicator& inner, Exchange& exchange, const Selected& selected,
                 CallRecord& record) {
    const ranges::Range range(name_of(exchange.operation), selected.strategy->name,
                              ranges::are_on ? exchange.bytes_sent() : 0);
    try {
        const CompletionErrorsReturn errors_return;
        CopiedTogether small(exchange);
        exchange.traffic.packs_late = are_on_device(exchange.outgoing);
        share_device(exchange, *selected.parameters);
        const int code = move(inner, exchange, selected, record);
        if (code == MPI_SUCCESS) { small.finish(inner.comm()); }
        return code;
    } catch (const std::bad_alloc&) { throw MpiError(MPI_ERR_NO_MEM, "an exchange"); }
}

int execute(MPI_Comm comm, InnerCommunicator& inner, Exchange& exchange, const Selected& selected,
            CallRecord& record) {
    int code = MPI_SUCCESS;
    try {
        code = execute_step(inner, exchange, selected, record);
    } catch (const MpiError& error) {
        log(LogLevel::warn, "{}: {}", name_of(exchange.operation), error.what());
        code = error.code;
    }
    if (code != MPI_SUCCESS) { mpi.Comm_call_errhandler(comm, code); }
    return code;
}

} // namespace nodeaware
