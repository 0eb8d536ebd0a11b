#include "runtime/collectives/sparse_node_pairs.hpp"

#include "runtime/collectives/execute.hpp"

#include <algorithm>
#include <new>

namespace nodeaware::sparse {

struct NodePairs::Call {
    InnerCommunicator& inner;
    std::span<const Outgoing> outgoing;
    Received& received;
};

namespace {

/// What a rank has no memory for is missing, and an error of this rank.
template <class Work, class Otherwise>
void try_with_memory(Received& received, Work work, Otherwise otherwise) {
    try {
        work();
    } catch (const std::bad_alloc&) {
        received.fail(MPI_ERR_NO_MEM);
        otherwise();
    }
}

} // namespace

NodePairs::NodePairs(InnerCommunicator& inner)
    : topology_(inner.topology()), node_(topology_.node_of(inner.rank())),
      local_(topology_.local_of(inner.rank())), byte_(inspect(MPI_BYTE)),
      blocks_(blocks_for(topology_, inner.parameters().costs, inner.parameters().arena_bytes)),
      for_(static_cast<size_t>(topology_.nodes())), from_(static_cast<size_t>(topology_.ranks())),
      blocks_out_(for_.size() * blocks_.bytes), blocks_in_(from_.size() * blocks_.bytes) {
    inner.parameters(CallMemory::host, blocks_.radix, true); // which are kept, for all calls
    exchange_.traffic.outgoing.reserve(from_.size());
    exchange_.traffic.incoming.reserve(from_.size());
    exchange_.outgoing.reserve(from_.size());
    exchange_.incoming.reserve(from_.size());
}

void NodePairs::exchange(InnerCommunicator& inner, std::span<const Outgoing> outgoing,
                         Received& received) {
    const Call call{inner, outgoing, received};
    clear();
    try_with_memory(
        received, [&] { list_messages(call); }, [&] { clear(); });
    write_blocks(call);
    exchange_blocks(call);
    // The same on all ranks of the node, whatever they have memory for.
    const bool needs_more = is_more_needed();
    try_with_memory(
        received, [&] { read_blocks(); }, [] {});
    if (needs_more) {
        exchange_lists(call);
        exchange_messages(call);
    } else {
        // Others of this node may not have come as far, but they leave out the same: the next
        // exchange uses the other half of the arena, as it would after two more.
        inner.next_operation();
        inner.next_operation();
    }
    assemble(received);
}

void NodePairs::clear() {
    for (ForNode& there : for_) {
        there.items.clear();
        there.entries.clear();
        there.list.clear();
        there.bytes = 0;
        there.is_whole = true;
    }
    for (FromRank& from : from_) {
        from.is_listed = true;
        from.bytes.clear();
        from.data.clear();
    }
    // What does not come is the block of a rank without messages.
    std::fill(blocks_in_.begin(), blocks_in_.end(), std::byte{0});
}

void NodePairs::list_messages(const Call& call) {
    for (size_t item = 0; item < call.outgoing.size(); ++item) {
        const Outgoing& message = call.outgoing[item];
        ForNode& there = for_[static_cast<size_t>(topology_.node_of(message.peer))];
        there.items.push_back(item);
        there.entries.push_back({topology_.local_of(message.peer), message.bytes});
        there.bytes += message.bytes;
    }
    for (ForNode& there : for_) {
        there.list = list_of(there.entries);
        there.is_whole = is_whole(there.list.size(), there.bytes, blocks_.bytes);
    }
}

void NodePairs::write_blocks(const Call& call) {
    const bool has_more =
        std::any_of(for_.begin(), for_.end(), [](const ForNode& there) { return !there.is_whole; });
    for (size_t node = 0; node < for_.size(); ++node) {
        const ForNode& there = for_[node];
        std::byte* const block = block_to(node);
        write_header(block, {there.list.size(), there.is_whole, has_more});
        if (!has_room(there.list.size(), blocks_.bytes)) { continue; }
        std::byte* end = std::copy(there.list.begin(), there.list.end(), block + header_bytes);
        if (!there.is_whole) { continue; }
        for (const size_t item : there.items) {
            end = std::copy_n(call.outgoing[item].data, call.outgoing[item].bytes, end);
        }
    }
}

/// One exchange with the others. `list` says what this rank sends and receives. `relays`: all nodes
/// take part. False: it failed. Throws MpiError if this rank is no more in step with the others.
template <class List>
bool NodePairs::move(const Call& call, Sharing sharing, List list, bool relays) {
    exchange_.clear();
    exchange_.sharing = sharing;
    bool is_listed = true;
    try_with_memory(call.received, list, [&] {
        exchange_.clear();
        is_listed = false;
    });
    static const Strategy* const straight = find_strategy("model");
    static const Strategy* const relayed = find_strategy("radix");
    Selected selected;
    selected.strategy = relays ? relayed : straight;
    selected.parameters = relays ? &call.inner.parameters(CallMemory::host, blocks_.radix, true)
                                 : &call.inner.parameters();
    CallRecord record;
    const int code = execute_step(call.inner, exchange_, selected, record);
    call.received.fail(code);
    return is_listed && code == MPI_SUCCESS;
}

void NodePairs::send(int peer, uint32_t memory, const std::byte* data, uint64_t bytes) {
    exchange_.traffic.outgoing.push_back({peer, memory, bytes});
    exchange_.outgoing.push_back(memory_of_bytes(const_cast<std::byte*>(data), bytes));
}

/// The same bytes to all its ranks.
void NodePairs::send_to_node(size_t node, const std::byte* data, uint64_t bytes) {
    for (const int rank : topology_.ranks_of(static_cast<int>(node))) {
        send(rank, static_cast<uint32_t>(node), data, bytes);
    }
}

void NodePairs::receive(int peer, std::byte* data, uint64_t bytes) {
    exchange_.traffic.incoming.push_back({peer, bytes});
    exchange_.incoming.push_back(memory_of_bytes(data, bytes));
}

UserMemory NodePairs::memory_of_bytes(std::byte* data, uint64_t bytes) const {
    static const device::Place on_host{};
    return user_memory(data, static_cast<MPI_Count>(bytes), byte_, &on_host);
}

void NodePairs::exchange_blocks(const Call& call) {
    const auto list = [&] {
        for (size_t node = 0; node < for_.size(); ++node) {
            send_to_node(node, block_to(node), blocks_.bytes);
        }
        for (size_t rank = 0; rank < from_.size(); ++rank) {
            receive(static_cast<int>(rank), block_from(rank), blocks_.bytes);
        }
    };
    move(call, Sharing::both, list, blocks_.radix > 0);
}

/// Some rank has more than its block for this node, or a rank of this node has for another.
bool NodePairs::is_more_needed() {
    bool is_needed = false;
    for (size_t rank = 0; rank < from_.size(); ++rank) {
        const Header header = from_[rank].header = read_header(block_from(rank));
        const bool has_mate_more = header.has_more && is_mate(static_cast<int>(rank));
        is_needed = is_needed || !header.is_whole || has_mate_more;
    }
    return is_needed;
}

void NodePairs::read_blocks() {
    for (size_t rank = 0; rank < from_.size(); ++rank) {
        const auto read = read_block({block_from(rank), blocks_.bytes}, topology_.ranks_on(node_));
        if (!read) { continue; } // which no rank writes
        from_[rank].is_listed = read->is_listed;
        const std::byte* const payload = block_from(rank) + read->payload;
        take_entries(from_[rank], read->entries, read->header.is_whole ? payload : nullptr);
    }
}

/// Those for this rank. `data`: of the first of all, where it is here.
void NodePairs::take_entries(FromRank& from, const std::vector<Entry>& entries,
                             const std::byte* data) {
    for (const Entry& entry : entries) {
        if (entry.local == local_) {
            from.data.push_back(data);
            from.bytes.push_back(entry.bytes);
        }
        if (data != nullptr) { data += entry.bytes; }
    }
}

void NodePairs::exchange_lists(const Call& call) {
    Bytes lists;
    const bool have_come = move(call, Sharing::both, [&] {
        uint64_t bytes = 0;
        for (FromRank& from : from_) {
            if (from.is_listed) { continue; }
            from.list_at = bytes;
            bytes += from.header.list_bytes;
        }
        lists.resize(bytes);
        for (size_t node = 0; node < for_.size(); ++node) {
            const Bytes& list = for_[node].list;
            if (!has_room(list.size(), blocks_.bytes)) {
                send_to_node(node, list.data(), list.size());
            }
        }
        for (size_t rank = 0; rank < from_.size(); ++rank) {
            const FromRank& from = from_[rank];
            if (from.is_listed) { continue; }
            receive(static_cast<int>(rank), lists.data() + from.list_at, from.header.list_bytes);
        }
    });
    if (!have_come) { return; }
    try_with_memory(
        call.received, [&] { read_lists(lists, call.received); }, [] {});
}

void NodePairs::read_lists(const Bytes& lists, Received& received) {
    for (FromRank& from : from_) {
        if (from.is_listed) { continue; }
        const std::span list(lists.data() + from.list_at, from.header.list_bytes);
        const auto entries = read_list(list, topology_.ranks_on(node_));
        if (!entries) {
            received.fail(MPI_ERR_INTERN);
            continue;
        }
        take_entries(from, *entries, nullptr);
    }
}

void NodePairs::exchange_messages(const Call& call) {
    move(call, Sharing::sender, [&] {
        uint64_t bytes = 0;
        for (const FromRank& from : from_) {
            if (from.header.is_whole) { continue; }
            for (const uint64_t size : from.bytes) { bytes += size; }
        }
        std::byte* to = call.received.add_memory(bytes);
        for (size_t rank = 0; rank < from_.size(); ++rank) {
            FromRank& from = from_[rank];
            if (from.header.is_whole) { continue; }
            for (size_t i = 0; i < from.bytes.size(); ++i) {
                from.data[i] = to;
                if (from.bytes[i] == 0) { continue; }
                receive(static_cast<int>(rank), to, from.bytes[i]);
                to += from.bytes[i];
            }
        }
        for (const ForNode& there : for_) {
            if (there.is_whole) { continue; }
            for (const size_t item : there.items) {
                const Outgoing& message = call.outgoing[item];
                if (message.bytes == 0) { continue; }
                send(message.peer, static_cast<uint32_t>(item), message.data, message.bytes);
            }
        }
    });
}

/// In order of source, and of each in the order in which it lists them.
void NodePairs::assemble(Received& received) const {
    if (received.error != MPI_SUCCESS) { return; }
    for (size_t rank = 0; rank < from_.size(); ++rank) {
        const FromRank& from = from_[rank];
        for (size_t i = 0; i < from.bytes.size(); ++i) {
            received.messages.push_back({static_cast<int>(rank), from.data[i], from.bytes[i]});
        }
    }
}

} // namespace nodeaware::sparse
