#include "runtime/collectives/sparse_locality.hpp"

#include "runtime/collectives/sparse_plain.hpp"

#include <cstring>
#include <new>
#include <numeric>

namespace nodeaware::sparse {

namespace {

/// Before each message in one that has several.
struct PartHeader {
    int32_t peer; ///< to another node: local number of the destination; on a node: the source
    int32_t unused;
    uint64_t bytes;
};

using Parts = std::vector<std::byte>;

void append_part(Parts& parts, int peer, const std::byte* data, uint64_t bytes) {
    const PartHeader header{peer, 0, bytes};
    const size_t end = parts.size();
    parts.resize(end + sizeof header + bytes);
    std::memcpy(parts.data() + end, &header, sizeof header);
    if (bytes > 0) { std::memcpy(parts.data() + end + sizeof header, data, bytes); }
}

/// Calls `visit(peer, data, bytes)` for each part, as far as they are whole.
template <class Visit> void visit_parts_of(const Incoming& message, Visit visit) {
    PartHeader header{};
    for (uint64_t at = 0; message.bytes - at >= sizeof header;) {
        std::memcpy(&header, message.data + at, sizeof header);
        at += sizeof header;
        if (header.bytes > message.bytes - at) { return; }
        visit(header.peer, message.data + at, header.bytes);
        at += header.bytes;
    }
}

/// `receivers[i]` gets `all[i]`, unless that is empty.
std::vector<Outgoing> messages_of(const std::vector<Parts>& all,
                                  const std::vector<int>& receivers) {
    std::vector<Outgoing> messages;
    for (size_t i = 0; i < all.size(); ++i) {
        if (!all[i].empty()) { messages.push_back({receivers[i], all[i].data(), all[i].size()}); }
    }
    return messages;
}

/// A rank without memory for its part sends nothing, for the others wait for it.
template <class Work> void or_nothing(std::vector<Parts>& parts, Received& received, Work work) {
    try {
        work();
    } catch (const std::bad_alloc&) {
        received.fail(MPI_ERR_NO_MEM);
        for (Parts& part : parts) { part = Parts(); }
    }
}

} // namespace

void locality(Context& context, int tag, std::span<const Outgoing> outgoing, Received& received) {
    const Topology& topology = context.topology();
    int rank = 0;
    MPI_CALL(Comm_rank, context.comm(), &rank);
    const int own_node = topology.node_of(rank);
    const int mates = topology.ranks_on(own_node);
    std::vector<Parts> to_nodes(static_cast<size_t>(topology.nodes()));
    std::vector<Parts> to_mates(static_cast<size_t>(mates));
    std::vector<int> locals(static_cast<size_t>(mates));
    std::iota(locals.begin(), locals.end(), 0);
    std::vector<int> receivers;
    receivers.reserve(to_nodes.size());
    for (int node = 0; node < topology.nodes(); ++node) {
        const std::vector<int>& ranks = topology.ranks_of(node);
        receivers.push_back(ranks[static_cast<size_t>(topology.local_of(rank)) % ranks.size()]);
    }

    or_nothing(to_nodes, received, [&] {
        for (const Outgoing& message : outgoing) {
            const auto node = static_cast<size_t>(topology.node_of(message.peer));
            const int local = topology.local_of(message.peer);
            if (static_cast<int>(node) != own_node) {
                append_part(to_nodes[node], local, message.data, message.bytes);
            } else {
                append_part(to_mates[static_cast<size_t>(local)], rank, message.data,
                            message.bytes);
            }
        }
    });
    Received from_nodes;
    nonblocking(context.comm(), tag, messages_of(to_nodes, receivers), from_nodes);
    received.fail(from_nodes.error);
    or_nothing(to_mates, received, [&] {
        for (const Incoming& message : from_nodes.messages) {
            visit_parts_of(message, [&](int local, const std::byte* data, uint64_t bytes) {
                append_part(to_mates.at(static_cast<size_t>(local)), message.peer, data, bytes);
            });
        }
    });
    Received from_mates;
    personalized(context.node_comm(), tag, messages_of(to_mates, locals), context.counts(),
                 from_mates);
    received.fail(from_mates.error);
    received.memory = std::move(from_mates.memory);
    for (const Incoming& message : from_mates.messages) {
        visit_parts_of(message, [&](int source, const std::byte* data, uint64_t bytes) {
            received.messages.push_back({source, data, bytes});
        });
    }
    received.sort();
}

} // namespace nodeaware::sparse
