#include "tests/unit/published_split.hpp"

#include "strategies/node_load.hpp"

#include <algorithm>
#include <map>

namespace nodeaware::test {

namespace {

/// Lines 11 to 17 for the receiving node `to`: the messages, by the node that sends them.
std::vector<std::pair<int, uint64_t>>
cut_as_published(const Topology& topology, const Volumes& volumes, int to, uint64_t message_cap) {
    uint64_t total_received = 0;
    uint64_t most_received = 0;
    for (int from = 0; from < volumes.nodes(); ++from) {
        total_received += volumes(from, to);
        most_received = std::max(most_received, volumes(from, to));
    }
    const auto ranks = static_cast<uint64_t>(topology.ranks_on(to));
    uint64_t cap = message_cap;
    if (most_received < message_cap) {
        cap = most_received; // every node's data in a single message
    } else if (total_received > message_cap * ranks) {
        cap = (total_received + ranks - 1) / ranks;
    }
    std::vector<std::pair<int, uint64_t>> parts;
    for (int from = 0; from < volumes.nodes(); ++from) {
        for (uint64_t rest = volumes(from, to); rest > 0; rest -= std::min(rest, cap)) {
            parts.emplace_back(from, std::min(rest, cap));
        }
    }
    return parts;
}

} // namespace

std::vector<NodeMessage> as_published(const Topology& topology, const Volumes& volumes,
                                      uint64_t message_cap) {
    const auto larger = [](const auto& a, const auto& b) { return a.second > b.second; };
    std::vector<NodeMessage> messages;
    std::vector<std::vector<std::pair<size_t, uint64_t>>> sent(
        static_cast<size_t>(volumes.nodes())); // number of the message, bytes
    for (int to = 0; to < volumes.nodes(); ++to) {
        auto parts = cut_as_published(topology, volumes, to, message_cap);
        std::stable_sort(parts.begin(), parts.end(), larger);
        const auto& ranks = topology.ranks_of(to);
        for (size_t i = 0; i < parts.size(); ++i) {
            sent[static_cast<size_t>(parts[i].first)].emplace_back(messages.size(),
                                                                   parts[i].second);
            messages.push_back({0, ranks[i % ranks.size()], parts[i].second});
        }
    }
    for (int from = 0; from < volumes.nodes(); ++from) {
        auto& parts = sent[static_cast<size_t>(from)];
        std::stable_sort(parts.begin(), parts.end(), larger);
        const auto& ranks = topology.ranks_of(from);
        for (size_t i = 0; i < parts.size(); ++i) {
            messages[parts[i].first].sender = ranks[ranks.size() - 1 - i % ranks.size()];
        }
    }
    return messages;
}

Result result_of(const Topology& topology, const std::vector<NodeMessage>& messages) {
    const Costs costs;
    const auto of_nodes = [&] {
        std::vector<NodeLoad> loads;
        loads.reserve(static_cast<size_t>(topology.nodes()));
        for (int node = 0; node < topology.nodes(); ++node) {
            loads.emplace_back(static_cast<size_t>(topology.ranks_on(node)), costs);
        }
        return loads;
    };
    auto sending = of_nodes();
    auto receiving = of_nodes();
    std::map<std::pair<int, bool>, std::pair<uint64_t, uint64_t>> of_rank;
    for (const NodeMessage& message : messages) {
        const auto add = [&](std::vector<NodeLoad>& loads, int rank, bool sends) {
            loads[static_cast<size_t>(topology.node_of(rank))].add_message(topology.local_of(rank),
                                                                           message.bytes);
            auto& [count, bytes] = of_rank[{rank, sends}];
            ++count;
            bytes += message.bytes;
        };
        add(sending, message.sender, true);
        add(receiving, message.receiver, false);
    }
    Result result;
    for (const auto& [rank, load] : of_rank) {
        result.most_messages = std::max(result.most_messages, load.first);
        result.most_bytes = std::max(result.most_bytes, load.second);
    }
    for (const auto* loads : {&sending, &receiving}) {
        for (const NodeLoad& load : *loads) {
            result.seconds = std::max(result.seconds, load.latency() + load.transfer());
        }
    }
    return result;
}

} // namespace nodeaware::test
