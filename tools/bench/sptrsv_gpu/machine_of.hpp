// The memory of a solve.
#pragma once

#include "machine.hpp"
#include "solver.hpp"

#include <limits>
#include <vector>

namespace bench::sptrsv_gpu {

// `memory` has constant(values), an array of these values, and variable(values), one that has them
// at the begin of each solve.
template <class Memory>
Machine machine_of(const Plan& plan, const SolverSettings& settings, Memory& memory) {
    const auto filled = [&](auto value, int count) {
        return memory.variable(std::vector(static_cast<std::size_t>(count), value));
    };
    const auto columns = static_cast<int>(plan.columns.size());
    Machine m;
    m.column_begin = memory.constant(plan.column_begin);
    m.columns = memory.constant(plan.columns);
    m.children = memory.constant(plan.children);
    m.block_rows = memory.constant(plan.block_rows);
    m.diagonals = memory.constant(plan.diagonals);
    m.panels = memory.constant(plan.panels);
    m.targets = memory.constant(plan.targets);
    m.rows = memory.constant(plan.rows);
    m.slot_begin = memory.constant(plan.slot_begin);
    m.slots = memory.constant(plan.slots);
    m.awaited_begin = memory.constant(plan.awaited_begin);
    m.awaited = memory.constant(plan.awaited);
    m.right_side = memory.constant(plan.right_side);
    m.gpus = plan.gpus;
    m.widest = plan.widest;
    m.lost = settings.lost;
    m.limit = static_cast<std::uint64_t>(settings.limit * 1e9);
    m.tickets = filled(0, plan.gpus);
    m.puts = filled(0, plan.gpus);
    m.flag_x = filled(0, columns);
    m.arrived = filled(0, columns);
    m.flag_sums = filled(0, static_cast<int>(plan.slots.size()));
    m.missing = memory.variable(plan.missing);
    // What is read before it is there shows.
    constexpr double nothing_yet = std::numeric_limits<double>::quiet_NaN();
    m.ready_x = filled(nothing_yet, plan.ready_x_size);
    m.ready_sums = filled(nothing_yet, plan.ready_sums_size);
    m.sums = filled(0.0, plan.sums_size);
    m.solution = filled(nothing_yet, static_cast<int>(plan.right_side.size()));
    m.failure = memory.variable(std::vector<Failure>(1));
    return m;
}

} // namespace bench::sptrsv_gpu
