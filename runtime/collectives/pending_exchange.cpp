#include "runtime/collectives/pending_exchange.hpp"

#include "runtime/progress/clock.hpp"

#include <algorithm>
#include <new>

namespace nodeaware {

PendingExchange::Part::Part(Schedule compiled, const NonblockingContext& context,
                            InnerCommunicator& inner, const Exchange& exchange, uint64_t operation,
                            std::shared_ptr<OperationMessages> messages)
    : schedule(std::move(compiled)), memory(schedule.arena_bytes, schedule.counters),
      transport(inner, memory, exchange, context.tags_of(operation), std::move(messages),
                operation),
      execution(schedule, transport, static_cast<uint32_t>(operation), false) {
    transport.reserve(schedule.steps.size());
}

PendingExchange::PendingExchange(std::shared_ptr<NonblockingContext> context, Exchange exchange,
                                 int error) noexcept
    : context_(std::move(context)), exchange_(std::move(exchange)), small_(exchange_),
      operation_(context_->next_operation()), error_(error) {
    const auto& messages = context_->messages;
    try {
        if (messages != nullptr) { messages->begin(operation_, exchange_); }
        if (error_ != MPI_SUCCESS) { return; }
        InnerCommunicator& inner = context_->inner();
        own_part_ = gathered::own_part(
            inner.topology(), exchange_.traffic, inner.rank(), context_->parameters(),
            [&](int source) { return messages == nullptr ? 0 : messages->most_bytes(source); });
        own_.emplace(std::move(own_part_.schedule), *context_, inner, exchange_, operation_,
                     messages);
        messages_sent_ = own_->schedule.node_messages_sent;
        bytes_sent_ = own_->schedule.node_bytes_sent;
    } catch (const std::bad_alloc&) {
        error_ = MPI_ERR_NO_MEM;
        own_.reset();
        own_part_ = {};
    }
}

PendingExchange::~PendingExchange() {
    if (context_->messages != nullptr) { context_->messages->over(operation_); }
}

bool PendingExchange::progress() {
    if (!has_begun_ && !begin()) { return false; }
    if (is_last_ && !for_all_) { send_for_all(); }
    const bool all_is_done = for_all_ ? for_all_->execution.progress() : !is_last_;
    const bool own_is_done = !own_ || own_->execution.progress();
    if (!own_is_done || !all_is_done || is_ahead()) { return false; }
    bring_back();
    return true;
}

bool PendingExchange::is_ahead() {
    if (!own_ || own_->transport.gathered() == 0) { return false; }
    if (done_at_ == 0) { done_at_ = now(); }
    return context_->messages->fills_cells(done_at_);
}

void PendingExchange::bring_back() {
    if (error() != MPI_SUCCESS) { return; }
    try {
        small_.finish(context_->inner().comm());
    } catch (const MpiError& failure) { error_ = failure.code; } catch (const std::bad_alloc&) {
        error_ = MPI_ERR_NO_MEM;
    }
}

bool PendingExchange::begin() {
    try {
        if (!context_->contributions().make_room(operation_, own_part_)) { return false; }
    } catch (const std::bad_alloc&) { return false; }
    has_begun_ = true;
    std::byte* const packed = context_->contributions().contribute(operation_, own_part_);
    if (own_) {
        for (const Step& step : own_->schedule.prologue) {
            own_->transport.pack(step.item, step.offset, step.bytes, packed + step.arena,
                                 Step::not_listed);
        }
        own_->execution.progress(); // sends
        own_->transport.settle();
        messages_sent_ -= own_->transport.gathered();
        bytes_sent_ -= own_->transport.gathered_bytes();
    }
    is_last_ = context_->contributions().arrive(operation_);
    if (is_last_ && context_->messages != nullptr) { context_->messages->all_have_sent(); }
    return true;
}

void PendingExchange::send_for_all() {
    if (!context_->contributions().open(operation_)) { return; }
    try {
        take();
    } catch (const std::bad_alloc&) { return; }
    Execution<GatheringTransport>::run_prologue(for_all_->schedule, for_all_->transport);
    context_->contributions().release(operation_);
    messages_sent_ += for_all_->schedule.node_messages_sent;
    bytes_sent_ += for_all_->schedule.node_bytes_sent;
}

void PendingExchange::take() {
    InnerCommunicator& inner = context_->inner();
    const Topology& topology = inner.topology();
    const int node = topology.node_of(inner.rank());
    contributed_.outgoing.clear();
    std::vector<std::vector<gathered::Contribution>> lists;
    for (int local = 0; local < topology.ranks_on(node); ++local) {
        auto [list, next] = context_->contributions().contributed(operation_, local);
        for (const gathered::Contribution& contribution : list) {
            contributed_.outgoing.push_back({nullptr, static_cast<MPI_Count>(contribution.bytes),
                                             MPI_BYTE, contribution.bytes, next});
            next += contribution.bytes;
        }
        lists.push_back(std::move(list));
    }
    for_all_.emplace(gathered::node_part(topology, node, lists), *context_, inner, contributed_,
                     operation_, nullptr);
}

int PendingExchange::error() const {
    if (error_ != MPI_SUCCESS) { return error_; }
    if (own_->schedule.truncated) { return MPI_ERR_TRUNCATE; }
    if (own_->transport.error() != MPI_SUCCESS || !for_all_) { return own_->transport.error(); }
    return for_all_->transport.error();
}

} // namespace nodeaware
