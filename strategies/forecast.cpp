#include "strategies/forecast.hpp"

#include "strategies/pair_cost.hpp"
#include "strategies/relay.hpp"
#include "strategies/schedule.hpp"

#include <algorithm>
#include <map>

namespace nodeaware {

namespace {

bool is_direct(const Block& block, uint64_t above) {
    return block.messages == 1 && block.bytes > above;
}

/// Sizes that messages may be told apart by: few, for every one is a candidate of its own. Nothing
/// and everything gathered are always among them.
std::vector<uint64_t> direct_limits(const PairTraffic& pair) {
    constexpr uint64_t smallest = 256;
    constexpr uint64_t step = 8;
    uint64_t largest = 0;
    uint64_t least = std::numeric_limits<uint64_t>::max();
    for (const Block& block : pair.blocks) {
        largest = std::max(largest, block.bytes);
        least = std::min(least, block.bytes);
    }
    std::vector<uint64_t> limits = {0};
    for (uint64_t limit = smallest; limit < largest; limit *= step) {
        if (limit >= least) { limits.push_back(limit); }
    }
    limits.push_back(std::numeric_limits<uint64_t>::max());
    return limits;
}

/// Numbers of pieces to consider: powers of two, and as many as keep them within each protocol.
std::vector<uint64_t> piece_counts(const PairTraffic& pair, uint64_t bytes, const Costs& costs) {
    const auto most = static_cast<uint64_t>(std::max(
        pair.topology->ranks_on(pair.source_node), pair.topology->ranks_on(pair.destination_node)));
    std::vector<uint64_t> counts;
    for (uint64_t count = 1; count < most; count *= 2) { counts.push_back(count); }
    counts.push_back(most);
    for (const ProtocolCosts& protocol : costs.protocols) {
        if (protocol.limit <= sizeof(PieceHeader)) { continue; }
        const uint64_t room = protocol.limit - sizeof(PieceHeader);
        const uint64_t count = bytes / room + (bytes % room == 0 ? 0 : 1);
        // More than one piece for a rank is worth it where a larger message costs far more.
        if (count > 0 && count <= 4 * most) { counts.push_back(count); }
    }
    std::sort(counts.begin(), counts.end());
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    return counts;
}

Candidate two_step(const PairTraffic& pair, const Costs& costs) {
    PairCost cost(pair, costs);
    cost.add_plan(plan_two_step(pair, {}));
    return {Candidate::Kind::two_step, 0, 0, cost.seconds(), cost.messages()};
}

/// Puts the best one first.
void put_first(std::vector<Candidate>& candidates) {
    const double most = candidates.front().seconds * trusted_difference;
    const auto best = std::min_element(candidates.begin(), candidates.end(),
                                       [&](const Candidate& a, const Candidate& b) {
                                           if ((a.seconds <= most) != (b.seconds <= most)) {
                                               return a.seconds <= most;
                                           }
                                           return a.messages < b.messages;
                                       });
    std::rotate(candidates.begin(), best, best + 1);
}

/// The segments of all blocks but those that go directly, about: pieces of `size` bytes cut them.
void add_segments(const PairTraffic& pair, uint64_t limit, uint64_t size, PairCost& cost) {
    for (const Block& block : pair.blocks) {
        if (is_direct(block, limit)) { continue; }
        const uint64_t segments = (block.bytes + size - 1) / size;
        cost.add_segments(block, static_cast<double>(segments), block.bytes);
    }
}

/// All candidates that send blocks above `limit` directly.
void add_candidates(const PairTraffic& pair, uint64_t limit, const Costs& costs,
                    std::vector<Candidate>& candidates) {
    PairCost direct(pair, costs);
    uint64_t gathered = 0;
    for (const Block& block : pair.blocks) {
        if (is_direct(block, limit)) {
            direct.add_direct(pair.messages[block.first_message]);
        } else {
            gathered += block.bytes;
        }
    }
    if (gathered == 0) {
        candidates.push_back(
            {Candidate::Kind::pieces, limit, 0, direct.seconds(), direct.messages()});
        return;
    }
    for (const uint64_t count : piece_counts(pair, gathered, costs)) {
        PairCost cost = direct;
        const uint64_t size = (gathered + count - 1) / count;
        const uint64_t pieces = (gathered + size - 1) / size;
        for (uint64_t i = 0; i < pieces; ++i) {
            const int number = static_cast<int>(i);
            cost.add_piece(sender_of(pair, number), receiver_of(pair, number),
                           std::min(size, gathered - i * size));
        }
        if (costs.devices.are_used) { add_segments(pair, limit, size, cost); }
        candidates.push_back(
            {Candidate::Kind::pieces, limit, count, cost.seconds(), cost.messages()});
    }
}

/// Seconds for all exchanges of a node if each is like this pair's.
double seconds_of_all_pairs(const PairTraffic& pair, const Strategy* strategy,
                            const Parameters& parameters) {
    if (strategy == nullptr) { return PairCost::seconds_of_mpi(pair, parameters.costs); }
    PairCost cost(pair, parameters.costs);
    cost.add_plan(strategy->plan(pair, parameters));
    return cost.seconds();
}

/// What is relayed, if other nodes have as much for each other as this one has for them; and the
/// rest, pair by pair.
double relayed_seconds(const NodeTraffic& traffic, const Parameters& parameters) {
    const auto& pairs = traffic.outgoing.empty() ? traffic.incoming : traffic.outgoing;
    if (pairs.empty()) { return 0; }
    const Topology& topology = *pairs.front().topology;
    if (parameters.radix == 0) {
        uint64_t bytes = 0;
        for (const PairTraffic& pair : pairs) { bytes += pair.bytes(); }
        const uint64_t bundle = bytes / static_cast<uint64_t>(topology.nodes() - 1);
        Parameters chosen = parameters;
        chosen.radix = std::max(1, best_radix(topology, bundle, parameters.costs));
        return relayed_seconds(traffic, chosen);
    }
    const Relay relay(topology, parameters);
    double sent = 0;
    double received = 0;
    const double rest = predicted_seconds(traffic, [&](const PairTraffic& pair) {
        if (!relay.carries(pair)) { return forecast(pair, parameters.costs).front().seconds; }
        (pair.source_node == traffic.node ? sent : received) += static_cast<double>(pair.bytes());
        return 0.0;
    });
    if (!relay.is_used()) { return rest; }
    return rest + relay_seconds(topology, relay.radix(), parameters.cuts_carriers,
                                std::max(sent, received) / (topology.nodes() - 1),
                                parameters.costs);
}

} // namespace

PairTraffic uniform_pair(const Topology& topology, uint64_t bytes) {
    PairTraffic pair{&topology, 0, 1, {}, {}};
    for (const int source : topology.ranks_of(0)) {
        for (const int destination : topology.ranks_of(1)) {
            pair.blocks.push_back({source, static_cast<uint32_t>(pair.messages.size()), 1, bytes});
            pair.messages.push_back({source, destination, 0, 0, bytes});
        }
    }
    return pair;
}

std::string name_of(const Candidate& candidate) {
    if (candidate.kind == Candidate::Kind::two_step) { return "two_step"; }
    if (candidate.pieces == 0) { return "standard"; }
    const std::string pieces = candidate.pieces == 1 ? "three_step" : "split";
    return candidate.direct_above == std::numeric_limits<uint64_t>::max() ? pieces : "hybrid";
}

std::vector<Candidate> forecast(const PairTraffic& pair, const Costs& costs) {
    std::vector<Candidate> candidates;
    for (const uint64_t limit : direct_limits(pair)) {
        add_candidates(pair, limit, costs, candidates);
    }
    candidates.push_back(two_step(pair, costs));
    // In the order of listing where costs are equal, so that both ends choose the same.
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
    put_first(candidates);
    return candidates;
}

double predicted_seconds(const NodeTraffic& traffic,
                         const std::function<double(const PairTraffic&)>& seconds_of) {
    const auto all = [&](const std::vector<PairTraffic>& pairs) {
        double sum = 0;
        for (const PairTraffic& pair : pairs) {
            sum += seconds_of(pair) / (pair.topology->nodes() - 1);
        }
        return sum;
    };
    return std::max(all(traffic.outgoing), all(traffic.incoming));
}

double predicted_seconds(const NodeTraffic& traffic, const Strategy* strategy,
                         const Parameters& parameters) {
    if (strategy != nullptr && strategy->relays()) { return relayed_seconds(traffic, parameters); }
    return predicted_seconds(traffic, [&](const PairTraffic& pair) {
        return seconds_of_all_pairs(pair, strategy, parameters);
    });
}

double predicted_uniform_seconds(const Topology& topology, uint64_t bytes, const Strategy* strategy,
                                 const Parameters& parameters) {
    const PairTraffic pair = uniform_pair(topology, bytes);
    if (strategy != nullptr && strategy->relays()) {
        const Relay relay(topology, parameters);
        const double bytes = relay.carries(pair) ? static_cast<double>(pair.bytes()) : 0;
        const double rest = bytes > 0 ? 0 : seconds_of_all_pairs(pair, strategy, parameters);
        if (!relay.is_used()) { return rest; }
        return rest + relay_seconds(topology, relay.radix(), parameters.cuts_carriers, bytes,
                                    parameters.costs);
    }
    return seconds_of_all_pairs(pair, strategy, parameters);
}

bool gathering_pays(const Topology& topology, uint64_t bytes, const Costs& costs) {
    return name_of(forecast(uniform_pair(topology, bytes), costs).front()) != "standard";
}

Plan plan_of(const PairTraffic& pair, const Candidate& candidate) {
    if (candidate.kind == Candidate::Kind::two_step) { return plan_two_step(pair, {}); }
    Plan plan;
    std::vector<uint32_t> gathered;
    for (uint32_t i = 0; i < pair.blocks.size(); ++i) {
        const Block& block = pair.blocks[i];
        if (is_direct(block, candidate.direct_above)) {
            plan.send_directly(block.first_message);
        } else {
            gathered.push_back(i);
        }
    }
    deal_pieces(pair, gathered, candidate.pieces, plan);
    return plan;
}

Plan plan_model(const PairTraffic& pair, const Parameters& parameters) {
    if (pair.blocks.empty()) { return {}; }
    return plan_of(pair, forecast(pair, parameters.costs).front());
}

} // namespace nodeaware
