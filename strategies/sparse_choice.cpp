#include "strategies/sparse_choice.hpp"

#include "strategies/relay.hpp"
#include "strategies/sparse_block.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace nodeaware::sparse {

namespace {

constexpr uint64_t least_block = 64;

uint64_t whole_words(uint64_t bytes) { return bytes / header_bytes * header_bytes; }

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
    double seconds(double bytes, const Costs& costs) const {
        const ProtocolCosts& protocol = costs.of(static_cast<uint64_t>(bytes * blocks));
        return seconds_by_number(protocol) + bytes * seconds_per_byte(protocol, costs);
    }
};

/// The same bytes of each rank for each node, until they lie there.
double straight_seconds(const Topology& topology, const Costs& costs, double bytes) {
    return BlockMessages(topology).seconds(bytes, costs) + 2 * costs.flag;
}

double moved_seconds(const Topology& topology, const Costs& costs, const Blocks& blocks) {
    const auto bytes = static_cast<double>(blocks.bytes);
    if (blocks.radix == 0) { return straight_seconds(topology, costs, bytes); }
    const double of_a_node = bytes * topology.most_ranks_on_a_node();
    return relay_seconds(topology, blocks.radix, true, of_a_node, costs);
}

/// Of a block, so that no carrier has to ask its receiver.
uint64_t eager_bytes(const Topology& topology, const Costs& costs, int radix) {
    const uint64_t bundles = relay_counts(topology.nodes(), radix).most_bundles;
    const uint64_t table = carriers::table_end(bundles);
    const uint64_t limit = costs.eager().limit;
    const auto ranks = static_cast<uint64_t>(topology.most_ranks_on_a_node());
    return limit > table ? whole_words((limit - table) / (bundles * ranks)) : 0;
}

/// Every rank takes what all of them have for its node.
double taken_seconds(const Topology& topology, const Costs& costs, double bytes) {
    return bytes * topology.ranks() * costs.copy_per_byte;
}

double rounds(int ranks) { return std::ceil(std::log2(std::max(1, ranks))); }

double numbers_bytes(int ranks) { return static_cast<double>(ranks) * sizeof(int32_t); }

/// So many messages of one rank, while `at_once` ranks of its node send as many: max-rate.
double messages_seconds(const Costs& costs, double messages, double bytes, double at_once) {
    const ProtocolCosts& protocol = costs.of(static_cast<uint64_t>(bytes));
    const double each = std::max(protocol.latency, at_once * protocol.gap) +
                        bytes * std::max(protocol.per_byte, at_once * costs.node_per_byte);
    return messages * each;
}

/// Messages of all ranks to other nodes.
double sends_seconds(const Topology& topology, const Costs& costs, int messages, double bytes) {
    return messages_seconds(costs, messages, bytes, topology.most_ranks_on_a_node());
}

double sum_seconds(const Topology& topology, const Costs& costs, double bytes) {
    const int ranks = topology.most_ranks_on_a_node();
    return messages_seconds(costs, rounds(topology.nodes()), bytes, ranks) +
           rounds(ranks) * (costs.flag + bytes * costs.copy_per_byte);
}

double barrier_seconds(const Topology& topology, const Costs& costs) {
    if (topology.nodes() < 2) { return rounds(topology.ranks()) * costs.flag; }
    double seconds = 0;
    for (int distance = 1; distance < topology.ranks(); distance *= 2) {
        seconds +=
            messages_seconds(costs, 1, 0, std::min(distance, topology.most_ranks_on_a_node()));
    }
    return seconds;
}

} // namespace

uint64_t block_bytes(const Topology& topology, const Costs& costs) {
    constexpr double most = 4096;
    constexpr double begins_with = 64; ///< what comes before the blocks in a message, at most
    const ProtocolCosts& eager = costs.eager();
    const BlockMessages messages(topology);
    const double per_byte = messages.seconds_per_byte(eager, costs);
    const double by_number =
        per_byte > 0 ? messages.seconds_by_number(eager) / (2 * per_byte) : most;
    const double by_limit = (static_cast<double>(eager.limit) - begins_with) / messages.blocks;
    const double bytes = std::clamp(std::min(by_number, by_limit), double{least_block}, most);
    return whole_words(static_cast<uint64_t>(bytes));
}

