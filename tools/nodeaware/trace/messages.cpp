#include "runtime/trace/purpose.hpp"
#include "tools/nodeaware/trace/exchanges.hpp"
#include "tools/nodeaware/trace/forecast.hpp"
#include "tools/nodeaware/trace/segments.hpp"
#include "tools/nodeaware/trace/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace nodeaware::tool {

namespace {

/// As if messages of a communicator went together that are sent about equally often.
MessagesForecast forecast_by_counts(const Trace& trace, const std::vector<int>& nodes,
                                    const Parameters& parameters) {
    const std::vector<RepeatedMessages> kinds = repeated_messages(trace);
    MessagesForecast result;
    for (size_t i = 0; i < kinds.size(); ++i) {
        TraceTraffic traffic(nodes);
        for (const RepeatedMessages::Message& message : kinds[i].messages) {
            traffic.add(message.from, message.to, message.bytes, false);
        }
        if (!traffic.crosses_nodes()) { continue; }
        if (i >= TraceForecast::most_kinds) {
            ++result.left_out;
            continue;
        }
        traffic.gather();
        const double often = kinds[i].times() * part_of_ranks(kinds[i].members, nodes.size());
        result.native += often * traffic.predicted(nullptr, parameters);
        result.gathered +=
            often * traffic.predicted_in_containers(containers::Kind::point_to_point, parameters);
    }
    return result;
}

/// Part of all messages whose events say to whom. Those of older traces do not for persistent
/// requests that were started.
double part_with_peers(const Trace& trace) {
    uint64_t all = 0;
    uint64_t with_peers = 0;
    for (const RankTrace& rank : trace.ranks) {
        for (const TracedSends& sends : rank.sends) {
            for (const SizeClass& part : sends.sizes) { all += part.messages; }
        }
        const bool are_starts_told =
            std::any_of(rank.functions.begin(), rank.functions.end(), trace::is_started_send);
        for (const TracedSite& site : rank.sites) {
            const bool is_start = site.function.starts_with("MPI_Start");
            const bool is_one = trace::purpose_of(site.function) == trace::Purpose::message;
            if (is_one && (!is_start || are_starts_told)) { with_peers += site.messages; }
        }
    }
    return all == 0 ? 0 : std::min(1.0, static_cast<double>(with_peers) / static_cast<double>(all));
}

/// Of the nodes that take part, and no others: the load of a node is thought to be the same for
/// each node it sends to.
TraceTraffic traffic_of(const MessagesTogether& together, const std::vector<int>& nodes) {
    std::map<int, int> numbers;
    std::vector<int> places;
    const auto number_of = [&](int rank) {
        const auto [found, is_new] = numbers.emplace(rank, static_cast<int>(places.size()));
        if (is_new) { places.push_back(nodes[static_cast<size_t>(rank)]); }
        return found->second;
    };
    for (const auto& message : together.messages) {
        number_of(message.from);
        number_of(message.to);
    }
    TraceTraffic traffic(places);
    for (const auto& message : together.messages) {
        traffic.add(number_of(message.from), number_of(message.to), message.bytes, false);
    }
    traffic.gather();
    return traffic;
}

/// Seconds of messages of which is known that they went together, or had to wait for each other.
struct Sample {
    double native = 0;
    double gathered = 0;
    uint64_t messages = 0;
};

Sample sample_of(const Trace& trace, const std::vector<int>& nodes, const Parameters& parameters) {
    constexpr size_t most = 4096; // so that large traces take seconds
    const int job_nodes = Topology(nodes).nodes();
    Sample sample;
    for (const auto& together : messages_together(trace, nodes, most)) {
        const TraceTraffic traffic = traffic_of(together, nodes);
        sample.native += traffic.predicted(nullptr, parameters);
        sample.gathered += traffic.predicted_in_containers(containers::Kind::point_to_point,
                                                           parameters, job_nodes);
        sample.messages += together.messages.size();
    }
    return sample;
}

} // namespace

MessagesForecast forecast_of_messages(const Trace& trace, const std::vector<int>& nodes,
                                      const Parameters& parameters) {
    constexpr uint64_t least = 64; // of a run that is too long to be told whole
    MessagesForecast result = forecast_by_counts(trace, nodes, parameters);
    if (result.native <= 0) { return result; }
    const Sample sample = sample_of(trace, nodes, parameters);
    const bool is_whole =
        std::all_of(trace.ranks.begin(), trace.ranks.end(), [](const RankTrace& rank) {
            return rank.has_timeline && rank.events_left_out == 0;
        });
    if (sample.native <= 0 || (!is_whole && sample.messages < least)) { return result; }
    result.told = part_with_peers(trace);
    const double in_order =
        std::max(result.gathered, result.native * sample.gathered / sample.native);
    result.gathered += result.told * (in_order - result.gathered);
    return result;
}

std::string basis_of(const MessagesForecast& forecast) {
    constexpr double little = 0.01;
    if (forecast.told < little) { return "if those that are sent equally often go together"; }
    const char* const in_order = "as far as the order of calls tells that they go together";
    const double others = 1 - forecast.told;
    if (others < little) { return in_order; }
    return fmt::format("{}, or, of persistent requests ({:.0f} % of the messages), if those that "
                       "are started equally often do",
                       in_order, 100 * others);
}

} // namespace nodeaware::tool
