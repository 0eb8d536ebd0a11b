#pragma once

#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/communicators/selection.hpp"
#include "runtime/job/report.hpp"

namespace nodeaware {

/// Moves the messages of `exchange`, which belong to a call on `comm`, as selected. Collective
/// over the communicator. Returns what the application's call is to return, after its error handler
/// has been called if that is an error. Fills in `record`.
int execute(MPI_Comm comm, InnerCommunicator& inner, Exchange& exchange, const Selected& selected,
            CallRecord& record);

/// The same without the error handler: one exchange of several that a call is made of. What has
/// failed in it is returned, if this rank has gone through it all the same, in step with the
/// others; otherwise there must not be another one, and MpiError is thrown.
int execute_step(InnerCommunicator& inner, Exchange& exchange, const Selected& selected,
                 CallRecord& record);

} // namespace nodeaware
