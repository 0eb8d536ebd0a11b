#include "tuning/data_movement_models.hpp"
#include "tuning_toy_table.hpp"

#include <gtest/gtest.h>

// The values are computed by hand from toy_table(); the sums stand behind each.
namespace nodeaware::tuning {

TEST(DataMovement, MultipleMessages) {
    const ModelTable table = toy_table();
    // Two of 600 bytes: 2 20 + max(10 1200 0.001, 0.2 1200)
    EXPECT_DOUBLE_EQ(multiple_messages(table, Memory::host, 10, 2, 600), 280);
    // From 300 processes the card is the limit: 40 + max(360, 240)
    EXPECT_DOUBLE_EQ(multiple_messages(table, Memory::host, 300, 2, 600), 400);
}

TEST(DataMovement, TheMaxRateIsThePrintedOneWithMinAndWithoutBeta) {
    // (3) corrected: 2 20 + 300 1200 / min(1000, 300 / 0.2), written out with rates.
    const double corrected = 2 * 20 + 300 * 1200.0 / std::min(1000.0, 300 / 0.2);
    EXPECT_DOUBLE_EQ(multiple_messages(toy_table(), Memory::host, 300, 2, 600), corrected);
}

TEST(DataMovement, FourPathsOfAlltoallv) {
    // 8 messages of 200 bytes: 1600 received, 1200 copied, because a quarter is sent twice.
    const AlltoallvTimes times = alltoallv_paths(toy_table(), {.messages = 8,
                                                               .bytes_per_message = 200,
                                                               .gpus_per_node = 4,
                                                               .processes_per_gpu = 4,
                                                               .duplicate_fraction = 0.25});
    EXPECT_DOUBLE_EQ(sum_of(times.device_aware), 720); // 8 30 + 0.3 1600
    // 200 + 0.02 1200, 8 20 + max(6.4, 0.2 1600), 100 + 0.01 1600
    EXPECT_DOUBLE_EQ(sum_of(times.three_step), 224 + 480 + 116);
    // The parts have 400 bytes: 3 (2 + 0.02 400) twice, and 2 20 + max(6.4, 0.2 400)
    EXPECT_DOUBLE_EQ(sum_of(times.extra_message), 224 + 30 + 120 + 30 + 116);
    // 220 + 0.04 300, the same exchange, 110 + 0.03 400
    EXPECT_DOUBLE_EQ(sum_of(times.duplicate_device_pointer), 232 + 120 + 122);
}

TEST(DataMovement, MoreProcessesThanMessagesSendSmallerParts) {
    const AlltoallvTimes times = alltoallv_paths(
        toy_table(),
        {.messages = 2, .bytes_per_message = 200, .gpus_per_node = 4, .processes_per_gpu = 4});
    // Each of 4 processes sends one message of 100 bytes: 10 + max(1.6, 0.1 100)
    EXPECT_DOUBLE_EQ(times.duplicate_device_pointer[1].seconds, 20);
    EXPECT_EQ(times.duplicate_device_pointer[1].protocol, "short");
}

TEST(DataMovement, WithoutDeviceParametersThatPathIsEmpty) {
    ModelTable table = toy_table();
    table.path(Memory::device, Locality::network) = {};
    EXPECT_TRUE(alltoallv_paths(table, {}).device_aware.empty());
}

} // namespace nodeaware::tuning
