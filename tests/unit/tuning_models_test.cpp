#include "tuning/node_aware_models.hpp"
#include "tuning/own_path.hpp"
#include "tuning_toy_table.hpp"

#include <gtest/gtest.h>

// The values are computed by hand from toy_table(); the sums stand behind each.
namespace nodeaware::tuning {

TEST(Postal, IsLatencyPlusBytes) {
    EXPECT_DOUBLE_EQ(postal({10, 0.1}, 50), 15); // 10 + 0.1 50
    EXPECT_DOUBLE_EQ(postal({10, 0.1}, 0), 10);
}

TEST(MaxRate, IsBoundByTheProcessOrByTheCard) {
    EXPECT_DOUBLE_EQ(max_rate({20, 0.2}, {3, 200, 8000}, 0.001), 100);  // 3 20 + max(8, 40)
    EXPECT_DOUBLE_EQ(max_rate({20, 0.2}, {3, 200, 50000}, 0.001), 110); // 3 20 + max(50, 40)
    EXPECT_DOUBLE_EQ(max_rate({20, 0.2}, {3, 200, 50000}, 0), 100);     // no limit
}

TEST(Path, TakesTheProtocolOfTheSize) {
    const ModelTable table = toy_table();
    const Path& path = path_of(table, Memory::host, Locality::network);
    EXPECT_EQ(path.protocol_of(100), Protocol::short_message);
    EXPECT_EQ(path.protocol_of(101), Protocol::eager);
    EXPECT_EQ(path.protocol_of(1000), Protocol::eager);
    EXPECT_EQ(path.protocol_of(1001), Protocol::rendezvous);
}

TEST(Path, WithoutTheProtocolOfTheSizeTakesTheNearest) {
    EXPECT_EQ(path_of(toy_table(), Memory::device, Locality::node).protocol_of(1), Protocol::eager);
    Path path;
    EXPECT_TRUE(path.empty());
    path.by_protocol[0] = Postal{1, 1};
    EXPECT_EQ(path.protocol_of(1e9), Protocol::short_message);
}

TEST(ModelTable, WithoutSocketsTakesTheNode) {
    ModelTable table = toy_table();
    table.path(Memory::host, Locality::socket) = {};
    EXPECT_EQ(path_of(table, Memory::host, Locality::socket).postal_of(50), (Postal{3, 0.03}));
    table.path(Memory::host, Locality::network) = {};
    try {
        path_of(table, Memory::host, Locality::network);
        FAIL();
    } catch (const TableError& error) {
        EXPECT_STREQ(error.what(), "model table toy has no parameters paths.host.network");
    }
}

TEST(ModelTable, TakesCopiesOfTheNearestNumberOfProcesses) {
    const ModelTable table = toy_table();
    EXPECT_EQ(copy_of(table, Direction::device_to_host, 1), (Postal{200, 0.02}));
    EXPECT_EQ(copy_of(table, Direction::device_to_host, 3), (Postal{220, 0.04}));
    EXPECT_EQ(copy_of(table, Direction::device_to_host, 4), (Postal{220, 0.04}));
    // More than were measured share what these got.
    EXPECT_EQ(copy_of(table, Direction::device_to_host, 2), (Postal{200, 0.04}));
    EXPECT_EQ(copy_of(table, Direction::device_to_host, 40), (Postal{220, 0.4}));
}

TEST(NodeAwareModels, TOn) {
    const ModelTable table = toy_table();
    // Eager: 2 (2 + 0.02 500) + 3 (5 + 0.05 500) = 2 12 + 3 30
    EXPECT_DOUBLE_EQ(t_on(table, Memory::host, 500, 3), 114);
    // Rendezvous: 1 (9 + 0.003 2000) + 2 (12 + 0.005 2000) = 15 + 2 22
    EXPECT_DOUBLE_EQ(t_on(table, Memory::device, 2000, 2), 59);
}

TEST(NodeAwareModels, TOnSplit) {
    // pps/ppg = 4, short: 3 (1 + 0.01 50) + 4 (3 + 0.03 50) = 4.5 + 18
    EXPECT_DOUBLE_EQ(t_on_split(toy_table(), 50, 8, 2), 22.5);
}

TEST(NodeAwareModels, TOff) {
    const ModelTable table = toy_table();
    // Messages of 100 bytes are short: 4 10 + max(30, 0.1 400)
    EXPECT_DOUBLE_EQ(t_off(table, {4, 400, 30000}), 80);
    EXPECT_DOUBLE_EQ(t_off(table, {4, 400, 60000}), 100); // 4 10 + max(60, 40)
    // Messages of 1500 bytes: 2 50 + 0.006 3000
    EXPECT_DOUBLE_EQ(t_off_da(table, {2, 3000, 1e9}), 118);
}

TEST(NodeAwareModels, TCopySendsOffTheDeviceAndReceivesOntoIt) {
    const ModelTable table = toy_table();
    // 200 + 0.02 1000 + 100 + 0.01 500; as printed, with the directions swapped, it would be 320.
    EXPECT_DOUBLE_EQ(t_copy(table, 1000, 500, 1), 325);
    EXPECT_DOUBLE_EQ(t_copy(table, 1000, 500, 4), 385); // 220 + 40 + 110 + 15
}

namespace {

const Table6Input table6_input{.s_proc = 600,
                               .s_node = 2000,
                               .s_node_node = 1500,
                               .m_proc_node = 2,
                               .m_node_node = 3,
                               .m_proc = 0,
                               .gps = 2,
                               .pps = 4,
                               .ppn = 8,
                               .ppg = 4};

} // namespace

TEST(Table6, HasTheEightCompositions) {
    const auto rows = table6(toy_table(), table6_input);
    ASSERT_EQ(rows.size(), std::size(composition_keys));
    const double expected[] = {
        160, // 300 bytes each, eager: 2 20 + max(8 600 0.001, 0.2 600)
        240, // 2 30 + 0.3 600
        742, // 500 each: 3 20 + max(2, 0.2 1500) + 2 (5.5 + 2 11) + (212 + 115)
        645, // 3 30 + 0.3 1500 + 2 (13.5 + 2 19.5)
        571, // 2 20 + max(2, 120) + (14 + 2 35) + 327
        380, // 2 30 + 180 + (42 + 2 49)
        549, // 250 in 2: 2 20 + max(2, 0.2 250) + 2 (3 6 + 4 12) + 327
        513, // 90 + 2 (0 6 + 1 12) + (220 + 24 + 110 + 45)
    };
    for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].key, composition_keys[i]);
        ASSERT_TRUE(rows[i].seconds) << rows[i].missing;
        EXPECT_DOUBLE_EQ(*rows[i].seconds, expected[i]) << rows[i].key;
    }
    EXPECT_DOUBLE_EQ(*rows[0].seconds_with_copies, 478); // 160 + 212 + 106
}

