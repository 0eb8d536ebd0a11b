#include "runtime/pending_exchange.hpp"

namespace nodeaware {

PendingExchange::Part::Part(Schedule compiled, const Lane& lane, Team& team,
                            const Exchange& exchange, uint64_t operation)
    : schedule(std::move(compiled)), memory(schedule.arena_bytes, schedule.counters),
      machine(team.comm(), team.topology(), memory, exchange, lane.tags_of(operation)),
      execution(schedule, machine, static_cast<uint32_t>(operation), false) {}

PendingExchange::PendingExchange(std::shared_ptr<Lane> lane, Exchange exchange)
    : lane_(std::move(lane)), exchange_(std::move(exchange)), operation_(lane_->next_operation()) {
    Team& team = lane_->team();
    own_part_ =
        gathered::own_part(team.topology(), exchange_.traffic, team.rank(), lane_->parameters());
    own_.emplace(std::move(own_part_.schedule), *lane_, team, exchange_, operation_);
    messages_sent_ = own_->schedule.node_messages_sent;
    bytes_sent_ = own_->schedule.node_bytes_sent;
}

bool PendingExchange::progress() {
    if (!has_begun_) {
        if (!lane_->make_room(operation_, own_part_)) { return false; }
        begin();
    }
    const bool own_is_done = own_->execution.progress();
    const bool all_is_done = !for_all_ || for_all_->execution.progress();
    return own_is_done && all_is_done;
}

void PendingExchange::begin() {
    has_begun_ = true;
    std::byte* const packed = lane_->contribute(operation_, own_part_);
    for (const Step& step : own_->schedule.prologue) {
        own_->machine.pack(step.item, step.offset, step.bytes, packed + step.arena);
    }
    if (lane_->arrive(operation_)) { send_for_all(); }
}

void PendingExchange::send_for_all() {
    Team& team = lane_->team();
    const Topology& topology = team.topology();
    const int node = topology.node_of(team.rank());
    std::vector<std::vector<gathered::Contribution>> lists;
    for (int local = 0; local < topology.ranks_on(node); ++local) {
        Lane::Contributed contributed = lane_->contributed(operation_, local);
        std::byte* next = contributed.bytes;
        for (const gathered::Contribution& contribution : contributed.list) {
            contributed_.outgoing.push_back({next, static_cast<MPI_Count>(contribution.bytes),
                                             MPI_BYTE, contribution.bytes, next});
            next += contribution.bytes;
        }
        lists.push_back(std::move(contributed.list));
    }
    for_all_.emplace(gathered::node_part(topology, node, lists), *lane_, team, contributed_,
                     operation_);
    Execution<MpiMachine>::run_prologue(for_all_->schedule, for_all_->machine);
    lane_->release(operation_);
    for_all_->execution.progress();
    messages_sent_ += for_all_->schedule.node_messages_sent;
    bytes_sent_ += for_all_->schedule.node_bytes_sent;
}

int PendingExchange::error() const {
    if (own_->schedule.truncated) { return MPI_ERR_TRUNCATE; }
    if (own_->machine.error() != MPI_SUCCESS || !for_all_) { return own_->machine.error(); }
    return for_all_->machine.error();
}

} // namespace nodeaware
