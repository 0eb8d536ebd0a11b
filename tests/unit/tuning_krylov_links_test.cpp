#include "tools/models/allreduce_rounds.hpp"
#include "tools/models/krylov_figures.hpp"
#include "tuning_toy_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

// Kernels of the paper on Krylov solvers where the table tells how many messages the link of a node
// takes; the sums stand behind the numbers.
namespace nodeaware::tuning {

namespace {

/// Two nodes of two processes, 9 s between eager or short messages of a node, and bytes as in
/// toy_table().
ModelTable toy_with_gaps(const char* mpi) {
    ModelTable table = toy_table();
    table.path(Memory::host, Locality::network).gaps = {9, 9, std::nullopt};
    table.fingerprint.mpi = mpi;
    table.fingerprint.processes_per_node = 2;
    return table;
}

double on_two_nodes(const ModelTable& table, const std::string& kernel, const std::string& curve,
                    const char* run_data, std::optional<AllreduceAlgorithm> algorithm = {}) {
    KrylovInput input{.nodes = 2};
    input.run = parse_run_data(run_data);
    input.algorithm = algorithm;
    const CurveTable curves = krylov_curves(table, kernel, 0, input, {});
    const auto found = std::find_if(curves.curves.begin(), curves.curves.end(),
                                    [&](const auto& one) { return one.key == curve; });
    if (found == curves.curves.end()) { throw std::out_of_range(curve); }
    return *curves.rows.back().seconds[static_cast<size_t>(found - curves.curves.begin())];
}

using Rounds = std::vector<AllreduceRound>;
constexpr AllreduceRound on_node{true, 0, true};
constexpr AllreduceRound back_on_node{true, 0, false};

/// To other nodes, by each node.
std::vector<double> sent_in_all(const AllreduceMessages& messages) {
    std::vector<double> sum(messages.sent.front().size());
    for (const std::vector<double>& round : messages.sent) {
        for (size_t node = 0; node < sum.size(); ++node) { sum[node] += round[node]; }
    }
    return sum;
}

} // namespace

// `cluster stat` has counted these between the nodes of an emulated cluster.
TEST(AllreduceRounds, AsCountedOnFourNodesOfFour) {
    const auto count = [](AllreduceAlgorithm algorithm) {
        return count_allreduce(algorithm, 4, 4);
    };
    const AllreduceMessages doubling = count(AllreduceAlgorithm::doubling);
    EXPECT_EQ(doubling.rounds, (Rounds{on_node, on_node, {false, 4, true}, {false, 4, true}}));
    EXPECT_EQ(sent_in_all(doubling), (std::vector<double>{8, 8, 8, 8}));
    const AllreduceMessages by_node = count(AllreduceAlgorithm::node_doubling);
    EXPECT_EQ(
        by_node.rounds,
        (Rounds{on_node, on_node, {false, 1, true}, {false, 1, true}, back_on_node, back_on_node}));
    EXPECT_EQ(sent_in_all(by_node), (std::vector<double>{2, 2, 2, 2}));
    const AllreduceMessages binomial = count(AllreduceAlgorithm::binomial);
    EXPECT_EQ(binomial.rounds, (Rounds{on_node,
                                       on_node,
                                       {false, 1, true},
                                       {false, 1, true},
                                       back_on_node,
                                       back_on_node,
                                       {false, 4, false},
                                       {false, 4, false}}));
    EXPECT_EQ(sent_in_all(binomial), (std::vector<double>{8, 5, 1, 1}));
}

// Of six ranks 0 and 2 hand over to 1 and 3, and 1, 3, 4, 5 double: 1 with 3 and 4 with 5, then 1
// with 4 and 3 with 5, of which node 2 has two.
TEST(AllreduceRounds, RanksBeyondAPowerOfTwo) {
    const AllreduceMessages six = count_allreduce(AllreduceAlgorithm::doubling, 3, 2);
    EXPECT_EQ(six.rounds, (Rounds{on_node, {true, 1, true}, {false, 2, true}, back_on_node}));
    EXPECT_EQ(sent_in_all(six), (std::vector<double>{2, 2, 2}));
    // Node 0 hands over to node 1, which doubles with node 2.
    const AllreduceMessages nodes = count_allreduce(AllreduceAlgorithm::node_doubling, 3, 1);
    EXPECT_EQ(nodes.rounds, (Rounds{{false, 1, true}, {false, 1, true}, {false, 1, false}}));
    EXPECT_EQ(sent_in_all(nodes), (std::vector<double>{1, 2, 1}));
    EXPECT_TRUE(count_allreduce(AllreduceAlgorithm::binomial, 1, 1).rounds.empty());
}

// Halves between ranks of a node, quarters and eighths between nodes, and back.
TEST(AllreduceRounds, Halving) {
    const AllreduceMessages all = count_allreduce(AllreduceAlgorithm::halving, 4, 2);
    EXPECT_EQ(all.rounds, (Rounds{{true, 0, true, 0.5},
                                  {false, 2, true, 0.25},
                                  {false, 2, true, 0.125},
                                  {false, 2, false, 0.125},
                                  {false, 2, false, 0.25},
                                  {true, 0, false, 0.5}}));
    EXPECT_EQ(sent_in_all(all), (std::vector<double>{8, 8, 8, 8}));
    const AllreduceMessages by_node = count_allreduce(AllreduceAlgorithm::node_halving, 4, 2);
    EXPECT_EQ(by_node.rounds, (Rounds{on_node,
                                      {false, 1, true, 0.5},
                                      {false, 1, true, 0.25},
                                      {false, 1, false, 0.25},
                                      {false, 1, false, 0.5},
                                      back_on_node}));
}

TEST(AllreduceRounds, OfAnMpi) {
    const auto usual = [](const char* mpi, double bytes, bool is_nonblocking = false) {
        return usual_algorithm(mpi, {is_nonblocking, bytes, bytes / 8, 4, 16});
    };
    const auto of_open_mpi = [](double bytes, int64_t ranks) {
        return usual_algorithm("Open MPI", {.bytes = bytes, .ranks = ranks});
    };
    EXPECT_EQ(of_open_mpi(4096, 12), AllreduceAlgorithm::doubling);
    EXPECT_EQ(of_open_mpi(8192, 12), AllreduceAlgorithm::halving);
    EXPECT_EQ(of_open_mpi(64, 32), AllreduceAlgorithm::doubling);
    EXPECT_EQ(of_open_mpi(256, 32), AllreduceAlgorithm::halving);
    EXPECT_EQ(usual("Open MPI", 1024), AllreduceAlgorithm::doubling);
    EXPECT_EQ(usual("Open MPI", 4096), AllreduceAlgorithm::halving);
    EXPECT_EQ(usual("Open MPI", 24, true), AllreduceAlgorithm::binomial);
    EXPECT_EQ(usual("MPICH", 24), AllreduceAlgorithm::node_doubling);
    EXPECT_EQ(usual("MPICH", 32), AllreduceAlgorithm::node_halving);
    EXPECT_EQ(usual("MPICH", 80, true), AllreduceAlgorithm::doubling);
    EXPECT_EQ(usual("Cray MPI", 8), AllreduceAlgorithm::tree);
    EXPECT_EQ(usual_algorithm("MPICH", {.nodes = 1}), AllreduceAlgorithm::node_doubling);
    for (const std::string_view name : allreduce_algorithms()) {
        EXPECT_NO_THROW(allreduce_algorithm(name)) << name;
    }
    EXPECT_THROW(allreduce_algorithm("ring"), std::invalid_argument);
}

TEST(KrylovLinks, Occupancy) {
    EXPECT_FALSE(knows_gaps(toy_table()));
    EXPECT_DOUBLE_EQ(occupancy(toy_table(), 50), 0.05); // 50 0.001
    const ModelTable table = toy_with_gaps("");
    EXPECT_TRUE(knows_gaps(table));
    EXPECT_DOUBLE_EQ(occupancy(table, 50), 9.05);
    EXPECT_DOUBLE_EQ(occupancy(table, 2000), 2); // no gap of this protocol
}

TEST(KrylovLinks, AllreduceInRounds) {
    const Rounds rounds = {on_node, {true, 3, true}, {false, 1, false}};
    AllreduceInput input{
        .bytes = 50, .elements = 6, .cores = 4, .nodes = 8, .penalties = {.cores = 4}};
    // 3 + 0.03 50, twice 10 + 0.1 50, and twice 6 0.1; two messages wait for the one before.
    KernelCost cost = allreduce(toy_with_gaps(""), input, rounds);
    EXPECT_DOUBLE_EQ(cost.postal, 35.7);
    EXPECT_DOUBLE_EQ(cost.penalties, 2 * 9);
    EXPECT_DOUBLE_EQ(allreduce(toy_table(), input, rounds).penalties, 0);
    ModelTable slow = toy_with_gaps("");
    slow.inverse_injection_rate[0] = 0.05; // 3 50 0.05, instead of 5
    EXPECT_DOUBLE_EQ(allreduce(slow, input, rounds).penalties, 18 + 2.5);
    // Half of the bytes: 3 + 0.03 25 and 10 + 0.1 25, and half of the additions.
    const Rounds halves = {{true, 0, false, 0.5}, {false, 1, true, 0.5}};
    EXPECT_DOUBLE_EQ(allreduce(toy_table(), input, halves).total(), 3.75 + 12.5 + 0.3);
    input.penalties = {.cores = 1, .hops = 2, .hop_latency = 0.5}; // in two rounds
    EXPECT_DOUBLE_EQ(allreduce(slow, input, rounds).penalties, 2);
}

TEST(KrylovLinks, HaloExchangeWaitsForTheLink) {
    HaloInput input{.messages = {{50, 4, 2}}, .pipelined = true, .penalties = {}, .link = 100};
    const ModelTable table = toy_with_gaps("");
    EXPECT_DOUBLE_EQ(halo_exchange(table, input).postal, 48);          // 4 4.5 + 2 15
    EXPECT_DOUBLE_EQ(halo_exchange(table, input).total(), 100 + 5.95); // 15 - 9.05
    input.link = 20; // less than the process needs
    EXPECT_DOUBLE_EQ(halo_exchange(table, input).total(), 48);
}

// Ranks 0 and 1 of a grid of 2 x 2 are on a node. On it 3 + 0.03 8, between nodes 10 + 0.1 8.
TEST(KrylovLinks, AllreducesByMpi) {
    const auto seconds = [](const char* mpi, const char* curve = "penalties",
                            std::optional<AllreduceAlgorithm> algorithm = {}) {
        return on_two_nodes(toy_with_gaps(mpi), "allreduce", curve, "", algorithm);
    };
    const double added = 2 * 0.1;
    EXPECT_DOUBLE_EQ(seconds("Open MPI", "postal"), 3.24 + 10.8 + added);
    EXPECT_DOUBLE_EQ(seconds("Open MPI"), 3.24 + 10.8 + 9 + added);
    EXPECT_DOUBLE_EQ(seconds("MPICH"), 2 * 3.24 + 10.8 + added);
    EXPECT_DOUBLE_EQ(seconds("other"), 2 * 3.24 + 2 * 10.8 + added);
    EXPECT_DOUBLE_EQ(seconds("MPICH", "penalties", AllreduceAlgorithm::doubling),
                     seconds("Open MPI"));
    EXPECT_DOUBLE_EQ(seconds("MPICH", "penalties", AllreduceAlgorithm::tree), seconds("other"));
}

// Each rank sends a face and an edge to the other node, which makes four messages of 8 bytes.
TEST(KrylovLinks, HalosByPoints) {
    const ModelTable table = toy_with_gaps("Open MPI");
    const double last = 10.8 - 9.008;
    EXPECT_NEAR(on_two_nodes(table, "halo", "penalties", "rows=1"), 4 * 9.008 + last, 1e-12);
    EXPECT_NEAR(on_two_nodes(table, "halo", "penalties", "rows=1,points=7"), 2 * 9.008 + last,
                1e-12);
    EXPECT_DOUBLE_EQ(on_two_nodes(table, "halo", "postal", "rows=1,points=7"), 3.24 + 10.8);
    EXPECT_THROW(parse_run_data("points=9"), std::invalid_argument);
}

// The sum of 16 bytes begins beside the halo exchange. By binomial trees node 0 sends two further
// messages, for which nothing else makes up; the rest of the sum hides.
TEST(KrylovLinks, SumsShareTheLinkWithTheHalo) {
    const char* run_data = "rows=1,vectors=0,preconditioner=0,product=0";
    const auto iteration = [&](const char* mpi, const char* solver) {
        return on_two_nodes(toy_with_gaps(mpi), solver, "penalties_iteration", run_data);
    };
    const double halo = 4 * 9.008 + 10.8 - 9.008;
    EXPECT_NEAR(iteration("Open MPI", "cg"), halo + 2 * (3.24 + 10.8 + 9 + 0.2), 1e-9);
    EXPECT_NEAR(iteration("Open MPI", "pipecg"), halo + 2 * 9.016, 1e-9);
    EXPECT_NEAR(iteration("MPICH", "pipecg"), halo + 2 * 9.016, 1e-9); // doubling: two, too
    EXPECT_NEAR(iteration("MPICH", "cg"), halo + 2 * (2 * 3.24 + 10.8 + 0.2), 1e-9);
}

} // namespace nodeaware::tuning
