#include "strategies/sparse_choice.hpp"

#include "strategies/sparse_block.hpp"

#include <algorithm>
#include <cmath>

namespace nodeaware::sparse {

namespace {

/// Messages between each two nodes that carry blocks of so many bytes.
struct BlockMessages {
    double others; ///< nodes
    double of_a_rank;
    double blocks; ///< in a message

    explicit BlockMessages(const Topology& topology)
        : others(std::max(0, topology.nodes() - 1)),
          of_a_rank(std::ceil(others / std::max(1, topology.most_ranks_on_a_node()))),
          blocks(std::max(1, topology.most_ranks_on_a_node())) {}

    double seconds_by_number(const ProtocolCosts& protocol) const {
        return std::max(of_a_rank * protocol.latency, others * protocol.gap);
    }
    double seconds_per_byte(const ProtocolCosts& protocol, const Costs& costs) const {
        return std::max(of_a_rank * blocks * protocol.per_byte,
                        others * blocks * costs.node_per_byte);
    }
};

} // namespace

uint64_t block_bytes(const Topology& topology, const Costs& costs) {
    constexpr double least = 64;
    constexpr double most = 4096;
    constexpr double begins_with = 64; ///< what comes before the blocks in a message, at most
    const ProtocolCosts& eager = costs.eager();
    const BlockMessages messages(topology);
    const double per_byte = messages.seconds_per_byte(eager, costs);
    const double by_number =
        per_byte > 0 ? messages.seconds_by_number(eager) / (2 * per_byte) : most;
    const double by_limit = (static_cast<double>(eager.limit) - begins_with) / messages.blocks;
    const double bytes = std::clamp(std::min(by_number, by_limit), least, most);
    return static_cast<uint64_t>(bytes) / header_bytes * header_bytes;
}

double node_pairs_seconds(const Topology& topology, const Costs& costs) {
    const auto bytes = static_cast<double>(block_bytes(topology, costs));
    const BlockMessages messages(topology);
    const ProtocolCosts& protocol = costs.of(static_cast<uint64_t>(bytes * messages.blocks));
    return messages.seconds_by_number(protocol) +
           bytes * messages.seconds_per_byte(protocol, costs) +
           bytes * topology.ranks() * costs.copy_per_byte + 2 * costs.flag;
}

double nonblocking_seconds(const Topology& topology, const Costs& costs, int messages) {
    const ProtocolCosts& shortest = costs.protocols.front();
    const double of_a_node = static_cast<double>(messages) * topology.most_ranks_on_a_node();
    const double sends = std::max(messages * shortest.latency, of_a_node * shortest.gap);
    const double rounds = std::ceil(std::log2(std::max(1, topology.ranks())));
    return sends + rounds * shortest.latency;
}

bool node_pairs_pay(const Topology& topology, const Costs& costs) {
    constexpr int few = 16;
    const int off_node = topology.ranks() - topology.most_ranks_on_a_node();
    return node_pairs_seconds(topology, costs) <=
           nonblocking_seconds(topology, costs, std::min(few, off_node));
}

} // namespace nodeaware::sparse
