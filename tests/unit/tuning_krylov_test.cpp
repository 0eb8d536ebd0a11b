#include "tuning/krylov_models.hpp"
#include "tuning/table_file.hpp"
#include "tuning_toy_table.hpp"

#include <gtest/gtest.h>

#include <vector>

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

// 5.8: the slowest of each iteration, and all times, of which the medians, or the first quartiles.
TEST(Krylov, SynchronizationWaitsForTheLastProcess) {
    // The slowest are 10, 4, 6, 5, 9; all 15 in order 1 1 2 2 2 3 3 3 3 4 4 5 6 9 10.
    const std::vector<std::vector<double>> computation = {
        {10, 1, 3}, {2, 4, 2}, {3, 6, 1}, {3, 5, 2}, {4, 9, 3}};
    EXPECT_DOUBLE_EQ(synchronization_penalty(computation, false), 3); // 6 - 3
    EXPECT_DOUBLE_EQ(synchronization_penalty(computation, true), 3);  // 5 - 2
    const std::vector<std::vector<double>> two = {{10, 1, 3, 2}, {20, 2, 3, 4}};
    EXPECT_DOUBLE_EQ(synchronization_penalty(two, false), 12);  // 15 - 3
    EXPECT_DOUBLE_EQ(synchronization_penalty(two, true), 10.5); // 12.5 - 2
    const std::vector<std::vector<double>> alone = {{3}, {3}};
    EXPECT_DOUBLE_EQ(synchronization_penalty(alone, false), 0);
    EXPECT_DOUBLE_EQ(synchronization_penalty(alone, true), 0);
}

// One process that is now and then an order of magnitude late is no typical iteration.
TEST(Krylov, SynchronizationLeavesOutliersOut) {
    std::vector<std::vector<double>> computation(9, {1, 1, 1.1, 1});
    computation[4][0] = 10;
    EXPECT_NEAR(synchronization_penalty(computation, false), 0.1, 1e-12);
    EXPECT_NEAR(synchronization_penalty(computation, true), 0.1, 1e-12);
}

TEST(Krylov, Overlap) {
    EXPECT_DOUBLE_EQ(overlapped_nonblocking(10, 4, 3), 11);
    EXPECT_DOUBLE_EQ(overlapped_nonblocking(10, 4, 6), 10); // the postal cost is never hidden
    EXPECT_DOUBLE_EQ(overlapped_blocking(30, 10, 24), 4);   // 24 - 20
    EXPECT_DOUBLE_EQ(overlapped_blocking(30, 10, 6), 0);
}

// 5.6: Blue Waters goes by the 108 ns of 5.2, Piz Daint by its dynamic links.
TEST(Krylov, HopLatency) {
    EXPECT_NEAR(hop_latency(*find_table("blue-waters").network), 108e-9, 0.5e-9);
    EXPECT_NEAR(hop_latency(*find_table("piz-daint").network), (3.113e-6 + 0.341e-6 + 0.761e-6) / 3,
                1e-15);
    EXPECT_DOUBLE_EQ(hop_latency({}), 0);
}

// 2.4: "Messages can take up to 36 hops to cross the network" of 24 x 24 x 24 routers.
TEST(Krylov, HopsOfAnAllreduce) {
    const std::vector<TorusSpan> blue_waters(3, {24, 24});
    EXPECT_DOUBLE_EQ(allreduce_hops(blue_waters, 27648).average, 36 / 4.0);
    EXPECT_DOUBLE_EQ(allreduce_hops(blue_waters, 27648).most, 36 / 2.0);
    // 1024 nodes, two at each of 8 x 8 x 8 routers, which are too few to go around.
    const AllreduceHops hops = allreduce_hops(std::vector<TorusSpan>(3, {8, 24}), 1024);
    EXPECT_DOUBLE_EQ(hops.best, 3 * (1 + 2 + 4) / 10.0);
    EXPECT_DOUBLE_EQ(hops.average, 21 / 4.0);
    EXPECT_DOUBLE_EQ(hops.most, 21 / 2.0);
    EXPECT_DOUBLE_EQ(allreduce_hops(std::vector<TorusSpan>(3, {1, 24}), 1).best, 0);
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
    EXPECT_DOUBLE_EQ(allreduce(toy_table(), input).total(), 111);
    input.penalties.hops = 2;
    input.penalties.hop_latency = 0.5;
    EXPECT_DOUBLE_EQ(allreduce(toy_table(), input).postal, 111);
    EXPECT_DOUBLE_EQ(allreduce(toy_table(), input).penalties, 6); // 2 3 1
}

