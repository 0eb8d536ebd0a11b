#pragma once

#include "strategies/costs.hpp"
#include "tuning/model_table.hpp"

namespace nodeaware::tuning {

/// What the strategies compare by, from the host parameters of a table.
///  - A protocol that the path between nodes lacks gets the limit 0 (nothing is sent by it) and the
///    numbers of the next larger one.
///  - Where no gap was measured: that part of alpha which it is in Costs{}, the table of Lassen.
///  - Without `shared_memory`: a copy costs the beta of large on-node messages, a flag the alpha of
///    small ones; MPI moves these in the same way.
/// Throws TableError where the table has no host path between nodes.
Costs costs_of(const ModelTable& table);

} // namespace nodeaware::tuning
