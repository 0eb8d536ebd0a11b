#pragma once

#include "tools/triangular/distribution.hpp"
#include "tuning/model_table.hpp"

/// How long a triangular solve that is driven by messages takes (tools/bench/sptrsv/solve.hpp),
/// from what its messages cost: the critical path through what waits for what, as [S] has it, where
/// ranks do one thing after the other, and the messages of a node leave one after the other.
namespace nodeaware::tuning {

/// [S]: A Message-Driven, Multi-GPU Parallel Sparse Triangular Solver.
struct TriangularCosts {
    explicit TriangularCosts(const ModelTable& table);

    double message(double bytes, bool on_node) const;
    double occupancy(double bytes) const; ///< of the link of a node, seconds
    const ModelTable& table;
    /// Multiplied and added, 8 bytes of memory: at the rate at which the table has a process copy
    /// while all others of its node do, and its operations; 10 GB/s where it has neither.
    double seconds_per_entry = 0;
};

/// Seconds of a solve. Throws TableError where the table has no paths between hosts.
double scheduled_solve(const triangular::Supernodes& supernodes,
                       const triangular::Distribution& distribution, const Topology& topology,
                       const TriangularCosts& costs);

} // namespace nodeaware::tuning
