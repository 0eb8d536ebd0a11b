#include "tuning/krylov_models.hpp"
#include "tuning/table_file.hpp"
#include "tuning_toy_table.hpp"

#include <gtest/gtest.h>

#include <array>

// The values are computed by hand from toy_table(); the sums stand behind each.
namespace nodeaware::tuning {

TEST(Krylov, MaxRate) {
    EXPECT_DOUBLE_EQ(max_rate_message({10, 0.1}, 50, 4, 0.05), 20); // 10 + 200 / min(20, 4 10)
    EXPECT_DOUBLE_EQ(max_rate_message({10, 0.1}, 50, 4, 0.01), 15); // 10 + 200 / min(100, 4 10)
}

TEST(Krylov, Penalties) {
    EXPECT_DOUBLE_EQ(hops_penalty(0.25, 3), 0.75);
    EXPECT_DOUBLE_EQ(congestion_penalty(2, 50, 4, 0.5), 200); // 2 50 4 0.5
    EXPECT_DOUBLE_EQ(congestion_hops_penalty(200, 3), 600);
}

TEST(Krylov, SynchronizationWaitsForTheLastProcess) {
    const std::array computation = {10.0, 1.0, 3.0, 2.0};
    EXPECT_DOUBLE_EQ(synchronization_penalty(computation, false), 7.5); // 10 - median 2.5
    EXPECT_DOUBLE_EQ(synchronization_penalty(computation, true), 8.25); // 10 - quartile 1.75
    const std::array alone = {3.0};
    EXPECT_DOUBLE_EQ(synchronization_penalty(alone, true), 0);
}

TEST(Krylov, Overlap) {
    EXPECT_DOUBLE_EQ(overlapped_nonblocking(10, 4, 3), 11);
    EXPECT_DOUBLE_EQ(overlapped_nonblocking(10, 4, 6), 10); // the postal cost is never hidden
    EXPECT_DOUBLE_EQ(overlapped_blocking(3, 10, 8), 34);    // 30 + (24 - 20)
    EXPECT_DOUBLE_EQ(overlapped_blocking(3, 10, 2), 30);
}

TEST(Krylov, OffNodeMessage) {
    const MessageCost cost = off_node_message(
        toy_table(), 50, {.cores = 4, .stalls_per_byte = 2, .hops = 3, .hop_latency = 0.25});
    EXPECT_DOUBLE_EQ(cost.postal, 15);     // 10 + 0.1 50; the card takes 0.2 s, less than 5
    EXPECT_DOUBLE_EQ(cost.penalties, 600); // 2 50 4 0.5 3
    EXPECT_DOUBLE_EQ(cost.first_hops, 0.75);
    // Without hops the congestion counts once, and 200 processes are limited by the card:
    // 200 50 0.001 - 5 = 5, and 50 200 0.5 = 5000.
    const MessageCost limited =
        off_node_message(toy_table(), 50, {.cores = 200, .stalls_per_byte = 1});
    EXPECT_DOUBLE_EQ(limited.penalties, 5005);
}

TEST(Krylov, Allreduce) {
    // log2: 2 rounds on the node of 3 + 0.03 50, 3 off it of 15: 2 2 4.5 + 2 3 15, and 6 0.1 5
    AllreduceInput input{.bytes = 50, .elements = 6, .cores = 4, .nodes = 8, .penalties = {}};
    EXPECT_DOUBLE_EQ(allreduce(toy_table(), input), 111);
    input.penalties.hops = 2;
    input.penalties.hop_latency = 0.5;
    EXPECT_DOUBLE_EQ(allreduce(toy_table(), input), 117); // 2 3 1 more
}

TEST(Krylov, HaloExchange) {
    HaloInput input{.on_node_messages = 4,
                    .off_node_messages = 2,
                    .on_node_bytes = 50,
                    .off_node_bytes = 50,
                    .pipelined = false,
                    .penalties = {.stalls_per_byte = 0.4}};
    EXPECT_DOUBLE_EQ(halo_exchange(toy_table(), input), 68); // 4 4.5 + 2 (15 + 0.4 50 0.5)
    input.pipelined = true;
    EXPECT_DOUBLE_EQ(halo_exchange(toy_table(), input), 53); // 18 + 30 + max(0, 20 - 15)
    input.penalties.hops = 1;
    input.penalties.hop_latency = 0.5;
    EXPECT_DOUBLE_EQ(halo_exchange(toy_table(), input), 53.5); // hops of the first message
}

TEST(Krylov, Solvers) {
    const SolverParts parts{.vectors = 1,
                            .preconditioner = 2,
                            .matrix_vector = 3,
                            .halo = 4,
                            .allreduce = 5,
                            .penalties = 6,
                            .synchronization = 0.5};
    EXPECT_DOUBLE_EQ(pcg(parts, 10), 347.5);   // 6 + 11.5 + 10 (6 + 4 + 2 11.5)
    EXPECT_DOUBLE_EQ(sapcg(parts, 10), 232.5); // 17.5 + 10 (10 + 11.5)
    // Behind 2 s of the preconditioner 5 + 4.5 remain, behind 7 s of the product 5.
    EXPECT_DOUBLE_EQ(nbpcg(parts, 10), 262.5);   // 17.5 + 10 (10 + 9.5 + 5)
    EXPECT_DOUBLE_EQ(pipecg(parts, 10), 176.5);  // 17.5 + 9 + 10 (10 + 5)
    EXPECT_DOUBLE_EQ(pipe2cg(parts, 10), 160.5); // 17.5 + 18 + 10 (10 + 2.5)
}

TEST(Krylov, ConstantsOfTheMachines) {
    // Section 5.7 gives 0.120 ns and 0.0976 ns per stalled byte, 5.3 0.0510 ns and 0.0297 ns per
    // operation (0.02975, cut off).
    const ModelTable blue_waters = find_table("blue-waters");
    EXPECT_NEAR(blue_waters.network->stall_seconds, 0.120e-9, 0.0005e-9);
    EXPECT_NEAR(blue_waters.network->flop_seconds, 0.0510e-9, 0.00005e-9);
    const ModelTable piz_daint = find_table("piz-daint");
    EXPECT_NEAR(piz_daint.network->stall_seconds, 0.0976e-9, 0.0001e-9);
    EXPECT_NEAR(piz_daint.network->flop_seconds, 0.0297e-9, 0.0001e-9);
    double sum = 0;
    for (const Link& link : blue_waters.network->links) { sum += link.latency; }
    EXPECT_NEAR(sum / 3, 108e-9, 0.5e-9);
}

} // namespace nodeaware::tuning
