#pragma once

#include "tools/triangular/distribution.hpp"

/// Algorithm 2 of [S] (A Message-Driven, Multi-GPU Parallel Sparse Triangular Solver): a triangular
/// solve on GPUs, level by level of what waits for what. Read with these corrections:
///  - lines 15, 16: numbers begin at 0 again, nothing is added to them;
///  - lines 31, 37: messages that do not overlap are log2(out) where out > 2, else out;
///  - lines 35, 36: of row r, whose messages are reductions;
///  - lines 19, 44 against the text (section 5): bandwidth of a level with few blocks is adjusted
///  first,
///    and no more where that promises more than P times the speed of one GPU;
///  - L_g is not added where bandwidths are those of a ping-pong, which has it in it.
namespace nodeaware::tuning {

/// Summit, as [S] has it: Tesla V100, NVSHMEM. Rates in bytes/second.
struct SolvingGpus {
    double bandwidth = 828e9;
    double least_of_block = 1.3e9; ///< 828 GB/s / (80 SMs x 8 blocks of 8 warps)
    double most_of_block = 5.2e9;  ///< 828 GB/s / (80 SMs x 2 blocks)
    int most_blocks = 160;         ///< of a GPU that share its bandwidth
    int per_node = 6;
    /// Messages of 1 KiB, which are the largest that are typical; smaller ones take as long.
    /// Sections 6.2, 6.3: 75 MB/s between nodes, 3.9 times that on a socket, by 1.2 less between
    /// sockets, and of what a single thread sends, as for sums, a ninth of it on a node.
    double typical_bytes = 1024;
    double between_nodes = 75e6;
    double on_socket = 3.9 * 75e6;
    double on_node = 3.9 * 75e6 / 1.2;
    double of_thread = 1.0 / 9;
};

/// Of the GPU that takes longest, seconds.
struct LevelTimes {
    double computation = 0;
    double communication = 0;
    double total() const { return computation + communication; }
};

/// GPUs fill nodes one after the other.
LevelTimes solve_by_levels(const triangular::Supernodes& supernodes,
                           const triangular::ProcessGrid& grid, const SolvingGpus& gpus);

} // namespace nodeaware::tuning
