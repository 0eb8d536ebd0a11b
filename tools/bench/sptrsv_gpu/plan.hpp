// Blocks of a triangular matrix and trees as virtual GPUs need them: flat arrays, to be copied to a
// device.
#pragma once

#include "machine.hpp"
#include "tools/triangular/distribution.hpp"
#include "tools/triangular/supernodes.hpp"

#include <cstdint>
#include <vector>

namespace bench::sptrsv_gpu {

struct Plan {
    int gpus = 0;
    int widest = 0;
    // As in Machine.
    std::vector<int> column_begin;
    std::vector<Column> columns;
    std::vector<int> children;
    std::vector<int> block_rows;
    std::vector<double> diagonals;
    std::vector<double> panels;
    std::vector<int> targets;
    std::vector<Row> rows;
    std::vector<int> slot_begin;
    std::vector<Slot> slots;
    std::vector<int> awaited_begin;
    std::vector<int> awaited;
    std::vector<double> right_side;
    std::vector<int> missing; // as it is before a solve
    // Doubles of what a solve writes.
    int ready_x_size = 0;
    int ready_sums_size = 0;
    int sums_size = 0;
};

// Throws std::length_error where offsets would not fit.
Plan make_plan(const triangular::Supernodes& supernodes,
               const triangular::Distribution& distribution, int gpus,
               const std::vector<double>& right_side);

// The most supernodes, and the most messages, of which each needs the one before.
struct CriticalPath {
    int levels = 0;
    int messages = 0;
};
CriticalPath critical_path(const triangular::Supernodes& supernodes,
                           const triangular::Distribution& distribution, int gpus);

} // namespace bench::sptrsv_gpu
