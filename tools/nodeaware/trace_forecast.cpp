#include "tools/nodeaware/trace_forecast.hpp"

#include "tools/nodeaware/trace_traffic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace nodeaware::tool {

namespace {

/// The same communicator as its ranks number it.
struct Seen {
    const RankTrace* rank;
    int number;
};
struct SharedCommunicator {
    std::vector<int> members;
    std::vector<Seen> seen; ///< by its ranks, in their order
};

/// Communicators of the same ranks are told apart by the order in which they are first used.
std::vector<SharedCommunicator> find_communicators(const Trace& trace) {
    std::map<std::pair<std::vector<int>, int>, std::map<int, Seen>> found;
    for (const RankTrace& rank : trace.ranks) {
        std::map<std::vector<int>, int> of_these;
        for (size_t i = 0; i < rank.communicators.size(); ++i) {
            const TracedCommunicator& communicator = rank.communicators[i];
            if (communicator.is_inter) { continue; }
            const int order = of_these[communicator.members]++;
            found[{communicator.members, order}].emplace(communicator.rank,
                                                         Seen{&rank, static_cast<int>(i)});
        }
    }
    std::vector<SharedCommunicator> whole;
    for (const auto& [key, seen] : found) {
        if (seen.size() != key.first.size()) { continue; } // some ranks are missing
        SharedCommunicator communicator{key.first, {}};
        for (const auto& [rank, as] : seen) { communicator.seen.push_back(as); }
        whole.push_back(std::move(communicator));
    }
    return whole;
}

/// The patterns of one rank, call by call.
std::vector<int> calls_of(const Seen& seen) {
    constexpr size_t most = 4096;
    std::vector<int> calls;
    const auto sequence = seen.rank->sequences.find(seen.number);
    if (sequence == seen.rank->sequences.end()) { return calls; }
    for (const auto& [pattern, times] : sequence->second) {
        const size_t room = most - calls.size();
        calls.insert(calls.end(), std::min<uint64_t>(times, room), pattern);
    }
    return calls;
}

/// Exchanges of a communicator, by the patterns of all its ranks, and how often they stand in the
/// sequences.
std::map<std::vector<int>, uint64_t> exchanges_of(const SharedCommunicator& communicator) {
    std::vector<std::vector<int>> calls;
    size_t common = std::numeric_limits<size_t>::max();
    for (const Seen& seen : communicator.seen) {
        calls.push_back(calls_of(seen));
        common = std::min(common, calls.back().size());
    }
    std::map<std::vector<int>, uint64_t> exchanges;
    std::vector<int> key(calls.size());
    for (size_t i = 0; i < common; ++i) {
        for (size_t rank = 0; rank < calls.size(); ++rank) { key[rank] = calls[rank][i]; }
        ++exchanges[key];
    }
    return exchanges;
}

std::vector<int> nodes_of(const std::vector<int>& members, const std::vector<int>& nodes) {
    std::vector<int> list;
    list.reserve(members.size());
    for (const int rank : members) {
        list.push_back(rank < 0 ? -1 : nodes[static_cast<size_t>(rank)]);
    }
    return list;
}

/// One exchange, as all its ranks have recorded it.
class Exchange {
  public:
    Exchange(const SharedCommunicator& communicator, const std::vector<int>& patterns,
             const std::vector<int>& nodes)
        : traffic_(nodes_of(communicator.members, nodes)) {
        for (size_t rank = 0; rank < patterns.size(); ++rank) {
            const auto& all = communicator.seen[rank].rank->patterns;
            const TracedPattern& pattern = all[static_cast<size_t>(patterns[rank])];
            for (const auto& [peer, bytes] : pattern.to) {
                add(static_cast<int>(rank), peer, bytes, pattern.function);
            }
            calls_ += ratio(pattern) / static_cast<double>(patterns.size());
            seconds_ += pattern.seconds / static_cast<double>(std::max<uint64_t>(pattern.made, 1)) /
                        static_cast<double>(patterns.size());
        }
    }

    double calls() const { return calls_; }     ///< for each time in the sequence
    double seconds() const { return seconds_; } ///< likewise, mean of the ranks
    TraceTraffic& traffic() { return traffic_; }

  private:
    static double ratio(const TracedPattern& pattern) {
        return static_cast<double>(pattern.calls) /
               static_cast<double>(std::max<uint64_t>(pattern.made, 1));
    }

    void add(int from, int peer, uint64_t bytes, const std::string& function) {
        const bool is_shared = function.find("allgather") != std::string::npos;
        if (peer >= 0) { return traffic_.add(from, peer, bytes, is_shared); }
        for (int to = 0; to < traffic_.ranks(); ++to) { traffic_.add(from, to, bytes, is_shared); }
    }

    TraceTraffic traffic_;
    double calls_ = 0;
    double seconds_ = 0;
};

} // namespace

TraceForecast forecast_of(const Trace& trace, const std::vector<int>& nodes,
                          const Parameters& parameters) {
    TraceForecast result;
    result.messages = forecast_of_messages(trace, nodes, parameters);
    for (const Strategy& strategy : strategies()) {
        result.strategies.push_back({std::string(strategy.name), 0});
    }
    double calls = 0;
    size_t looked_at = 0;
    for (const SharedCommunicator& communicator : find_communicators(trace)) {
        for (const auto& [patterns, times] : exchanges_of(communicator)) {
            Exchange exchange(communicator, patterns, nodes);
            TraceTraffic& traffic = exchange.traffic();
            if (!traffic.crosses_nodes()) { continue; }
            if (++looked_at > TraceForecast::most_kinds) {
                ++result.left_out;
                continue;
            }
            traffic.gather();
            const auto in_sequence = static_cast<double>(times);
            const double often = in_sequence * exchange.calls();
            calls += often;
            result.measured += in_sequence * exchange.seconds();
            result.native += often * traffic.predicted(nullptr, parameters);
            for (size_t i = 0; i < strategies().size(); ++i) {
                result.strategies[i].seconds +=
                    often * traffic.predicted(&strategies()[i], parameters);
            }
        }
    }
    result.calls = static_cast<uint64_t>(std::llround(calls));
    std::stable_sort(result.strategies.begin(), result.strategies.end(),
                     [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    return result;
}

} // namespace nodeaware::tool