TEST(Krylov, HaloExchange) {
    HaloInput input{
        .messages = {{50, 4, 2}}, .pipelined = false, .penalties = {.stalls_per_byte = 0.4}};
    EXPECT_DOUBLE_EQ(halo_exchange(toy_table(), input).postal, 48);    // 4 4.5 + 2 15
    EXPECT_DOUBLE_EQ(halo_exchange(toy_table(), input).penalties, 20); // 2 0.4 50 0.5
    input.pipelined = true;
    EXPECT_DOUBLE_EQ(halo_exchange(toy_table(), input).penalties, 5); // max(0, 20 - 15)
    input.penalties.hops = 1;
    input.penalties.hop_latency = 0.5;
    EXPECT_DOUBLE_EQ(halo_exchange(toy_table(), input).penalties, 5.5); // hops of the first message
}

// 5.6: hops are paid by the first message of a series, whatever its messages; 5.9: what begins by
// rendezvous is not pipelined.
TEST(Krylov, HaloExchangeOfSeveralSizes) {
    HaloInput input{.messages = {{2000, 1, 2}, {50, 3, 4}},
                    .pipelined = false,
                    .penalties = {.hops = 3, .hop_latency = 0.5}};
    const double postal = 12 + 2 * 48 + 3 * 4.5 + 4 * 15;
    EXPECT_DOUBLE_EQ(halo_exchange(toy_table(), input).postal, postal);
    EXPECT_DOUBLE_EQ(halo_exchange(toy_table(), input).penalties, 1.5);
    input.penalties.stalls_per_byte = 0.5; // and 0.5 s by each byte and hop
    EXPECT_DOUBLE_EQ(halo_exchange(toy_table(), input).penalties, 1.5 + 2 * 1500 + 4 * 37.5);
    input.pipelined = true;
    EXPECT_DOUBLE_EQ(halo_exchange(toy_table(), input).penalties,
                     1.5 + 2 * 1500 + (4 * 37.5 - 3 * 15));
    // On one node there is nothing to pay, and a process of whose messages half a one leaves pays
    // half the hops.
    input.messages = {{2000, 6, 0}};
    EXPECT_DOUBLE_EQ(halo_exchange(toy_table(), input).penalties, 0);
    EXPECT_DOUBLE_EQ(halo_exchange(toy_table(), input).postal, 72);
    input = {{{50, 0, 0.5}}, true, {.hops = 3, .hop_latency = 0.5}};
    EXPECT_DOUBLE_EQ(halo_exchange(toy_table(), input).penalties, 0.75);
}

TEST(Krylov, Solvers) {
    const SolverParts parts{.vectors = 1,
                            .preconditioner = 2,
                            .matrix_vector = 3,
                            .halo = 4,
                            .allreduce = {5, 6},
                            .synchronization = 0.5};
    EXPECT_DOUBLE_EQ(pcg(parts, 10), 347.5);   // 6 + 11.5 + 10 (6 + 4 + 2 11.5)
    EXPECT_DOUBLE_EQ(sapcg(parts, 10), 232.5); // 17.5 + 10 (10 + 11.5)
    // Behind 2 s of the preconditioner 5 + 4.5 remain, behind 7 s of the product 5.
    EXPECT_DOUBLE_EQ(nbpcg(parts, 10), 262.5);   // 17.5 + 10 (10 + 9.5 + 5)
    EXPECT_DOUBLE_EQ(pipecg(parts, 10), 176.5);  // 17.5 + 9 + 10 (10 + 5)
    EXPECT_DOUBLE_EQ(pipe2cg(parts, 10), 160.5); // 17.5 + 18 + 10 (10 + 2.5)
}

// With all penalties hidden, a nonblocking solver takes no longer for an iteration than the
// blocking one with as many allreduces, and one allreduce no longer than two.
TEST(Krylov, NonblockingSolversAreNeverSlower) {
    for (const double work : {0.0, 1.0, 5.0, 20.0}) {
        for (const double penalties : {0.0, 3.0, 100.0}) {
            const SolverParts parts{.vectors = 1,
                                    .preconditioner = work,
                                    .matrix_vector = work,
                                    .halo = 1,
                                    .allreduce = {5, penalties},
                                    .synchronization = penalties / 2};
            const auto iteration = [&](auto solver) { return solver(parts, 1) - solver(parts, 0); };
            EXPECT_LE(iteration(nbpcg), iteration(pcg) + 1e-12) << work << " " << penalties;
            EXPECT_LE(iteration(sapcg), iteration(pcg) + 1e-12) << work << " " << penalties;
            EXPECT_LE(iteration(pipecg), iteration(sapcg) + 1e-12) << work << " " << penalties;
            EXPECT_LE(iteration(pipe2cg), iteration(pipecg) + 1e-12) << work << " " << penalties;
            EXPECT_LE(iteration(pipecg), iteration(nbpcg) + 1e-12) << work << " " << penalties;
        }
    }
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
}

} // namespace nodeaware::tuning
