#include "tools/nodeaware/trace/forecast.hpp"

#include "strategies/relay.hpp"
#include "tools/nodeaware/trace/exchanges.hpp"
#include "tools/nodeaware/trace/traffic.hpp"

#include <algorithm>
#include <cmath>

namespace nodeaware::tool {

namespace {

/// With one rank on each node only blocking exchanges of all with all are, where nodes relay and
/// MPI does not.
bool may_be_rerouted(const TracedExchange& exchange, const TraceTraffic& traffic,
                     const Strategy& strategy) {
    if (!traffic.has_one_rank_per_node()) { return true; }
    if (!strategy.relays()) { return false; }
    const std::string function = exchange.function();
    if (!function.starts_with("MPI_Alltoall") || exchange.is_nonblocking()) { return false; }
    const bool is_uniform = function == "MPI_Alltoall" || function == "MPI_Alltoall_c";
    return !is_uniform || !mpi_relays(traffic.ranks(), traffic.largest_message());
}

} // namespace

TraceForecast forecast_of(const Trace& trace, const std::vector<int>& nodes,
                          const Parameters& parameters) {
    TraceForecast result;
    result.messages = forecast_of_messages(trace, nodes, parameters);
    result.is_of_its_nodes = nodes == trace.nodes;
    for (const Strategy& strategy : strategies()) {
        result.strategies.push_back({std::string(strategy.name), 0});
    }
    double calls = 0;
    size_t looked_at = 0;
    for (const TracedExchange& exchange : collective_exchanges(trace)) {
        TraceTraffic traffic = traffic_of(exchange, nodes);
        if (!traffic.crosses_nodes()) { continue; }
        if (++looked_at > TraceForecast::most_kinds) {
            ++result.left_out;
            continue;
        }
        traffic.gather();
        const double part = part_of_ranks(exchange.members(), nodes.size());
        const double often = part * exchange.calls();
        calls += often;
        result.measured += part * exchange.seconds();
        result.has_nonblocking = result.has_nonblocking || exchange.is_nonblocking();
        const double native = traffic.predicted(nullptr, parameters);
        result.native += often * native;
        for (size_t i = 0; i < strategies().size(); ++i) {
            const Strategy& strategy = strategies()[i];
            double seconds = native;
            if (may_be_rerouted(exchange, traffic, strategy)) {
                seconds =
                    exchange.is_nonblocking()
                        ? traffic.predicted_in_containers(containers::Kind::nonblocking, parameters)
                        : traffic.predicted(&strategy, parameters);
            }
            result.strategies[i].seconds += often * seconds;
        }
    }
    // At least one where any could be put together.
    result.calls =
        calls > 0 ? std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(calls))) : 0;
    std::stable_sort(result.strategies.begin(), result.strategies.end(),
                     [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    return result;
}

} // namespace nodeaware::tool
