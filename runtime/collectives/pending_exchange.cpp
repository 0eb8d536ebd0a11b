#include "runtime/collectives/pending_exchange.hpp"

namespace nodeaware {

PendingExchange::Part::Part(Schedule compiled, const NonblockingContext& context,
                            InnerCommunicator& inner, const Exchange& exchange, uint64_t operation)
    : schedule(std::move(compiled)), memory(schedule.arena_bytes, schedule.counters),
      transport(inner.comm(), inner.topology(), memory, exchange, context.tags_of(operation)),
      execution(schedule, transport, static_cast<uint32_t>(operation), false) {}

PendingExchange::PendingExchange(std::shared_ptr<NonblockingContext> context, Exchange exchange)
    : context_(std::move(context)), exchange_(std::move(exchange)),
      operation_(context_->next_operation()) {
    InnerCommunicator& inner = context_->inner();
    own_part_ = gathered::own_part(inner.topology(), exchange_.traffic, inner.rank(),
                                   context_->parameters());
    own_.emplace(std::move(own_part_.schedule), *context_, inner, exchange_, operation_);
    messages_sent_ = own_->schedule.node_messages_sent;
    bytes_sent_ = own_->schedule.node_bytes_sent;
}

bool PendingExchange::progress() {
    if (!has_begun_) {
        if (!context_->make_room(operation_, own_part_)) { return false; }
        begin();
    }
    const bool own_is_done = own_->execution.progress();
    const bool all_is_done = !for_all_ || for_all_->execution.progress();
    return own_is_done && all_is_done;
}

void PendingExchange::begin() {
    has_begun_ = true;
    std::byte* const packed = context_->contribute(operation_, own_part_);
    for (const Step& step : own_->schedule.prologue) {
        own_->transport.pack(step.item, step.offset, step.bytes, packed + step.arena);
    }
    if (context_->arrive(operation_)) { send_for_all(); }
}

void PendingExchange::send_for_all() {
    InnerCommunicator& inner = context_->inner();
    const Topology& topology = inner.topology();
    const int node = topology.node_of(inner.rank());
    std::vector<std::vector<gathered::Contribution>> lists;
    for (int local = 0; local < topology.ranks_on(node); ++local) {
        NonblockingContext::Contributed contributed = context_->contributed(operation_, local);
        std::byte* next = contributed.bytes;
        for (const gathered::Contribution& contribution : contributed.list) {
            contributed_.outgoing.push_back({next, static_cast<MPI_Count>(contribution.bytes),
                                             MPI_BYTE, contribution.bytes, next});
            next += contribution.bytes;
        }
        lists.push_back(std::move(contributed.list));
    }
    for_all_.emplace(gathered::node_part(topology, node, lists), *context_, inner, contributed_,
                     operation_);
    Execution<MpiTransport>::run_prologue(for_all_->schedule, for_all_->transport);
    context_->release(operation_);
    for_all_->execution.progress();
    messages_sent_ += for_all_->schedule.node_messages_sent;
    bytes_sent_ += for_all_->schedule.node_bytes_sent;
}

int PendingExchange::error() const {
    if (own_->schedule.truncated) { return MPI_ERR_TRUNCATE; }
    if (own_->transport.error() != MPI_SUCCESS || !for_all_) { return own_->transport.error(); }
    return for_all_->transport.error();
}

} // namespace nodeaware
