#include "runtime/collectives/node_reduction.hpp"

#include "runtime/collectives/execute.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace nodeaware {

namespace {

/// Before the terms in a block; as large as the alignment of any element.
constexpr uint64_t header_bytes = 16;

} // namespace

uint64_t NodeReduction::block_bytes(uint64_t bytes) { return std::bit_ceil(header_bytes + bytes); }

NodeReduction::NodeReduction(InnerCommunicator& inner, const Reduction& reduction)
    : inner_(inner), reduction_(reduction),
      mates_(inner.topology().ranks_of(inner.topology().node_of(inner.rank()))),
      is_first_(inner.rank() == mates_.front()),
      nodes_(static_cast<size_t>(inner.topology().nodes())), block_(block_bytes(reduction.bytes)),
      memory_(inner.terms()) {
    const uint64_t bytes = (1 + std::max(mates_.size(), nodes_)) * block_;
    try {
        if (memory_.size() < bytes) { memory_.resize(bytes); }
    } catch (const std::bad_alloc&) { // the others wait for this rank
        has_memory_ = false;
        fail(MPI_ERR_NO_MEM);
    }
}

int NodeReduction::run(bool has_terms, const Selected& selected, CallRecord& record) {
    gather_on_node(has_terms);
    exchange_nodes(selected, record);
    if (error_ != MPI_SUCCESS) { return error_; }
    const Terms state = state_of(nodes_);
    if (state == Terms::lost) { return MPI_ERR_OTHER; }
    is_done_ = state == Terms::here;
    if (is_done_) { std::memcpy(reduction_.received, combine(nodes_), reduction_.bytes); }
    return MPI_SUCCESS;
}

void NodeReduction::write_block(size_t i, Terms state, const void* terms) {
    std::byte* const to = block(i);
    *to = static_cast<std::byte>(state);
    if (state == Terms::here) { std::memcpy(to + header_bytes, terms, reduction_.bytes); }
}

/// Of all that has come.
NodeReduction::Terms NodeReduction::state_of(size_t blocks) {
    bool are_all_here = true;
    for (size_t i = 1; i <= blocks; ++i) {
        const auto state = static_cast<Terms>(*block(i));
        if (state != Terms::here && state != Terms::left_out) { return Terms::lost; }
        are_all_here = are_all_here && state == Terms::here;
    }
    return are_all_here ? Terms::here : Terms::left_out;
}

/// What has come, taken together, in place of the first of it.
const std::byte* NodeReduction::combine(size_t blocks) {
    std::byte* const terms = block(1);
    const uint64_t bytes = reduction_.bytes;
    for (size_t i = 0; i < blocks; ++i) {
        std::memmove(terms + i * bytes, block(1 + i) + header_bytes, bytes);
    }
    for (size_t left = blocks; left > 1;) {
        const size_t half = (left + 1) / 2;
        const auto pairs = static_cast<int>(left - half);
        MPI_CALL(Reduce_local, terms + half * bytes, terms, pairs * reduction_.count,
                 reduction_.type, reduction_.op);
        left = half;
    }
    return terms;
}

UserMemory NodeReduction::memory_of(std::byte* data) const {
    static const Datatype byte = inspect(MPI_BYTE);
    static const device::Place on_host{};
    return user_memory(data, static_cast<MPI_Count>(block_), byte, &on_host);
}

/// One of the exchanges; `list` says what this rank sends and receives. A rank that has no memory
/// sends and receives nothing, which the others find out.
template <class List>
void NodeReduction::move(const Selected& selected, CallRecord& record, Sharing sharing, List list) {
    Exchange& exchange = inner_.exchange();
    exchange.clear();
    exchange.operation = Operation::allreduce;
    exchange.sharing = sharing;
    try {
        if (has_memory_) { list(exchange); }
    } catch (const std::bad_alloc&) {
        exchange.clear();
        fail(MPI_ERR_NO_MEM);
    }
    fail(execute_step(inner_, exchange, selected, record));
}

/// Afterwards the node's first rank has the node's terms to send.
void NodeReduction::gather_on_node(bool has_terms) {
    const Terms own = has_terms ? Terms::here : Terms::left_out;
    if (has_memory_) { write_block(is_first_ ? 1 : 0, own, reduction_.terms()); }
    static const Strategy* const model = find_strategy("model");
    Selected plain;
    plain.strategy = model;
    plain.parameters = &inner_.parameters();
    CallRecord record;
    // Also where the node has one rank: operations have the same numbers on all nodes.
    move(plain, record, Sharing::sender, [&](Exchange& exchange) {
        if (!is_first_) {
            exchange.traffic.outgoing.push_back({mates_.front(), 0, block_});
            exchange.outgoing.push_back(memory_of(block(0)));
            return;
        }
        for (size_t i = 1; i < mates_.size(); ++i) {
            exchange.traffic.incoming.push_back({mates_[i], block_});
            exchange.incoming.push_back(memory_of(block(1 + i)));
        }
    });
    if (!is_first_ || !has_memory_) { return; }
    Terms state = error_ == MPI_SUCCESS ? state_of(mates_.size()) : Terms::lost;
    const std::byte* terms = nullptr;
    try {
        if (state == Terms::here) { terms = combine(mates_.size()); }
    } catch (const MpiError& error) { // the others are to know
        fail(error.code);
        state = Terms::lost;
    }
    write_block(0, state, terms);
}

/// Afterwards every rank has the terms of all nodes.
void NodeReduction::exchange_nodes(const Selected& selected, CallRecord& record) {
    const Topology& topology = inner_.topology();
    move(selected, record, Sharing::both, [&](Exchange& exchange) {
        for (size_t node = 0; node < nodes_; ++node) {
            const auto& there = topology.ranks_of(static_cast<int>(node));
            exchange.traffic.incoming.push_back({there.front(), block_});
            exchange.incoming.push_back(memory_of(block(1 + node)));
            for (size_t i = 0; is_first_ && i < there.size(); ++i) {
                exchange.traffic.outgoing.push_back({there[i], 0, block_});
                exchange.outgoing.push_back(memory_of(block(0)));
            }
        }
    });
}

} // namespace nodeaware
