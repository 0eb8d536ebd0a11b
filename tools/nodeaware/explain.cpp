#include "tools/nodeaware/explain.hpp"

#include "runtime/job/options.hpp"
#include "strategies/forecast.hpp"
#include "strategies/relay.hpp"
#include "strategies/schedule.hpp"
#include "tuning/costs_of.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <set>

namespace nodeaware::tool {

namespace {

using nlohmann::ordered_json;
using namespace nodeaware::tuning;

/// Node 0 and node 1 of the pattern; all others are like them.
class Pair {
  public:
    explicit Pair(const ExplainedPattern& pattern)
        : topology_(placement(pattern)), pair_{&topology_, 0, 1, {}, {}} {
        const int64_t others = std::max(1, pattern.nodes - 1);
        const int64_t targets = others * std::max(1, pattern.ppn);
        const int64_t messages = pattern.messages > 0 ? pattern.messages : targets;
        for (int source = 0; source < pattern.ppn; ++source) {
            // Dealt out to the nodes in turn; the next process goes on where this one stops.
            std::multiset<int> destinations;
            for (int64_t i = source * messages; i < (source + 1) * messages; ++i) {
                const int64_t target = i % targets;
                if (target % others == 0) {
                    destinations.insert(pattern.ppn + static_cast<int>(target / others));
                }
            }
            for (const int destination : destinations) { add(source, destination, pattern.bytes); }
        }
    }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;
    ~Pair() = default;

    const PairTraffic& traffic() const { return pair_; }

  private:
    static Topology placement(const ExplainedPattern& pattern) {
        std::vector<int> nodes;
        for (int node = 0; node < pattern.nodes; ++node) {
            nodes.insert(nodes.end(), static_cast<size_t>(pattern.ppn), node);
        }
        return Topology(nodes);
    }

    void add(int source, int destination, uint64_t bytes) {
        pair_.blocks.push_back({source, static_cast<uint32_t>(pair_.messages.size()), 1, bytes});
        pair_.messages.push_back({source, destination, 0, 0, bytes});
    }

