#pragma once

#include "runtime/collectives/nonblocking.hpp"
#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/selection.hpp"
#include "runtime/job/report.hpp"
#include "runtime/job/world.hpp"
#include "runtime/point_to_point/message_layer.hpp"

namespace nodeaware {

/// The state of the library between MPI_Init and MPI_Finalize.
struct Library {
    World world;
    Report report;
    Nonblocking nonblocking{report};
    MessageLayer layer{world, nonblocking};
};

/// Moves the messages of `exchange`, which belong to a call on `comm`, as selected. Collective
/// over the communicator. Returns what the application's call is to return, after its error handler
/// has been called if that is an error. Fills in `record`.
int execute(MPI_Comm comm, InnerCommunicator& inner, const Exchange& exchange,
            const Selected& selected, CallRecord& record);

} // namespace nodeaware
