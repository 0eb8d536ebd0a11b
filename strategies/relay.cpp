#include "strategies/relay.hpp"

#include "strategies/node_load.hpp"
#include "strategies/piece_layout.hpp"
#include "strategies/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace nodeaware {

namespace {

/// Numbers below `nodes` whose digit for `step` (a power of the radix) is `digit`.
int64_t with_digit(int64_t nodes, int64_t step, int64_t radix, int64_t digit) {
    const int64_t period = step * radix;
    const int64_t rest = std::clamp<int64_t>(nodes % period - digit * step, 0, step);
    return nodes / period * step + rest;
}

/// Calls `visit(round, digit, hop, bundles)` for each carrier.
template <class Visit> void visit_carriers(int nodes, int radix, Visit visit) {
    int round = 0;
    for (int64_t step = 1; step < nodes; step *= radix, ++round) {
        for (int64_t digit = 1; digit < radix && digit * step < nodes; ++digit) {
            visit(round, static_cast<int>(digit), digit * step,
                  with_digit(nodes, step, radix, digit));
        }
    }
}

/// Seconds that one more byte and one more message cost a node, if its ranks share them.
struct NodeCosts {
    double per_byte;
    double message;
    NodeCosts(const Topology& topology, const Costs& costs) {
        const double ranks = static_cast<double>(topology.ranks()) / topology.nodes();
        const double of_rank = std::min(costs.eager().per_byte, costs.rendezvous().per_byte);
        per_byte = std::max(costs.node_per_byte, of_rank / ranks);
        message = std::max(costs.eager().gap, costs.eager().latency / ranks);
    }
};

/// Bundles for which it costs less to be relayed.
uint64_t limit_by_costs(const Topology& topology, const RelayCounts& counts, const Costs& costs) {
    const NodeCosts node(topology, costs);
    const double hops = static_cast<double>(counts.bundles) / (topology.nodes() - 1);
    const double more = node.per_byte * (hops - 1);
    const double limit = more > 0 ? node.message / more : 0;
    constexpr auto most = static_cast<double>(largest_piece);
    if (more <= 0 || !(limit < most)) { return largest_piece; }
    return static_cast<uint64_t>(limit);
}

/// Bundles of which all that may come have room.
uint64_t limit_by_room(const RelayCounts& counts, uint64_t arena_bytes) {
    const uint64_t tables = counts.messages * (sizeof(CarrierHeader) + slot_alignment) +
                            counts.bundles * sizeof(CarrierEntry);
    const uint64_t room = Relay::share(wire_share(arena_bytes));
    return room > tables ? (room - tables) / counts.bundles : 0;
}

/// Above what MPI sends at once it asks first, which takes as long as some messages. The first part
/// has the table.
carriers::Cut cut_of(size_t bundles, bool cuts_carriers, const Costs& costs) {
    constexpr double most = 4;
    const double eager = costs.eager().latency;
    const double times = eager > 0 ? costs.rendezvous().latency / eager : most;
    const auto parts = static_cast<uint32_t>(std::clamp(times, 1.0, most));
    if (!cuts_carriers || parts == 1) { return {}; }
    return {std::max(costs.eager().limit, carriers::table_end(bundles)), parts};
}

} // namespace

RelayCounts relay_counts(int nodes, int radix) {
    RelayCounts counts;
    visit_carriers(nodes, radix,
                   [&](int /*round*/, int /*digit*/, int64_t /*hop*/, int64_t bundles) {
                       const auto number = static_cast<uint64_t>(bundles);
                       ++counts.messages;
                       counts.bundles += number;
                       counts.most_bundles = std::max(counts.most_bundles, number);
                   });
    return counts;
}

