#include "tests/unit/random_case.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace nodeaware::test {

uint64_t draw(Random& random, uint64_t low, uint64_t high) {
    return low + random() % (high - low + 1);
}

namespace {

bool chance(Random& random, uint64_t percent) { return draw(random, 1, 100) <= percent; }

/// Mostly small, sometimes large.
uint64_t draw_bytes(Random& random) {
    switch (draw(random, 0, 9)) {
    case 0: return draw(random, 1, 3000);
    case 1:
    case 2: return draw(random, 1, 300);
    default: return draw(random, 1, 24);
    }
}

} // namespace

RandomCase::RandomCase(uint64_t seed) {
    Random random(seed);
    draw_topology(random);
    traffic.resize(static_cast<size_t>(topology.ranks()));
    if (chance(random, 20)) {
        draw_allgather(random);
    } else {
        draw_traffic(random);
    }
    list_incoming(random);
    draw_parameters(random);
    draw_slabs(random);
}

void RandomCase::draw_topology(Random& random) {
    const uint64_t nodes = chance(random, 10) ? draw(random, 1, 32) : draw(random, 2, 5);
    const uint64_t most = chance(random, 10) ? 8 : 4;
    std::vector<int> node_of;
    for (uint64_t node = 0; node < nodes; ++node) {
        node_of.insert(node_of.end(), draw(random, 1, most), static_cast<int>(node));
    }
    switch (draw(random, 0, 2)) {
    case 0: break; // block placement
    case 1: {      // cyclic: sort by the position within the node
        std::map<std::pair<size_t, int>, int> order;
        std::vector<size_t> count(nodes);
        for (const int node : node_of) { order[{count[static_cast<size_t>(node)]++, node}] = node; }
        node_of.clear();
        for (const auto& entry : order) { node_of.push_back(entry.second); }
        break;
    }
    default: std::shuffle(node_of.begin(), node_of.end(), random);
    }
    topology = Topology(node_of);
}

void RandomCase::draw_traffic(Random& random) {
    const int ranks = topology.ranks();
    const uint64_t density = draw(random, 0, 100) * draw(random, 0, 100) / 100;
    const bool uniform = chance(random, 15);
    const uint64_t uniform_bytes = draw_bytes(random);
    const bool repeats = chance(random, 20); // several messages between the same ranks
    const bool overlaps = chance(random, 20);
    for (int source = 0; source < ranks; ++source) {
        auto& list = traffic[static_cast<size_t>(source)].outgoing;
        for (int peer = 0; peer < ranks; ++peer) {
            if (!chance(random, uniform ? 100 : density)) { continue; }
            const uint64_t copies = repeats ? draw(random, 1, 3) : 1;
            for (uint64_t i = 0; i < copies; ++i) {
                list.push_back({peer, 0, uniform ? uniform_bytes : draw_bytes(random)});
            }
        }
        traffic[static_cast<size_t>(source)].packs_late = chance(random, 20);
        std::shuffle(list.begin(), list.end(), random);
        for (uint32_t i = 0; i < list.size(); ++i) {
            list[i].memory = i;
            if (i > 0 && overlaps && chance(random, 60)) { // the same memory as an earlier message
                const Outgoing& other = list[draw(random, 0, i - 1)];
                list[i].memory = other.memory;
                list[i].bytes = other.bytes;
            }
        }
    }
}

void RandomCase::draw_allgather(Random& random) {
    sharing = Sharing::both;
    const uint64_t density = draw(random, 0, 100);
    for (auto& rank : traffic) {
        const uint64_t bytes = draw_bytes(random);
        rank.packs_late = chance(random, 20);
        for (int peer = 0; peer < topology.ranks(); ++peer) {
            if (!chance(random, density)) { continue; }
            for (uint64_t i = chance(random, 10) ? 2 : 1; i > 0; --i) {
                rank.outgoing.push_back({peer, 0, bytes});
            }
        }
        std::shuffle(rank.outgoing.begin(), rank.outgoing.end(), random);
    }
}

/// Every rank lists what it gets in an order of its own, except that messages from one source keep
/// their order.
void RandomCase::list_incoming(Random& random) {
    for (int rank = 0; rank < topology.ranks(); ++rank) {
        auto& incoming = traffic[static_cast<size_t>(rank)].incoming;
        std::map<int, std::vector<uint64_t>> from;
        std::vector<int> order;
        for (int source = 0; source < topology.ranks(); ++source) {
            for (const Outgoing& message : traffic[static_cast<size_t>(source)].outgoing) {
                if (message.peer != rank) { continue; }
                from[source].push_back(message.bytes);
                order.push_back(source);
            }
        }
        std::shuffle(order.begin(), order.end(), random);
        std::map<int, size_t> next;
        for (const int source : order) {
            incoming.push_back({source, from[source][next[source]++]});
        }
    }
}

/// Any machine: the limits and the prices of messages are in no order.
void RandomCase::draw_costs(Random& random) {
    const auto price = [&] { return static_cast<double>(draw(random, 0, 1000)); };
    Costs& costs = parameters.costs;
    for (ProtocolCosts& protocol : costs.protocols) {
        protocol = {draw(random, 1, 1000), price(), price() * 1e-2, price()};
    }
    costs.node_per_byte = price() * 1e-2;
    costs.copy_per_byte = price() * 1e-2;
    costs.flag = price();
    costs.devices.are_used = chance(random, 50);
    costs.devices.to_host.per_byte = price() * 1e-2;
    costs.devices.to_device.per_byte = price() * 1e-2;
}

void RandomCase::draw_parameters(Random& random) {
    draw_costs(random);
    parameters.message_cap = chance(random, 20) ? draw(random, 1, 20) : draw(random, 1, 4000);
    parameters.direct_bytes = chance(random, 20) ? 0 : draw(random, 1, 1000);
    parameters.local_direct_bytes = chance(random, 20) ? 0 : draw(random, 1, 1000);
    parameters.radix = static_cast<int>(chance(random, 50) ? 2 : draw(random, 2, 20));
    parameters.cuts_carriers = chance(random, 70);
    const uint64_t least = smallest_arena(topology);
    parameters.arena_bytes = chance(random, 30) ? least : draw(random, least, 40 * least);
}

/// Of some ranks that pack late, for some of the others.
void RandomCase::draw_slabs(Random& random) {
    constexpr std::array ways = {DeviceCopy::automatic, DeviceCopy::md, DeviceCopy::dd};
    parameters.device_copy = ways.at(draw(random, 0, 2));
    for (CopyCosts& costs : parameters.costs.devices.to_host_by) {
        costs = {1e-3 * static_cast<double>(draw(random, 0, 1000)), 0,
                 1e-3 * static_cast<double>(draw(random, 0, 1000))};
    }
    for (int owner = 0; owner < topology.ranks(); ++owner) {
        if (!traffic[static_cast<size_t>(owner)].packs_late || chance(random, 30)) { continue; }
        SharedSlab slab{owner,
                        chance(random, 50) ? draw(random, 1, 500) : draw(random, 1, 20000),
                        chance(random, 50) ? 0 : draw(random, 1, 300),
                        {}};
        for (const int rank : topology.ranks_of(topology.node_of(owner))) {
            if (rank != owner && chance(random, 70)) { slab.readers.push_back(rank); }
        }
        if (!slab.readers.empty()) { slabs.push_back(std::move(slab)); }
    }
}

} // namespace nodeaware::test