int reached_nodes(const Topology& topology, const Pattern& pattern) {
    const int reachable = std::min(pattern.messages, topology.nodes() - 1);
    return pattern.reached_nodes > 0 ? std::min(pattern.reached_nodes, reachable) : reachable;
}

Blocks blocks_for(const Topology& topology, const Costs& costs, uint64_t arena_bytes) {
    constexpr int largest_radix = 64;
    const auto ranks = static_cast<uint64_t>(topology.most_ranks_on_a_node());
    Parameters parameters;
    parameters.arena_bytes = arena_bytes;
    parameters.costs = costs;
    const uint64_t most = block_bytes(topology, costs);
    Blocks best{most, 0};
    double least = moved_seconds(topology, costs, best);
    for (int radix = 2; radix < topology.nodes() && radix <= largest_radix; ++radix) {
        parameters.radix = radix;
        const uint64_t limit = std::min(most, Relay(topology, parameters).limit() / ranks);
        for (const uint64_t bytes : {most, eager_bytes(topology, costs, radix)}) {
            if (bytes > limit || bytes < std::max(least_block, most / 4)) { continue; }
            const Blocks blocks{bytes, radix};
            const double seconds = moved_seconds(topology, costs, blocks);
            if (seconds < least) {
                least = seconds;
                best = blocks;
            }
        }
    }
    return best;
}

double node_pairs_seconds(const Topology& topology, const Costs& costs) {
    const Blocks blocks = blocks_for(topology, costs);
    const auto bytes = static_cast<double>(blocks.bytes);
    return moved_seconds(topology, costs, blocks) + taken_seconds(topology, costs, bytes);
}

double node_pairs_seconds(const Topology& topology, const Costs& costs, const Pattern& pattern) {
    double seconds = node_pairs_seconds(topology, costs);
    const int reached = reached_nodes(topology, pattern);
    if (reached == 0) { return seconds; }
    const Entry entry{topology.most_ranks_on_a_node() - 1, static_cast<uint64_t>(pattern.bytes)};
    const int for_a_node = (pattern.messages - 1) / reached + 1;
    const auto list = list_of(std::vector<Entry>(static_cast<size_t>(for_a_node), entry)).size();
    const uint64_t block = blocks_for(topology, costs).bytes;
    const uint64_t payload = std::min(entry.bytes, block) * static_cast<uint64_t>(for_a_node);
    if (is_whole(list, payload, block)) { return seconds; }
    if (!has_room(list, block)) {
        const auto bytes = static_cast<double>(list);
        seconds += straight_seconds(topology, costs, bytes) + taken_seconds(topology, costs, bytes);
    }
    const double of_a_rank = pattern.messages * pattern.bytes;
    return seconds + straight_seconds(topology, costs, of_a_rank / (topology.nodes() - 1)) +
           2 * of_a_rank * costs.copy_per_byte;
}

double personalized_seconds(const Topology& topology, const Costs& costs, const Pattern& pattern) {
    return sends_seconds(topology, costs, pattern.messages, pattern.bytes) +
           sum_seconds(topology, costs, numbers_bytes(topology.ranks()));
}

double nonblocking_seconds(const Topology& topology, const Costs& costs, const Pattern& pattern) {
    return sends_seconds(topology, costs, pattern.messages, pattern.bytes) +
           sends_seconds(topology, costs, pattern.messages, 0) + barrier_seconds(topology, costs);
}

double locality_seconds(const Topology& topology, const Costs& costs, const Pattern& pattern) {
    const int ranks = topology.most_ranks_on_a_node();
    const int reached = reached_nodes(topology, pattern);
    const double of_a_rank = pattern.messages * pattern.bytes;
    const Pattern gathered{reached, of_a_rank / std::max(1, reached)};
    const double counts = rounds(ranks) * (costs.flag + numbers_bytes(ranks) * costs.copy_per_byte);
    const double handed_on =
        std::min(ranks - 1, pattern.messages) * costs.flag + of_a_rank * costs.copy_per_byte;
    return nonblocking_seconds(topology, costs, gathered) + counts + handed_on;
}

bool node_pairs_pay(const Topology& topology, const Costs& costs) {
    constexpr int few = 16;
    const int off_node = topology.ranks() - topology.most_ranks_on_a_node();
    return node_pairs_seconds(topology, costs) <=
           nonblocking_seconds(topology, costs, {.messages = std::min(few, off_node)});
}

} // namespace nodeaware::sparse