std::vector<Carrier> carriers_of(int nodes, int radix) {
    struct Last { // hop of a bundle, by its distance
        int32_t carrier = Bundle::none;
        uint32_t entry = 0;
    };
    std::vector<Carrier> carriers;
    std::vector<Last> last(static_cast<size_t>(nodes));
    visit_carriers(nodes, radix, [&](int /*round*/, int digit, int64_t hop, int64_t bundles) {
        const auto number = static_cast<int32_t>(carriers.size());
        Carrier carrier{digit, static_cast<int>(hop), {}};
        carrier.bundles.reserve(static_cast<size_t>(bundles));
        const int64_t step = hop / digit;
        for (int64_t distance = hop; distance < nodes; ++distance) {
            if (distance / step % radix != hop / step) { continue; }
            Last& before = last[static_cast<size_t>(distance)];
            carrier.bundles.push_back({static_cast<int>(distance),
                                       static_cast<int>(distance % step), distance < step * radix,
                                       before.carrier, before.entry});
            before = {number, static_cast<uint32_t>(carrier.bundles.size() - 1)};
        }
        carriers.push_back(std::move(carrier));
    });
    return carriers;
}

Relay::Relay(const Topology& topology, const Parameters& parameters) {
    if (topology.nodes() < 3 || parameters.radix < 2) { return; }
    radix_ = parameters.radix;
    const RelayCounts counts = relay_counts(topology.nodes(), radix_);
    const uint64_t table = carriers::table_end(counts.most_bundles);
    if (table >= largest_piece) { return; }
    limit_ = std::min({limit_by_costs(topology, counts, parameters.costs),
                       limit_by_room(counts, parameters.arena_bytes),
                       (largest_piece - table) / counts.most_bundles});
    cut_ = cut_of(0, parameters.cuts_carriers, parameters.costs);
}

carriers::Cut Relay::cut(size_t bundles) const { return cut_.with_table_of(bundles); }

double relay_seconds(const Topology& topology, int radix, bool cuts_carriers, double bytes,
                     const Costs& costs) {
    const auto ranks = static_cast<size_t>(topology.most_ranks_on_a_node());
    double network = 0;
    double relayed = 0;
    int rounds = 0;
    std::optional<NodeLoad> load(std::in_place, ranks, costs);
    const auto end_round = [&] { network += load->latency() + load->transfer(); };
    visit_carriers(
        topology.nodes(), radix, [&](int round, int digit, int64_t /*hop*/, int64_t bundles) {
            if (round != rounds) {
                end_round();
                load.emplace(ranks, costs);
                rounds = round;
            }
            const auto count = static_cast<uint64_t>(bundles);
            const auto length = carriers::table_end(count) +
                                static_cast<uint64_t>(bytes * static_cast<double>(count));
            const carriers::Cut cut = cut_of(count, cuts_carriers, costs);
            const int handler = Relay::handler(digit, static_cast<int>(ranks));
            for (uint32_t i = 0; i < cut.parts(length); ++i) {
                const carriers::Part part = cut.part(length, i);
                if (!part.is_empty()) { load->add_message(handler, part.bytes()); }
            }
            relayed += bytes * static_cast<double>(count);
        });
    end_round();
    const double own = bytes * (topology.nodes() - 1);
    const auto handlers =
        static_cast<double>(std::min<size_t>(ranks, static_cast<size_t>(radix) - 1));
    const double copied =
        2 * own / static_cast<double>(ranks) + std::max(relayed - own, 0.0) / handlers;
    return network + copied * costs.copy_per_byte + (rounds + 2) * costs.flag;
}

int best_radix(const Topology& topology, uint64_t bytes, const Costs& costs) {
    constexpr int largest = 64;
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int radix = 2; radix < topology.nodes() && radix <= largest; ++radix) {
        const double seconds =
            relay_seconds(topology, radix, true, static_cast<double>(bytes), costs);
        if (seconds < least) {
            least = seconds;
            best = radix;
        }
    }
    return best;
}

/// What is too large to be relayed goes as seems best for its pair alone.
Plan plan_radix(const PairTraffic& pair, const Parameters& parameters) {
    if (!Relay(*pair.topology, parameters).carries(pair)) { return plan_model(pair, parameters); }
    Plan plan;
    plan.relay();
    return plan;
}

} // namespace nodeaware
