#pragma once

#include "runtime/communicator.hpp"
#include "runtime/nonblocking.hpp"
#include "runtime/point_to_point/hub.hpp"
#include "runtime/report.hpp"
#include "runtime/selection.hpp"
#include "runtime/world.hpp"

namespace nodeaware {

/// The state of the library between MPI_Init and MPI_Finalize.
struct Library {
    World world;
    Report report;
    Nonblocking nonblocking{report};
    Hub hub{world, nonblocking};
};

/// Moves the messages of `exchange`, which belong to a call on `comm`, as selected. Collective
/// over the communicator. Returns what the application's call is to return, after its error handler
/// has been called if that is an error. Fills in `record`.
int execute(MPI_Comm comm, Team& team, const Exchange& exchange, const Selected& selected,
            CallRecord& record);

} // namespace nodeaware
