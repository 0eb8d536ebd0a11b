#include "strategies/forecast.hpp"
#include "strategies/schedule.hpp"
#include "tuning/costs_of.hpp"
#include "tuning/node_aware_models.hpp"
#include "tuning/table_file.hpp"
#include "tuning_toy_table.hpp"

#include <gtest/gtest.h>

namespace nodeaware::tuning {

namespace {

constexpr uint64_t unlimited = std::numeric_limits<uint64_t>::max();

void expect_costs(const ProtocolCosts& costs, uint64_t limit, const Postal& postal) {
    EXPECT_EQ(costs.limit, limit);
    EXPECT_EQ(costs.latency, postal.alpha);
    EXPECT_EQ(costs.per_byte, postal.beta);
}

} // namespace

TEST(CostsOf, TakesTheNetworkOfHostMemory) {
    ModelTable table = toy_table();
    table.path(Memory::host, Locality::network).gaps = {3, 0, std::nullopt};
    const Costs costs = costs_of(table);
    expect_costs(costs.protocols[0], 100, {10, 0.1});
    expect_costs(costs.protocols[1], 1000, {20, 0.2});
    expect_costs(costs.protocols[2], unlimited, {40, 0.004});
    EXPECT_EQ(costs.protocols[0].gap, 3);
    EXPECT_EQ(costs.protocols[1].gap, 0);
    // Not measured: the part of alpha that it is in the default.
    const ProtocolCosts usual = Costs().protocols[2];
    EXPECT_DOUBLE_EQ(costs.protocols[2].gap, 40 * usual.gap / usual.latency);
    EXPECT_EQ(costs.node_per_byte, 0.001);
    EXPECT_EQ(costs.copy_per_byte, 0.01);
    EXPECT_EQ(costs.flag, 2);
}

TEST(CostsOf, AMissingProtocolIsNeverUsed) {
    ModelTable table = toy_table();
    Path& path = table.path(Memory::host, Locality::network);
    path = {{std::nullopt, Postal{20, 0.2}, Postal{40, 0.004}}, 0, 1000};
    Costs costs = costs_of(table);
    expect_costs(costs.protocols[0], 0, {20, 0.2});
    EXPECT_EQ(&costs.of(1), &costs.protocols[1]);

    path = {{std::nullopt, std::nullopt, Postal{40, 0.004}}, 0, 0};
    costs = costs_of(table);
    expect_costs(costs.protocols[1], 0, {40, 0.004});
    EXPECT_EQ(&costs.of(1), &costs.protocols[2]);

    path = {{Postal{10, 0.1}, std::nullopt, Postal{40, 0.004}}, 100, 0};
    costs = costs_of(table);
    EXPECT_EQ(&costs.of(100), &costs.protocols[0]);
    EXPECT_EQ(&costs.of(101), &costs.protocols[2]);

    path = {{std::nullopt, Postal{20, 0.2}, std::nullopt}, 0, 1000};
    costs = costs_of(table);
    EXPECT_EQ(costs.of(1).latency, 20);
    EXPECT_EQ(costs.of(5000).latency, 20);
}

TEST(CostsOf, AgreesWithTheTableOnWhatAMessageCosts) {
    for (const std::string& name : published_table_names()) {
        const ModelTable table = find_table(name);
        const Path& path = table.path(Memory::host, Locality::network);
        const Costs costs = costs_of(table);
        for (uint64_t bytes = 1; bytes <= 1 << 22; bytes = bytes * 3 / 2 + 1) {
            const Postal& postal = path.postal_of(static_cast<double>(bytes));
            EXPECT_EQ(costs.of(bytes).latency, postal.alpha) << name << " " << bytes;
            EXPECT_EQ(costs.of(bytes).per_byte, postal.beta) << name << " " << bytes;
        }
        EXPECT_GT(costs.copy_per_byte, 0) << name;
        EXPECT_GT(costs.flag, 0) << name;
    }
}

TEST(CostsOf, TheDefaultTableGivesTheDefaultCosts) {
    const Costs costs = costs_of(find_table(std::string(default_table_name)));
    const Costs usual;
    for (size_t i = 0; i < usual.protocols.size(); ++i) {
        EXPECT_EQ(costs.protocols[i].limit, usual.protocols[i].limit);
        EXPECT_DOUBLE_EQ(costs.protocols[i].latency, usual.protocols[i].latency);
        EXPECT_DOUBLE_EQ(costs.protocols[i].per_byte, usual.protocols[i].per_byte);
        EXPECT_DOUBLE_EQ(costs.protocols[i].gap, usual.protocols[i].gap);
    }
    EXPECT_DOUBLE_EQ(costs.node_per_byte, usual.node_per_byte);
    // It has no shared memory: MPI's messages on a node stand for it.
    EXPECT_NEAR(costs.copy_per_byte / usual.copy_per_byte, 1, 0.3);
    EXPECT_NEAR(costs.flag / usual.flag, 1, 0.3);
}

TEST(CostsOf, TheDefaultTableGivesTheDefaultCostsOfDevices) {
    const DeviceCosts devices = costs_of(find_table(std::string(default_table_name))).devices;
    const DeviceCosts usual;
    EXPECT_FALSE(devices.are_used);
    for (const auto& [found, expected] : {std::pair(devices.to_host, usual.to_host),
                                          std::pair(devices.to_device, usual.to_device)}) {
        EXPECT_DOUBLE_EQ(found.latency, expected.latency);
        EXPECT_DOUBLE_EQ(found.next, expected.next);
        EXPECT_DOUBLE_EQ(found.per_byte, expected.per_byte);
    }
    for (const size_t i : {0U, 3U}) { // which were measured
        EXPECT_DOUBLE_EQ(devices.to_host_by[i].latency, usual.to_host_by[i].latency);
        EXPECT_DOUBLE_EQ(devices.to_host_by[i].per_byte, usual.to_host_by[i].per_byte);
    }
    for (size_t i = 0; i < usual.protocols.size(); ++i) {
        EXPECT_EQ(devices.protocols[i].limit, usual.protocols[i].limit);
        EXPECT_DOUBLE_EQ(devices.protocols[i].latency, usual.protocols[i].latency);
        EXPECT_DOUBLE_EQ(devices.protocols[i].per_byte, usual.protocols[i].per_byte);
        EXPECT_NEAR(devices.protocols[i].gap / usual.protocols[i].gap, 1, 0.02);
    }
    EXPECT_EQ(devices.node_per_byte, usual.node_per_byte);
}

TEST(CostsOf, CopiesOfDevicesAreThoseOfTheLibraryWhereTheyAreKnown) {
    ModelTable table = toy_table();
    DeviceCosts devices = costs_of(table).devices;
    EXPECT_EQ(devices.to_device.latency, 100);
    EXPECT_EQ(devices.to_device.next, 100); // not known
    EXPECT_EQ(devices.to_device.per_byte, 0.01);
    EXPECT_EQ(devices.to_host.latency, 200);
    EXPECT_EQ(costs_of(table, 7).devices.to_host.latency, 220);
    EXPECT_DOUBLE_EQ(costs_of(table, 8).devices.to_host.per_byte, 2 * 0.04); // they share the link
    table.copies.push_back({Direction::host_to_device, true, 1, {50, 0.5}, HostMemory::arena, 5});
    table.copies.push_back({Direction::host_to_device, true, 2, {80, 0.8}, HostMemory::arena, {}});
    devices = costs_of(table).devices;
    EXPECT_EQ(devices.to_device.latency, 50);
    EXPECT_EQ(devices.to_device.next, 5);
    devices = costs_of(table, 2).devices;
    EXPECT_EQ(devices.to_device.latency, 80);
    EXPECT_DOUBLE_EQ(devices.to_device.next, 8); // the same part of it
    EXPECT_EQ(devices.to_device.per_byte, 0.8);
}

TEST(CostsOf, MessagesOfDevicesAreThoseOfTheHostWhereNothingElseIsKnown) {
    ModelTable table = toy_table();
    table.inverse_injection_rate = {0.001, 0.002};
    Costs costs = costs_of(table);
    expect_costs(costs.devices.protocols[0], 0, {30, 0.3});
    expect_costs(costs.devices.protocols[1], 1000, {30, 0.3});
    expect_costs(costs.devices.protocols[2], unlimited, {50, 0.006});
    EXPECT_EQ(costs.devices.node_per_byte, 0.002);
    EXPECT_EQ(&costs.of_devices(2000), &costs.devices.protocols[2]);
    table.path(Memory::device, Locality::network) = {};
    costs = costs_of(table);
    expect_costs(costs.devices.protocols[0], 100, {10, 0.1});
    EXPECT_EQ(costs.devices.node_per_byte, 0.001);
    table.copies.clear();
    EXPECT_EQ(costs_of(table).devices.to_host.latency, DeviceCosts().to_host.latency);
}

TEST(CostsOf, StagedAndStraightMessagesCostWhatTable6Says) {
    ModelTable table = toy_table();
    table.shared_memory = SharedMemory{1e30, 0}; // table 6 has none
    for (const Memory memory : memories) { table.path(memory, Locality::network).gaps = {0, 0, 0}; }
    for (Copy& copy : table.copies) { copy.next = 1e6; } // too much for pieces that overlap
    constexpr uint64_t bytes = DeviceCosts::copied_together + 1000;
    const Topology topology(std::vector<int>{0, 1});
    NodeTraffic traffic;
    traffic.outgoing.push_back({&topology, 0, 1, {{0, 1, 0, 0, bytes}}, {{0, 0, 1, bytes}}});
    Parameters parameters;
    parameters.costs = costs_of(table).with_devices(true);
    const auto seconds = [&](const char* strategy) {
        return predicted_seconds(traffic, find_strategy(strategy), parameters);
    };
    const auto load = [](double size) { return Load{1, size, size}; };
    EXPECT_DOUBLE_EQ(seconds("standard"), t_off_da(table, load(bytes)));
    EXPECT_DOUBLE_EQ(seconds("three_step"), t_off(table, load(bytes + sizeof(PieceHeader))) +
                                                t_copy(table, bytes, bytes, 1));
    parameters.costs = costs_of(table).with_devices(false);
    EXPECT_DOUBLE_EQ(seconds("standard"),
                     t_off(table, load(bytes)) + t_copy(table, bytes, bytes, 1));
}

TEST(CostsOf, RanksShareTheDevicesOfTheTable) {
    ModelTable table = toy_table();
    EXPECT_EQ(ranks_per_device(table, 16), 1);
    table.fingerprint.gpus_per_node = 4;
    EXPECT_EQ(ranks_per_device(table, 16), 4);
    EXPECT_EQ(ranks_per_device(table, 17), 5);
    EXPECT_EQ(ranks_per_device(table, 3), 1);
    EXPECT_EQ(ranks_per_device(table, 0), 1);
}

TEST(CostsOf, NeedsANetwork) { EXPECT_THROW(costs_of(ModelTable{}), TableError); }

} // namespace nodeaware::tuning
