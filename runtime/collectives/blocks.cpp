#include "runtime/collectives/blocks.hpp"

#include "runtime/device/driver.hpp"
#include "runtime/memory/copied_together.hpp"

#include <map>
#include <new>
#include <tuple>

namespace nodeaware {

UserMemory BlockReader::at(int i) {
    const MPI_Count count = blocks_.count_of(i);
    if (count == 0) { return {}; } // the datatype may be anything
    const MPI_Datatype type = blocks_.type_of(i);
    if (type != type_.handle) { type_ = inspect(type); }
    auto* const address =
        reinterpret_cast<void*>(reinterpret_cast<intptr_t>(blocks_.buffer) + offset_of(i));
    const UserMemory memory = user_memory(address, count, type_, place_ ? &*place_ : nullptr);
    if (is_one_piece() && !place_ && memory.bytes > 0) { place_ = memory.place; }
    return memory;
}

MPI_Count BlockReader::offset_of(int i) const {
    switch (blocks_.kind) {
    case Blocks::Kind::uniform: return i * blocks_.count * type_.extent;
    case Blocks::Kind::counted: return blocks_.displacements[i] * type_.extent;
    case Blocks::Kind::typed: return blocks_.displacements[i];
    default: return 0;
    }
}

void add_outgoing(Exchange& exchange, int peer, BlockReader& blocks, int i) {
    const UserMemory memory = blocks.at(i);
    if (peer == MPI_PROC_NULL || memory.bytes == 0) { return; }
    exchange.traffic.outgoing.push_back({peer, 0, memory.bytes});
    exchange.outgoing.push_back(memory);
}

void add_incoming(Exchange& exchange, int peer, BlockReader& blocks, int i) {
    const UserMemory memory = blocks.at(i);
    if (peer == MPI_PROC_NULL || memory.bytes == 0) { return; }
    exchange.traffic.incoming.push_back({peer, memory.bytes});
    exchange.incoming.push_back(memory);
}

void stage_outgoing(Exchange& exchange, MPI_Comm comm) {
    uint64_t total = 0;
    for (const UserMemory& memory : exchange.outgoing) { total += memory.bytes; }
    try {
        exchange.staged.resize(total);
    } catch (const std::bad_alloc&) { // the others wait
        exchange.error = MPI_ERR_NO_MEM;
        return;
    }
    const CopiedTogether small(exchange.outgoing, &exchange.error);
    std::byte* next = exchange.staged.data();
    for (UserMemory& memory : exchange.outgoing) {
        try {
            pack_user_memory(memory, next, comm);
        } catch (const MpiError& failure) { exchange.error = failure.code; }
        memory = {next, static_cast<MPI_Count>(memory.bytes), MPI_BYTE, memory.bytes, next};
        next += memory.bytes;
    }
}

void look_where_it_is(Exchange& exchange) {
    if (device::driver() == nullptr) { return; }
    for (auto* memories : {&exchange.outgoing, &exchange.incoming}) {
        for (UserMemory& memory : *memories) {
            memory = user_memory(memory.address, memory.count, memory.type);
        }
    }
}

void number_memory(Exchange& exchange) {
    auto& messages = exchange.traffic.outgoing;
    if (exchange.sharing == Sharing::both) { return; } // one block for all: number 0
    // Nearly always the blocks stand in ascending order, and then no two can be the same.
    bool ascending = true;
    for (size_t i = 0; i < messages.size(); ++i) {
        messages[i].memory = static_cast<uint32_t>(i);
        ascending = ascending &&
                    (i == 0 || exchange.outgoing[i - 1].address < exchange.outgoing[i].address);
    }
    if (ascending) { return; }
    std::map<std::tuple<void*, MPI_Count, MPI_Datatype>, uint32_t> first;
    for (size_t i = 0; i < messages.size(); ++i) {
        const UserMemory& memory = exchange.outgoing[i];
        messages[i].memory =
            first.try_emplace({memory.address, memory.count, memory.type}, static_cast<uint32_t>(i))
                .first->second;
    }
}

} // namespace nodeaware
