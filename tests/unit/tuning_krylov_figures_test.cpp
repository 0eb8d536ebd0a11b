#include "tools/models/halo_counts.hpp"
#include "tools/models/krylov_figures.hpp"
#include "tools/models/scenario.hpp"
#include "tuning/table_file.hpp"
#include "tuning/text_file.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

// Kernels of the paper on Krylov solvers from its published tables: numbers from its parameters,
// and shapes that its text tells of (the figures themselves are pictures).
namespace nodeaware::tuning {

namespace {

/// 1024 nodes, two at each of 8 x 8 x 8 routers of a 24 x 24 x 24 torus.
NodeDistances in_a_cube() {
    const auto at = [](int node, int dimension) {
        return node / 2 / (dimension == 0 ? 64 : dimension == 1 ? 8 : 1) % 8;
    };
    return {[=](int from, int to) {
                double hops = 0;
                for (int i = 0; i < 3; ++i) { hops += std::abs(at(from, i) - at(to, i)); }
                return hops;
            },
            [](int) {
                return std::vector<TorusSpan>(3, {8, 24});
            }};
}

class KrylovShown {
  public:
    KrylovShown(const char* table, const std::string& kernel, int figure,
                const KrylovInput& input = {}, const char* sizes = "1:1048576")
        : curves_(krylov_curves(find_table(table), kernel, figure, input, parse_sizes(sizes))) {}

    const CurveTable& curves() const { return curves_; }
    const CurveTable::Row& row(double at) const {
        const auto found = std::find_if(curves_.rows.begin(), curves_.rows.end(),
                                        [&](const auto& one) { return one.at == at; });
        if (found == curves_.rows.end()) { throw std::out_of_range("row"); }
        return *found;
    }
    double at(double x, const std::string& curve) const {
        const auto found = std::find_if(curves_.curves.begin(), curves_.curves.end(),
                                        [&](const auto& one) { return one.key == curve; });
        if (found == curves_.curves.end()) { throw std::out_of_range(curve); }
        return *row(x).seconds[static_cast<size_t>(found - curves_.curves.begin())];
    }

