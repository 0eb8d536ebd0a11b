#pragma once

#include "tools/models/curve_table.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nodeaware::tuning {

/// The situation of figure 4.3 of [N]: one node sends `messages` messages of one size, dealt evenly
/// over its GPUs, to `nodes` nodes.
struct Scenario {
    double messages = 256;
    double nodes = 16;
    double duplicate_fraction = 0; ///< part of the bytes that node-aware strategies need not send
    int gps = 2;                   ///< GPUs per socket (two sockets per node)
    int ppn = 40;                  ///< processes per node, for split
    int ppg = 4;                   ///< processes per GPU of Split + DD
    double message_cap = 0;        ///< of split (bytes); 0: where rendezvous starts
};

/// "messages=256,nodes=16,dup=0.25", and gps, ppn, ppg, cap. Throws std::invalid_argument, which
/// names the bad part and the keys.
Scenario parse_scenario(std::string_view text);

/// Message sizes (bytes) "FIRST:LAST": powers of two between the two, and both. Throws
/// std::invalid_argument.
std::vector<double> parse_sizes(std::string_view text);

/// A curve of the figure.
struct Curve {
    std::string_view key;
    std::string_view label;
    bool device_aware = false;
    /// 2-Step 1: only one GPU of the node sends to each node. The best case of 2-step, which does
    /// not count for the minimum.
    bool best_case = false;
    int colour = 0; ///< in the plot: one for staged and device-aware of a strategy
};

inline constexpr std::array curves = {
    Curve{"standard_staged", "Standard, staged", false, false, 0},
    Curve{"standard_device", "Standard, device-aware", true, false, 0},
    Curve{"three_step_staged", "3-Step, staged", false, false, 1},
    Curve{"three_step_device", "3-Step, device-aware", true, false, 1},
    Curve{"two_step_staged", "2-Step All, staged", false, false, 2},
    Curve{"two_step_device", "2-Step All, device-aware", true, false, 2},
    Curve{"two_step_one_staged", "2-Step 1, staged", false, true, 3},
    Curve{"two_step_one_device", "2-Step 1, device-aware", true, true, 3},
    Curve{"split_md", "Split + MD", false, false, 4},
    Curve{"split_dd", "Split + DD", false, false, 5}};

/// Times of one message size.
struct ScenarioPoint {
    double bytes = 0;
    std::array<std::optional<double>, curves.size()> seconds; ///< as in `curves`
    size_t winner = 0;         ///< least of all but the best cases; the first listed of equals
    size_t overall_winner = 0; ///< least of all
};

/// The curves. Table 6 states worst cases (a single GPU holds everything), while in this scenario
/// every GPU holds and gets an equal part, so with s_proc = bytes that a GPU sends:
///  - T_on is that of s_proc / (2 gps): each GPU passes on the parts that belong to the others;
///  - 3-step deals the nodes out over the GPUs' processes: max(1, nodes/GPUs) messages each;
///  - Split sends n = nodes x ceil(s_node_node / cap) messages (algorithm 1 with its raised cap)
///    from min(ppn, n) processes: the T_on of 3-step on both sides, and the process of each GPU
///    deals out to those processes of its socket that serve the same GPU, ppg of which already hold
///    a part;
///  - copies move s_proc (Split + DD: s_proc / ppg in each process), also for Standard, staged.
///    A table without copies is of a machine without GPUs: there, nothing is copied.
/// Curves whose parameters the table lacks are absent; throws TableError where all would be.
std::vector<ScenarioPoint> evaluate(const ModelTable& table, const Scenario& scenario,
                                    const std::vector<double>& sizes);

/// The figure: staged solid, device-aware dashed, the least time of each size marked; the columns
/// "winner" (best cases apart) and "overall_winner".
CurveTable curve_table(const ModelTable& table, const Scenario& scenario,
                       const std::vector<ScenarioPoint>& points);

} // namespace nodeaware::tuning
