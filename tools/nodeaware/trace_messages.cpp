#include "tools/nodeaware/trace_forecast.hpp"
#include "tools/nodeaware/trace_traffic.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace nodeaware::tool {

namespace {

struct Messages {
    int from = 0;
    int to = 0;
    uint64_t count = 0;
    uint64_t bytes = 0; ///< of one of them, about
};

/// Of a communicator and about equally often: members, and a number for how often.
using Kind = std::pair<std::vector<int>, long>;

/// The same number for counts that differ by less than a fifth or so.
long number_of(uint64_t count) { return std::lround(4 * std::log2(static_cast<double>(count))); }

void add(const RankTrace& rank, const TracedSends& sends,
         std::map<Kind, std::vector<Messages>>& kinds) {
    const auto& members = rank.communicators[static_cast<size_t>(sends.communicator)].members;
    const int to = members[static_cast<size_t>(sends.peer)];
    if (to < 0) { return; }
    for (const SizeClass& part : sends.sizes) {
        if (part.bytes == 0 || part.messages == 0) { continue; }
        kinds[{members, number_of(part.messages)}].push_back(
            {rank.rank, to, part.messages, part.bytes / part.messages});
    }
}

uint64_t count_of(const std::vector<Messages>& kind) {
    uint64_t sum = 0;
    for (const Messages& messages : kind) { sum += messages.count; }
    return sum;
}

} // namespace

MessagesForecast forecast_of_messages(const Trace& trace, const std::vector<int>& nodes,
                                      const Parameters& parameters) {
    std::map<Kind, std::vector<Messages>> by_kind;
    for (const RankTrace& rank : trace.ranks) {
        for (const TracedSends& sends : rank.sends) { add(rank, sends, by_kind); }
    }
    std::vector<std::vector<Messages>> kinds;
    for (auto& [kind, messages] : by_kind) { kinds.push_back(std::move(messages)); }
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](const auto& a, const auto& b) { return count_of(a) > count_of(b); });
    MessagesForecast result;
    const Strategy* const gathered = find_strategy("hybrid");
    for (size_t i = 0; i < kinds.size(); ++i) {
        TraceTraffic traffic(nodes);
        for (const Messages& messages : kinds[i]) {
            traffic.add(messages.from, messages.to, messages.bytes, false);
        }
        if (!traffic.crosses_nodes()) { continue; }
        if (i >= TraceForecast::most_kinds) {
            ++result.left_out;
            continue;
        }
        traffic.gather();
        const double times =
            static_cast<double>(count_of(kinds[i])) / static_cast<double>(kinds[i].size());
        result.native += times * traffic.predicted(nullptr, parameters);
        result.gathered += times * traffic.predicted(gathered, parameters);
    }
    return result;
}

} // namespace nodeaware::tool
