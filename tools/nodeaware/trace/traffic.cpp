#include "tools/nodeaware/trace/traffic.hpp"

#include "runtime/mailboxes/container.hpp"
#include "strategies/forecast.hpp"

#include <algorithm>

namespace nodeaware::tool {

void TraceTraffic::add(int from, int to, uint64_t bytes, bool is_shared) {
    if (bytes == 0) { return; }
    if (is_shared) { sharing_ = Sharing::both; }
    RankTraffic& list = lists_[static_cast<size_t>(from)];
    const auto number = is_shared ? 0 : static_cast<uint32_t>(list.outgoing.size());
    list.outgoing.push_back({to, number, bytes});
    lists_[static_cast<size_t>(to)].incoming.push_back({from, bytes});
    crosses_nodes_ = crosses_nodes_ || topology_.node_of(from) != topology_.node_of(to);
}

uint64_t TraceTraffic::largest_message() const {
    uint64_t largest = 0;
    for (const RankTraffic& list : lists_) {
        for (const Outgoing& message : list.outgoing) {
            largest = std::max(largest, message.bytes);
        }
    }
    return largest;
}

void TraceTraffic::gather() {
    for (int node = 0; node < topology_.nodes(); ++node) {
        std::vector<const RankTraffic*> lists;
        for (const int rank : topology_.ranks_of(node)) {
            lists.push_back(&lists_[static_cast<size_t>(rank)]);
        }
        traffic_.push_back(gather_traffic(topology_, node, lists, sharing_));
    }
}

double TraceTraffic::most_of_nodes(const std::function<double(const NodeTraffic&)>& seconds) const {
    double most = 0;
    for (const NodeTraffic& traffic : traffic_) { most = std::max(most, seconds(traffic)); }
    return most;
}

double TraceTraffic::predicted(const Strategy* strategy, const Parameters& parameters) const {
    return most_of_nodes([&](const NodeTraffic& traffic) {
        return predicted_seconds(traffic, strategy, parameters);
    });
}

double TraceTraffic::predicted_in_containers(containers::Kind kind, const Parameters& parameters,
                                             int job_nodes) const {
    const auto ranks = static_cast<uint64_t>(topology_.most_ranks_on_a_node());
    const int nodes = job_nodes > 0 ? job_nodes : topology_.nodes();
    const auto cells =
        containers::cells_of(parameters.arena_bytes, nodes - 1, container::overhead(ranks));
    return most_of_nodes([&](const NodeTraffic& traffic) {
        return containers::predicted_seconds(traffic, kind, cells, parameters);
    });
}

double part_of_ranks(const std::vector<int>& members, size_t ranks) {
    return std::min(1.0, static_cast<double>(members.size()) / static_cast<double>(ranks));
}

TraceTraffic traffic_of(const TracedExchange& exchange, const std::vector<int>& nodes) {
    std::vector<int> list;
    list.reserve(exchange.members().size());
    for (const int rank : exchange.members()) {
        list.push_back(rank < 0 ? -1 : nodes[static_cast<size_t>(rank)]);
    }
    TraceTraffic traffic(list);
    const bool is_shared = exchange.is_shared();
    exchange.visit(
        [&](int from, int to, uint64_t bytes) { traffic.add(from, to, bytes, is_shared); });
    return traffic;
}

} // namespace nodeaware::tool