  private:
    CurveTable curves_;
};

KrylovInput input_of(const char* run_data, bool in_cube = false) {
    KrylovInput input;
    input.run = parse_run_data(run_data);
    if (in_cube) { input.distances = in_a_cube(); }
    return input;
}

template <class Call> std::string complaint_by(Call call) {
    try {
        call();
    } catch (const std::exception& error) { return error.what(); }
    return "";
}

constexpr double hop = 108e-9;           // 5.2
constexpr double hop_rounded = 0.5e-9;   // to whole nanoseconds
constexpr double rate = 9.03e9;          // 5.5
constexpr double stall = 5 / 650e6 / 64; // 5.7

} // namespace

TEST(HaloCounts, GridsAreBalanced) {
    EXPECT_EQ(balanced_grid(16384).dimensions, (std::vector<int>{32, 32, 16}));
    EXPECT_EQ(balanced_grid(27).dimensions, (std::vector<int>{3, 3, 3}));
    EXPECT_EQ(balanced_grid(36).dimensions, (std::vector<int>{4, 3, 3}));
    EXPECT_EQ(balanced_grid(7).dimensions, (std::vector<int>{7, 1, 1}));
    EXPECT_EQ(balanced_grid(1).dimensions, (std::vector<int>{1, 1, 1}));
}

// 5.3: "6 face, 12 edge, and 8 corner messages for the 27-point stencil".
TEST(HaloCounts, TwentySevenPoints) {
    const HaloCounts alone = count_halo(balanced_grid(27), place::Placement(27, 0), {});
    EXPECT_EQ(alone.worst, (HaloCounts::Process{{{6, 0}, {12, 0}, {8, 0}}}));
    // In each of three directions 18 pairs of 27 share a face, 12 an edge in each of six diagonals,
    // and 8 a corner in each of four; both of a pair send.
    EXPECT_DOUBLE_EQ(alone.average[0].on_node, 2 * 3 * 18 / 27.0);
    EXPECT_DOUBLE_EQ(alone.average[1].on_node, 2 * 6 * 12 / 27.0);
    EXPECT_DOUBLE_EQ(alone.average[2].on_node, 2 * 4 * 8 / 27.0);
    EXPECT_DOUBLE_EQ(alone.hops, 0);
    // Each on a node of its own, and each pair of nodes two hops apart.
    place::Placement apart;
    for (int rank = 0; rank < 27; ++rank) { apart.push_back(rank); }
    const HaloCounts spread = count_halo(balanced_grid(27), apart, [](int, int) { return 2.0; });
    EXPECT_EQ(spread.worst, (HaloCounts::Process{{{0, 6}, {0, 12}, {0, 8}}}));
    EXPECT_DOUBLE_EQ(spread.hops, 2);
}

// A line of 16 processes on a node has two neighbours on it, a box of 4 x 2 x 2 more.
TEST(HaloCounts, BoxesKeepMessagesOnNodes) {
    const place::Grid grid = balanced_grid(16384);
    const HaloCounts block = count_halo(grid, place_halo(grid, 1024, 16, HaloPlacement::block), {});
    const HaloCounts boxes = count_halo(grid, place_halo(grid, 1024, 16, HaloPlacement::boxes), {});
    EXPECT_EQ(block.worst[0], (HaloCounts::Kind{2, 4}));
    EXPECT_EQ(block.worst[2], (HaloCounts::Kind{0, 8}));
    EXPECT_LT(boxes.average[0].off_node, 0.75 * block.average[0].off_node);
    EXPECT_LE(boxes.worst[0].off_node, 3);
    // The same messages in all.
    for (size_t kind = 0; kind < halo_kinds; ++kind) {
        EXPECT_NEAR(boxes.average[kind].on_node + boxes.average[kind].off_node,
                    block.average[kind].on_node + block.average[kind].off_node, 1e-9);
    }
}

// On two nodes the order of the ranks is that of two boxes.
TEST(HaloCounts, BoxesAreNoWorseThanTheOrderOfRanks) {
    for (const int nodes : {1, 2, 3, 4, 8, 64}) {
        const place::Grid grid = balanced_grid(16 * nodes);
        const auto off_node = [&](HaloPlacement how) {
            return count_halo(grid, place_halo(grid, nodes, 16, how), {}).average[0].off_node;
        };
        EXPECT_LE(off_node(HaloPlacement::boxes), off_node(HaloPlacement::block)) << nodes;
    }
}

// 5.3 with table 1: the worst of 16384 processes sends four of six faces to other nodes.
TEST(KrylovFigure6, PostalHaloExchange) {
    const KrylovShown shown("blue-waters", "halo", 6);
    EXPECT_DOUBLE_EQ(shown.at(8, "postal_worst"),
                     2 * (1.1284e-6 + 8 * 0.8154e-9) + 4 * (2.2467e-6 + 8 * 0.3451e-9));
    EXPECT_DOUBLE_EQ(shown.at(1048576, "postal_worst"),
                     2 * (2.1162e-6 + 1048576 * 0.0954e-9) + 4 * (8.972e-6 + 1048576 * 0.1498e-9));
    for (int bytes = 1; bytes <= 1048576; bytes *= 2) {
        EXPECT_LT(shown.at(bytes, "postal_average"), shown.at(bytes, "postal_worst")) << bytes;
    }
    EXPECT_EQ(shown.curves().title, "blue-waters, figure 6: halo, 1024 nodes of 16 processes");
}

// 5.5: 16 processes share 9.03 GB/s, which large messages reach and latencies do not.
TEST(KrylovFigure7, MaxRateHaloExchange) {
    const KrylovShown shown("blue-waters", "halo", 7);
    EXPECT_NEAR(shown.at(1048576, "max_rate_worst"),
                2 * (2.1162e-6 + 1048576 * 0.0954e-9) + 4 * (8.972e-6 + 16 * 1048576 / rate),
                1e-12);
    EXPECT_LT(shown.at(1, "max_rate_worst"), 1.001 * shown.at(1, "postal_worst"));
    EXPECT_GT(shown.at(1048576, "max_rate_worst"), 5 * shown.at(1048576, "postal_worst"));
    // More processes of a node, a larger penalty.
    const auto penalty = [](const char* table) {
        const KrylovShown one(table, "halo", 7, {.nodes = 512});
        return one.at(1048576, "max_rate_worst") / one.at(1048576, "postal_worst");
    };
    EXPECT_GT(penalty("piz-daint"), penalty("blue-waters"));
}

// 5.6: 2 log2(1024) messages of the network pay hops, which matters for short ones.
TEST(KrylovFigure8, HopsOfAllreduces) {
    const KrylovShown shown("blue-waters", "allreduce", 8, input_of("", true));
    const double postal = 2 * 4 * (1.1284e-6 + 8 * 0.8154e-9) +
                          2 * 10 * (2.2467e-6 + 8 * 0.3451e-9) + 14 * 16 / 313.6e9;
    EXPECT_DOUBLE_EQ(shown.at(8, "postal"), postal);
    for (int bytes = 1; bytes <= 1048576; bytes *= 2) {
        const double without = shown.at(bytes, "postal");
        EXPECT_NEAR(shown.at(bytes, "hops_best") - without, 20 * 2.1 * hop, 20 * 2.1 * hop_rounded);
        EXPECT_NEAR(shown.at(bytes, "hops_average") - without, 20 * 5.25 * hop,
                    20 * 5.25 * hop_rounded);
        EXPECT_NEAR(shown.at(bytes, "hops_most") - without, 20 * 10.5 * hop,
                    20 * 10.5 * hop_rounded);
    }
    EXPECT_GT(shown.at(8, "hops_most"), 1.3 * postal);
    EXPECT_LT(shown.at(1048576, "hops_most"), 1.01 * shown.at(1048576, "postal"));
    // "The increased hop latency costs" of Piz Daint.
    const KrylovInput hops = input_of("hops=4");
    const KrylovShown piz_daint("piz-daint", "allreduce", 8, hops);
    const KrylovShown blue_waters("blue-waters", "allreduce", 8, hops);
    EXPECT_GT(piz_daint.at(8, "hops_average") - piz_daint.at(8, "postal"),
              10 * (blue_waters.at(8, "hops_average") - blue_waters.at(8, "postal")));
}

// 5.7: what is stalled is stalled on each hop; 5.6: "The hops penalty did not significantly impact
// halo exchange".
TEST(KrylovFigure9, CongestionAndHops) {
    const KrylovShown halo("blue-waters", "halo", 9, input_of("stalls=1,hops=3"));
    for (int bytes = 1; bytes <= 1048576; bytes *= 2) {
        EXPECT_NEAR(halo.at(bytes, "mr_c") - halo.at(bytes, "mr"), 4 * bytes * 16 * stall, 1e-12);
        EXPECT_NEAR(halo.at(bytes, "mr_c_h") - halo.at(bytes, "mr_h"), 3 * 4 * bytes * 16 * stall,
                    1e-12);
        // The first message of the series pays, whatever the number of messages.
        EXPECT_NEAR(halo.at(bytes, "mr_h") - halo.at(bytes, "mr"), 3 * hop, 3 * hop_rounded);
        EXPECT_LT(halo.at(bytes, "mr_h"), 1.05 * halo.at(bytes, "mr"));
    }
    EXPECT_GT(halo.at(1048576, "mr_c_h"), 3 * halo.at(1048576, "mr"));
    const KrylovShown allreduce("piz-daint", "allreduce", 9, input_of("stalls=1,hops=3"));
    EXPECT_GT(allreduce.at(8, "h"), allreduce.at(8, "postal"));
    EXPECT_GT(allreduce.at(8, "c_h"), allreduce.at(8, "h"));
    EXPECT_EQ(complaint_by([] { KrylovShown("blue-waters", "halo", 9, input_of("stalls=1")); }),
              "figure 9 needs hops: expected --topology, or hops in --run-data");
    EXPECT_EQ(complaint_by([] { KrylovShown("blue-waters", "halo", 9, input_of("hops=1")); }),
              "figure 9 needs congestion: expected stalls in --run-data, above 0");
}

// 5.8: two blocking allreduces of an iteration each wait for the last process; PIPECG hides that
// behind its computation, if that is long enough.
TEST(KrylovFigure10, SolversOverNodes) {
    KrylovInput input = input_of("rows=4096,iterations=50,preconditioner=2e-3,product=2e-3");
    input.blocking_wait = 1e-4;
    input.nonblocking_wait = 5e-5;
    const KrylovShown cg("blue-waters", "cg", 10, input);
    const KrylovShown pipecg("blue-waters", "pipecg", 10, input);
    EXPECT_EQ(cg.curves().axis, "nodes");
    EXPECT_EQ(cg.curves().rows.size(), 11U); // 1, 2, 4, ..., 1024
    for (int nodes = 1; nodes <= 1024; nodes *= 2) {
        EXPECT_NEAR(cg.at(nodes, "synchronization") - cg.at(nodes, "penalties"), 101 * 1e-4, 1e-9);
        EXPECT_NEAR(pipecg.at(nodes, "synchronization") - pipecg.at(nodes, "penalties"), 5e-5,
                    1e-9); // of the first allreduce, which is blocking
        EXPECT_LE(cg.at(nodes, "postal"), cg.at(nodes, "penalties"));
    }
    EXPECT_EQ(cg.curves().curves.size(), 3U);
}

// All solvers over nodes, each with an iteration and all of them; 5.3 for the one of PCG.
TEST(KrylovKernels, SolversByIteration) {
    const KrylovInput input =
        input_of("iterations=50,vectors=1e-4,preconditioner=1e-4,product=1e-4");
    for (const char* solver : {"cg", "sapcg", "nbpcg", "pipecg", "pipe2cg"}) {
        const KrylovShown shown("blue-waters", solver, 0, input);
        EXPECT_EQ(shown.curves().curves.size(), 6U);
        for (int nodes = 1; nodes <= 1024; nodes *= 2) {
            const double iteration = shown.at(nodes, "penalties_iteration");
            EXPECT_GT(iteration, 3e-4) << solver;
            EXPECT_GT(shown.at(nodes, "penalties"), 50 * iteration) << solver;
            EXPECT_LT(shown.at(nodes, "penalties"), 55 * iteration) << solver;
        }
        EXPECT_GT(shown.at(1024, "penalties"), shown.at(1, "penalties")) << solver;
    }
    const auto iteration = [&](const char* solver) {
        return KrylovShown("blue-waters", solver, 0, input).at(1024, "penalties_iteration");
    };
    EXPECT_LT(iteration("nbpcg"), 1.000001 * iteration("cg"));
    EXPECT_LT(iteration("pipecg"), iteration("nbpcg"));
    // T_iter = T_comp + 2 T_allr + T_halo
    const KrylovShown cg("blue-waters", "cg", 0, input_of("vectors=0,preconditioner=0,product=0"));
    const KrylovShown halo("blue-waters", "halo", 0);
    const KrylovShown allreduce("blue-waters", "allreduce", 0);
    EXPECT_NEAR(cg.at(64, "postal_iteration"),
                2 * allreduce.at(64, "postal") + halo.at(64, "postal"), 1e-12);
}

TEST(KrylovKernels, AllreducesGrowWithTheLogarithmOfNodes) {
    const KrylovShown shown("blue-waters", "allreduce", 0);
    const double round = 2 * (2.2467e-6 + 8 * 0.3451e-9) + 16 / 313.6e9;
    for (int nodes = 1; nodes < 1024; nodes *= 2) {
        EXPECT_NEAR(shown.at(2 * nodes, "postal") - shown.at(nodes, "postal"), round, 1e-15);
        EXPECT_DOUBLE_EQ(shown.at(nodes, "postal"), shown.at(nodes, "penalties"));
    }
    EXPECT_EQ(KrylovShown("blue-waters", "allreduce", 0, {.nodes = 48}).curves().rows.back().at,
              48);
}

TEST(KrylovKernels, HalosOverNodes) {
    const KrylovShown shown("blue-waters", "halo", 0, input_of("rows=4096"));
    // A cube of 16 points has faces of 2048, edges of 128 and corners of 8 bytes. On one node with
    // 4 x 2 x 2 processes, those in the middle send most: 4 faces, 5 edges, 2 corners.
    const double in_the_middle = 4 * (2.395e-6 + 2048 * 0.0489e-9) +
                                 5 * (1.1284e-6 + 128 * 0.8154e-9) +
                                 2 * (1.1284e-6 + 8 * 0.8154e-9);
    EXPECT_NEAR(shown.at(1, "postal"), in_the_middle, 1e-12);
    EXPECT_DOUBLE_EQ(shown.at(1, "penalties"), shown.at(1, "postal"));
    const auto& values = shown.row(1024).values;
    ASSERT_EQ(values.size(), 4U);
    EXPECT_LT(*values[3].number, *values[1].number); // boxes send fewer messages to other nodes
    EXPECT_LT(shown.at(1024, "boxes_penalties"), shown.at(1024, "penalties"));
}

// 5.9: penalties hide behind 1 ms, and do no more for large messages.
TEST(KrylovFigure11, OverlappedAllreduces) {
    const KrylovShown shown("blue-waters", "allreduce", 11, input_of("stalls=1,hops=5"));
    for (int bytes = 1; bytes <= 1048576; bytes *= 2) {
        const double penalties = shown.at(bytes, "blocking") - shown.at(bytes, "postal");
        EXPECT_NEAR(shown.at(bytes, "nonblocking") - shown.at(bytes, "postal"),
                    std::max(0.0, penalties - 1e-3), 1e-12);
    }
    EXPECT_DOUBLE_EQ(shown.at(8, "nonblocking"), shown.at(8, "postal"));
    EXPECT_GT(shown.at(1048576, "nonblocking"), 2 * shown.at(1048576, "postal"));
}

TEST(KrylovFigure12, OverlappedHalos) {
    const KrylovShown shown("piz-daint", "halo", 12, input_of("stalls=1,hops=3,overlap=1e-4"));
    for (int bytes = 1; bytes <= 1048576; bytes *= 2) {
        EXPECT_LE(shown.at(bytes, "pipelined"), shown.at(bytes, "blocking")) << bytes;
        EXPECT_LE(shown.at(bytes, "nonblocking"), shown.at(bytes, "blocking")) << bytes;
        EXPECT_GE(shown.at(bytes, "pipelined"), shown.at(bytes, "postal")) << bytes;
        // Rendezvous synchronizes, so nothing is pipelined.
        if (bytes <= 8192) {
            EXPECT_LT(shown.at(bytes, "pipelined"), shown.at(bytes, "blocking")) << bytes;
        } else {
            EXPECT_DOUBLE_EQ(shown.at(bytes, "pipelined"), shown.at(bytes, "blocking")) << bytes;
        }
    }
    EXPECT_DOUBLE_EQ(shown.at(8, "nonblocking"), shown.at(8, "postal"));
}

TEST(KrylovFigures, OfAKernel) {
    EXPECT_TRUE(is_krylov_figure(8, "allreduce"));
    EXPECT_FALSE(is_krylov_figure(6, "allreduce"));
    EXPECT_TRUE(is_krylov_figure(0, "pipe2cg"));
    EXPECT_FALSE(is_krylov_figure(10, "sapcg"));
    EXPECT_EQ(krylov_figures_of("halo"), "6, 7, 9, 12");
    EXPECT_EQ(krylov_figures_of("sapcg"), "none");
    EXPECT_FALSE(is_krylov_kernel("copies"));
}

TEST(KrylovFigures, MissingParametersAreNamed) {
    const auto complaint = [](const char* kernel, const char* run_data) {
        return complaint_by([=] { KrylovShown("lassen-spectrum", kernel, 0, input_of(run_data)); });
    };
    EXPECT_EQ(complaint("halo", ""), "");
    EXPECT_EQ(complaint("halo", "hops=3"), "model table lassen-spectrum has no parameters "
                                           "network.links, which hops need");
    EXPECT_EQ(complaint("halo", "stalls=3"), "model table lassen-spectrum has no parameters "
                                             "network.stall_seconds, which stalls need");
    EXPECT_NE(complaint("cg", "vectors=1,product=1").find("network.flop_seconds"),
              std::string::npos);
    EXPECT_EQ(complaint("cg", "vectors=1,product=1,preconditioner=1"), "");
    EXPECT_NE(complaint_by([] {
                  KrylovShown("blue-waters", "halo", 0,
                              {.processes_per_node = 64, .nodes = 1 << 15});
              }).find("--nodes, --ppn: expected at most 1048576 ranks, found 2097152"),
              std::string::npos);
}

TEST(KrylovFigures, AsTextCsvJsonAndSvg) {
    const CurveTable curves =
        krylov_curves(find_table("blue-waters"), "allreduce", 0, {.processes_per_node = 1}, {});
    EXPECT_TRUE(to_csv(curves).starts_with("nodes,postal,penalties\n1,0.0")) << to_csv(curves);
    EXPECT_NE(to_text(curves).find("       nodes"), std::string::npos);
    const auto json = nlohmann::json::parse(to_json_text({{"kernel", "allreduce"}}, curves));
    EXPECT_EQ(json["points"][1]["nodes"], 2);
    EXPECT_EQ(json["points"].size(), 11U);
    // One process on one node takes no time, for which a logarithmic axis has no place.
    const std::string svg = to_svg(curves);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_NE(svg.find(">nodes</text>"), std::string::npos);
}

TEST(RunData, NamesBadParts) {
    const auto complaint = [](const char* text) {
        return complaint_by([=] { parse_run_data(text); });
    };
    EXPECT_EQ(complaint("rows=8,overlap=0"), "");
    EXPECT_EQ(complaint("rows=0"), "run-data, rows: must be at least 1");
    EXPECT_EQ(complaint("stalls=-1"), "run-data, stalls: must be at least 0");
    EXPECT_EQ(complaint("hops=many"), "run-data, hops: many is not a number");
    EXPECT_NE(complaint("row=8").find("run-data: no key row; keys are bytes, rows,"),
              std::string::npos);
}

TEST(RunData, ComputationTimesOfAFile) {
    const std::string path = testing::TempDir() + "nodeaware_computation_times";
    const auto complaint = [&](const char* text) {
        write_text_file(path, text);
        return complaint_by([&] { read_computation_times(path); });
    };
    EXPECT_EQ(complaint("1e-3 2e-3\n\n3e-3 4e-3\n"), "");
    EXPECT_EQ(read_computation_times(path),
              (std::vector<std::vector<double>>{{1e-3, 2e-3}, {3e-3, 4e-3}}));
    EXPECT_EQ(complaint("1 2\n1 x\n"), path + ":2: expected the seconds of each process, found x");
    EXPECT_EQ(complaint("1 2\n1 -2\n"),
              path + ":2: expected the seconds of each process, found -2");
    EXPECT_EQ(complaint("1 2\n1\n"), path + ":2: expected 2 times, one of each process as in the "
                                            "first line, found 1");
    EXPECT_EQ(complaint("\n"), path + ": expected a line for each iteration, found none");
    std::remove(path.c_str());
    EXPECT_EQ(complaint_by([&] { read_computation_times(path); }),
              path + ": No such file or directory");
}

} // namespace nodeaware::tuning
