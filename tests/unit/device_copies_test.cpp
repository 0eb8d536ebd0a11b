#include "strategies/device_copies.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace nodeaware {

namespace {

constexpr uint64_t slab_bytes = 1 << 20;
constexpr uint64_t part = 10000;

/// A node of four ranks that sends to another one: each so many bytes, to one rank.
struct Node {
    Topology topology{std::array{0, 0, 0, 0, 1}};
    NodeTraffic traffic;
    Parameters parameters;

    explicit Node(const std::vector<uint64_t>& bytes) {
        PairTraffic pair{&topology, 0, 1, {}, {}};
        for (size_t i = 0; i < bytes.size(); ++i) {
            const auto number = static_cast<uint32_t>(i);
            pair.messages.push_back({static_cast<int>(i), 4, 0, 0, bytes[i]});
            pair.blocks.push_back({static_cast<int>(i), number, 1, bytes[i]});
        }
        traffic.outgoing.push_back(pair);
        traffic.packs_late = true;
        parameters.device_copy = DeviceCopy::dd;
    }

    void share(int owner, uint64_t bytes, std::vector<int> readers) {
        traffic.slabs.push_back({owner, bytes, 100, std::move(readers)});
    }

    /// The bytes that each rank copies if all travel in parts of so many.
    std::vector<uint64_t> copied(DeviceCopies& copies) const {
        std::vector<uint64_t> bytes(4);
        uint64_t place = 0;
        for (const Block& block : traffic.outgoing.front().blocks) {
            for (uint64_t offset = 0; offset < block.bytes; offset += part) {
                bytes.at(static_cast<size_t>(copies.copier_of(block, part, place))) += part;
                place += part;
            }
        }
        return bytes;
    }
};

} // namespace

TEST(DeviceCopies, WhatOneRankHasIsCopiedByAll) {
    Node node({40 * part, 0, 0, 0});
    node.share(0, slab_bytes, {1, 2, 3});
    DeviceCopies copies(node.traffic, node.parameters);
    EXPECT_TRUE(copies.are_shared());
    EXPECT_EQ(node.copied(copies), std::vector<uint64_t>(4, 10 * part));
}

TEST(DeviceCopies, RanksThatHaveAsMuchCopyTheirOwn) {
    Node node({8 * part, 8 * part, 8 * part, 8 * part});
    for (int owner = 0; owner < 4; ++owner) {
        node.share(owner, slab_bytes, {(owner + 1) % 4, (owner + 2) % 4});
    }
    DeviceCopies copies(node.traffic, node.parameters);
    EXPECT_EQ(node.copied(copies), std::vector<uint64_t>(4, 8 * part));
    EXPECT_EQ(copies.copier_of(node.traffic.outgoing.front().blocks[2], part, 0), 2);
}

TEST(DeviceCopies, OnlyReadersHelpAndOnlyAsFarAsThereIsRoom) {
    Node node({40 * part, 0, 0, 0});
    node.share(0, 3 * part, {2});
    DeviceCopies copies(node.traffic, node.parameters);
    EXPECT_EQ(node.copied(copies), (std::vector<uint64_t>{37 * part, 0, 3 * part, 0}));
    // The same place again has room again.
    const Block& block = node.traffic.outgoing.front().blocks.front();
    EXPECT_EQ(copies.copier_of(block, part, 2 * part), 2);
    EXPECT_EQ(copies.copier_of(block, part, 2 * part + 1), 0);
}

TEST(DeviceCopies, SmallMessagesAreTheirOwners) {
    Node node({100, 0, 0, 0});
    node.share(0, slab_bytes, {1, 2, 3});
    DeviceCopies copies(node.traffic, node.parameters);
    EXPECT_EQ(copies.copier_of(node.traffic.outgoing.front().blocks.front(), 10, 0), 0);
}

TEST(DeviceCopies, ByOwnersIfThatIsWanted) {
    Node node({40 * part, 0, 0, 0});
    node.share(0, slab_bytes, {1, 2, 3});
    node.parameters.device_copy = DeviceCopy::md;
    EXPECT_FALSE(DeviceCopies(node.traffic, node.parameters).are_shared());
}

/// Four processes together get less of the link than one alone.
TEST(DeviceCopies, ByThePublishedTableSharingNeverPays) { EXPECT_FALSE(sharing_may_pay(Costs())); }

TEST(DeviceCopies, AutoSharesWhatIsLargeWhereSeveralGetMoreOfTheLink) {
    Costs costs;
    costs.devices.to_host_by.fill({1e-5, 1e-5, 1e-10}); // each as fast as one alone
    EXPECT_TRUE(sharing_may_pay(costs));
    EXPECT_TRUE(sharing_pays(uint64_t{10} << 20U, 3, costs));
    EXPECT_FALSE(sharing_pays(uint64_t{100} << 10U, 3, costs)); // three latencies for one
    EXPECT_FALSE(sharing_pays(uint64_t{10} << 20U, 0, costs));
    EXPECT_FALSE(sharing_pays(uint64_t{1} << 30U, 3, Costs()));
    Node node({uint64_t{10} << 20U, 0, 0, 0});
    node.share(0, slab_bytes, {1, 2, 3});
    node.parameters.device_copy = DeviceCopy::automatic;
    EXPECT_FALSE(DeviceCopies(node.traffic, node.parameters).are_shared());
    node.parameters.costs = costs;
    EXPECT_TRUE(DeviceCopies(node.traffic, node.parameters).are_shared());
}

} // namespace nodeaware