TEST(Table6, NamesTermsAndProtocols) {
    const auto rows = table6(toy_table(), table6_input);
    const Composition& row = rows[2];
    ASSERT_EQ(row.terms.size(), 3U);
    EXPECT_EQ(row.terms[0].name, "T_off");
    EXPECT_EQ(row.terms[0].protocol, "eager");
    EXPECT_DOUBLE_EQ(row.terms[0].seconds, 360);
    EXPECT_EQ(row.terms[1].name, "2 T_on");
    EXPECT_EQ(row.terms[1].protocol, "rendezvous");
    EXPECT_DOUBLE_EQ(row.terms[1].seconds, 55);
    EXPECT_EQ(row.terms[2].name, "T_copy");
    EXPECT_EQ(row.terms[2].protocol, "");
    EXPECT_DOUBLE_EQ(row.terms[2].seconds, 327);
}

TEST(Table6, StandardCommunicationCanSendMoreMessagesThanNodes) {
    Table6Input input = table6_input;
    input.m_proc = 6; // 100 bytes each, short: 6 10 + max(4.8, 60)
    EXPECT_DOUBLE_EQ(*table6(toy_table(), input)[0].seconds, 120);
}

TEST(Table6, LeavesOutWhatTheTableCannotTell) {
    ModelTable table = toy_table();
    for (const Locality locality : localities) { table.path(Memory::device, locality) = {}; }
    table.copies.clear();
    const auto rows = table6(table, table6_input);
    EXPECT_FALSE(rows[1].seconds);
    EXPECT_EQ(rows[1].missing, "model table toy has no parameters paths.device.network");
    EXPECT_DOUBLE_EQ(*rows[2].seconds, 415); // 742 without the copies
    EXPECT_FALSE(rows[0].seconds_with_copies);
}

TEST(OwnPath, PacksSendsAndUnpacks) {
    EXPECT_DOUBLE_EQ(shared_memory_step({100, 2}, 500), 7);
    const auto terms = own_path(toy_table(), {.network = {2, 600, 2000},
                                              .packed = 500,
                                              .unpacked = 400,
                                              .device_sent = 200,
                                              .device_received = 0});
    ASSERT_EQ(terms.size(), 3U);
    EXPECT_DOUBLE_EQ(terms[0].seconds, 209); // 300/100 + 2 + 200 + 0.02 200
    EXPECT_DOUBLE_EQ(terms[1].seconds, 160);
    EXPECT_EQ(terms[1].protocol, "eager");
    EXPECT_DOUBLE_EQ(terms[2].seconds, 6); // 400/100 + 2
    ModelTable table = toy_table();
    table.shared_memory.reset();
    EXPECT_THROW(own_path(table, {}), TableError);
}

} // namespace nodeaware::tuning
