#pragma once

#include "tools/models/curve_table.hpp"

#include <optional>
#include <string_view>
#include <vector>

/// Figures 2 to 6 of [D] (see postal.hpp) from a model table: what data cost on their way between
/// GPUs. Seconds, bytes.
namespace nodeaware::tuning {

struct FigureInput {
    /// GPUs of a node that send at the same time, and cores that share their work. 0: the table's.
    int gpus_per_node = 0;
    int processes_per_node = 0;
    int nodes = 32; ///< of figure 6
    /// Part of the bytes that several messages carry, 0 to 1, which is copied to the CPU once
    /// (section V); of figures 5 and 6.
    double duplicate_fraction = 0;
};

inline constexpr int first_figure = 2;
inline constexpr int last_figure = 6;

/// Which figures show the copies between GPU and CPU (2 to 5), and which the collective (6).
bool is_of_kernel(int figure, std::string_view kernel); ///< "copies", "alltoallv"

/// The figure:
///  2: one message between two CPUs and between two GPUs, (1), by where they are.
///  3: one message between two GPUs of different nodes: GPUDirect, and D2H + (1) + H2D.
///  4: `bytes` from one node to another, split evenly over PPN processes, (2).
///  5: 1, 10 and 100 messages of `bytes` from each GPU: GPUDirect, (3), and D2H + (3) + H2D. The
///     column "copying_wins_from" is the least number of messages for which copying takes less.
///  6: the four paths of section VI, messages of `bytes` from each GPU to each of the other nodes,
///     where cores share the messages of a GPU (Alltoallv) or each message (Alltoall).
/// The least time of each size is marked (the first of equals), in figure 5 for each number of
/// messages. Throws
/// TableError, which names all parameters that the table lacks (a number of GPUs or processes that
/// neither the input nor the table has is one of them), and std::invalid_argument for other
/// numbers.
CurveTable figure(const ModelTable& table, int number, const FigureInput& input,
                  const std::vector<double>& sizes);

/// The least number of messages of `bytes` that each of `gpus_per_node` GPUs sends for which
/// copying all to the CPU takes less than GPUDirect, (3); nothing: it never does. The table must
/// have what figure 5 needs.
std::optional<double> copying_wins_from(const ModelTable& table, double bytes, int gpus_per_node,
                                        double duplicate_fraction);

} // namespace nodeaware::tuning
