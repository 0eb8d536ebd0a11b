#include "strategies/piece_layout.hpp"
#include "strategies/schedule.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

namespace nodeaware {

namespace {

/// Each sent by a rank of its own.
Plan plan_of(const std::vector<uint64_t>& pieces) {
    Plan plan;
    for (size_t i = 0; i < pieces.size(); ++i) {
        plan.begin_piece(static_cast<int>(i), 100);
        plan.append({static_cast<uint32_t>(i), 0, pieces[i]});
    }
    return plan;
}

uint64_t bytes_of(const Plan& plan) {
    return std::accumulate(plan.pieces().begin(), plan.pieces().end(), uint64_t{0},
                           [](uint64_t sum, const Piece& piece) { return sum + piece.bytes; });
}

Costs of_devices(double latency, double copy) {
    Costs costs = Costs().with_devices(false);
    costs.protocols.back() = {std::numeric_limits<uint64_t>::max(), latency, 1e-8, 0};
    costs.devices.to_host.per_byte = copy;
    costs.devices.to_device.per_byte = copy;
    return costs;
}

constexpr uint64_t share = 1 << 20;

} // namespace

TEST(Slots, HaveRoomForWhatComesToLieInThem) {
    const Plan plan = plan_of({1000, 50, 3000, 10, 70, 200, 4000});
    for (const uint64_t room : {5000U, 6000U, 9000U}) {
        const Slots slots = slots_of(plan, room, 16);
        EXPECT_LE(slots.bytes, room);
        for (size_t i = 0; i < plan.pieces().size(); ++i) {
            const size_t slot = i % slots.count();
            const uint64_t end = slot + 1 < slots.count() ? slots.offsets[slot + 1] : slots.bytes;
            EXPECT_GE(end - slots.offsets[slot], sizeof(PieceHeader) + plan.pieces()[i].bytes);
        }
    }
}

TEST(Slots, AreAsManyAsHaveRoom) {
    const Plan plan = plan_of(std::vector<uint64_t>(10, 1000));
    const uint64_t slot = aligned_slot(sizeof(PieceHeader) + 1000);
    EXPECT_EQ(slots_of(plan, 10 * slot, 16).count(), 10U);
    EXPECT_EQ(slots_of(plan, 10 * slot - 1, 16).count(), 9U);
    EXPECT_EQ(slots_of(plan, 10 * slot, 4).count(), 4U);
    EXPECT_EQ(slots_of(plan, slot, 4).count(), 1U);
    EXPECT_EQ(slots_of(Plan(), slot, 4).count(), 0U);
}

TEST(CutForSlots, LeavesWhatHasRoomAtOnce) {
    const Plan plan = cut_for_slots(plan_of({share / 2, share / 4}), share, Costs());
    EXPECT_EQ(plan.pieces().size(), 2U);
}

TEST(CutForSlots, TwoPiecesHaveRoomWhereAllHaveNot) {
    const Plan plan = cut_for_slots(plan_of({4 * share}), share, Costs());
    EXPECT_EQ(bytes_of(plan), 4 * share);
    EXPECT_EQ(plan.pieces().size(), 9U); // each with a header
    EXPECT_EQ(slots_of(plan, share, 16).count(), 2U);
    Costs slow; // messages
    slow.protocols.back().latency = 1e-3;
    EXPECT_EQ(cut_for_slots(plan_of({4 * share}), share, slow).pieces().size(), 5U);
}

TEST(CutForSlots, DevicesAreCopiedWhileOtherPiecesTravel) {
    const uint64_t bytes = share / 2;
    const Plan plan = cut_for_slots(plan_of({bytes}), share, of_devices(1e-3, 4e-8));
    EXPECT_EQ(plan.pieces().size(), 6U); // sqrt(524288 * 8e-8 / 1e-3) = 6.5, in whole bytes
    EXPECT_EQ(plan.pieces().front().bytes, (bytes + 5) / 6);
    EXPECT_EQ(bytes_of(plan), bytes);
    // Where messages cost more than copies, all goes as one.
    EXPECT_EQ(cut_for_slots(plan_of({bytes}), share, of_devices(1, 1e-9)).pieces().size(), 1U);
    EXPECT_EQ(cut_for_slots(plan_of({bytes}), share, of_devices(1e-3, 0)).pieces().size(), 1U);
    Costs costs = of_devices(1e-6, 4e-8);
    costs.devices.to_device.next = 1e-3; // dearer than a message
    EXPECT_EQ(cut_for_slots(plan_of({bytes}), share, costs).pieces().size(), 6U);
}

TEST(CutForSlots, AllRanksThatSendBeginAtOnce) {
    const Plan plan =
        cut_for_slots(plan_of({100000, 100000, 100000, 100000}), share, of_devices(1e-4, 4e-8));
    ASSERT_GE(plan.pieces().size(), 8U);
    for (size_t i = 0; i < 8; ++i) { EXPECT_EQ(plan.pieces()[i].sender, static_cast<int>(i % 4)); }
}

} // namespace nodeaware
