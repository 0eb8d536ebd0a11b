#pragma once

#include "strategies/costs.hpp"
#include "tuning/model_table.hpp"

namespace nodeaware::tuning {

/// What the strategies compare by, from a table. `ranks_per_device`: which share a device.
///  - A protocol that the path between nodes lacks gets the limit 0 (nothing is sent by it) and the
///    numbers of the next larger one.
///  - Where no gap was measured: that part of alpha which it is in Costs{}, the table of Lassen.
///  - Without `shared_memory`: a copy costs the beta of large on-node messages, a flag the alpha of
///    small ones; MPI moves these in the same way.
///  - Devices: copies with shared memory by that many processes, or the nearest that the table has.
///    Where it is not known what a further copy costs, as much as the first; without any copies,
///    the default of DeviceCosts. Without a path between devices, messages that go straight cost
///    as much as the host's.
/// Throws TableError where the table has no host path between nodes.
Costs costs_of(const ModelTable& table, int ranks_per_device = 1);

/// As if all ranks of a node used the devices of the table's machine alike; 1 where it names none.
int ranks_per_device(const ModelTable& table, int ranks_per_node);

} // namespace nodeaware::tuning