    Topology topology_;
    PairTraffic pair_;
};

Costs costs_for(const ModelTable& table, const ExplainedPattern& pattern) {
    const Costs costs = costs_of(table, ranks_per_device(table, pattern.ppn));
    if (pattern.memory == "host") { return costs; }
    return costs.with_devices(pattern.memory == "device-aware");
}

/// A candidate and what it does.
struct Explained {
    std::string name;
    size_t messages = 0;
    uint64_t largest = 0; ///< bytes of its largest message
    uint64_t copied = 0;  ///< bytes that go through shared memory
    double seconds = 0;
    double times_best = 1;
};

std::vector<Explained> explained(const PairTraffic& pair, const Costs& costs) {
    const std::vector<Candidate> candidates = forecast(pair, costs);
    std::vector<Explained> rows;
    for (const Candidate& candidate : candidates) {
        const Plan plan = plan_of(pair, candidate);
        Explained row{name_of(candidate), plan.direct().size() + plan.pieces().size(),   0, 0,
                      candidate.seconds,  candidate.seconds / candidates.front().seconds};
        for (const uint32_t message : plan.direct()) {
            row.largest = std::max(row.largest, pair.messages[message].bytes);
        }
        for (const Piece& piece : plan.pieces()) {
            row.largest = std::max(row.largest, piece.bytes + sizeof(PieceHeader));
            row.copied += piece.bytes;
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

/// What it takes if all nodes relay what they have for each other.
struct Relayed {
    int radix = 0;         ///< 0: they do not
    uint64_t messages = 0; ///< of a node
    uint64_t limit = 0;    ///< bytes for another node
    double seconds = 0;
};

Relayed relayed(const PairTraffic& pair, const Costs& costs) {
    const Topology& topology = *pair.topology;
    Parameters parameters = Options().parameters;
    parameters.costs = costs;
    parameters.radix = best_radix(topology, pair.bytes(), costs);
    const Relay relay(topology, parameters);
    if (!relay.carries(pair)) { return {}; }
    return {relay.radix(), relay_counts(topology.nodes(), relay.radix()).messages, relay.limit(),
            relay_seconds(topology, relay.radix(), parameters.cuts_carriers,
                          static_cast<double>(pair.bytes()), costs)};
}

/// What a worse candidate has more of than the best one.
std::string why(const Explained& row, const Explained& best, const Costs& costs) {
    if (&row == &best) { return "best"; }
    char text[40];
    std::snprintf(text, sizeof text, "%.4g times the chosen one", row.times_best);
    std::string reason = text;
    if (row.messages > best.messages) { reason += ", more messages"; }
    if (row.copied > best.copied) { reason += ", more copies"; }
    if (costs.of(row.largest).latency > costs.of(best.largest).latency) {
        reason += ", dearer protocol";
    }
    if (row.messages < best.messages) { reason += ", fewer processes send"; }
    return reason;
}

ordered_json to_json(const ModelTable& table, const ExplainedPattern& pattern,
                     const std::vector<Explained>& rows, const Relayed& relayed,
                     const Costs& costs) {
    ordered_json json = {{"table", table.name},
                         {"units", {{"time", "seconds"}, {"size", "bytes"}}},
                         {"pattern",
                          {{"nodes", pattern.nodes},
                           {"ppn", pattern.ppn},
                           {"messages", pattern.messages},
                           {"bytes", pattern.bytes},
                           {"memory", pattern.memory}}},
                         {"candidates", ordered_json::array()}};
    for (const Explained& row : rows) {
        json["candidates"].push_back({{"strategy", row.name},
                                      {"messages", row.messages},
                                      {"largest_bytes", row.largest},
                                      {"copied_bytes", row.copied},
                                      {"seconds", row.seconds},
                                      {"times_best", row.times_best},
                                      {"why", why(row, rows.front(), costs)}});
    }
    if (relayed.radix > 0) {
        json["relayed"] = {{"radix", relayed.radix},
                           {"messages_of_a_node", relayed.messages},
                           {"largest_bytes_for_a_node", relayed.limit},
                           {"seconds", relayed.seconds}};
    }
    return json;
}

} // namespace

void explain(const ModelTable& table, const ExplainedPattern& pattern, bool as_json) {
    constexpr int64_t most_messages = 1 << 24; // of a node
    if (pattern.messages * pattern.ppn > most_messages ||
        int64_t{pattern.nodes} * pattern.ppn > most_messages) {
        throw TableError("--explain: too many messages or processes");
    }
    const Costs costs = costs_for(table, pattern);
    const Pair pair(pattern);
    const std::vector<Explained> rows = explained(pair.traffic(), costs);
    const Relayed relay = relayed(pair.traffic(), costs);
    if (as_json) {
        std::printf("%s\n", to_json(table, pattern, rows, relay, costs).dump(2).c_str());
        return;
    }
    std::printf("table %s; %zu messages of %" PRIu64 " bytes from one node to another, memory: %s; "
                "seconds for all %d other nodes\n",
                table.name.c_str(), pair.traffic().messages.size(), pattern.bytes,
                pattern.memory.c_str(), pattern.nodes - 1);
    std::printf("%-12s %9s %12s %12s %12s  %s\n", "", "messages", "largest B", "copied B",
                "seconds", "");
    for (const Explained& row : rows) {
        std::printf("%-12s %9zu %12" PRIu64 " %12" PRIu64 " %12.4e  %s\n", row.name.c_str(),
                    row.messages, row.largest, row.copied, row.seconds,
                    why(row, rows.front(), costs).c_str());
    }
    if (relay.radix == 0) { return; }
    std::printf("all nodes, radix %d: %12.4e  %.4g times the chosen one, %" PRIu64
                " messages of a node instead of %d pairs, for up to %" PRIu64
                " bytes from one node to another\n",
                relay.radix, relay.seconds, relay.seconds / rows.front().seconds, relay.messages,
                pattern.nodes - 1, relay.limit);
}

} // namespace nodeaware::tool
