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

/// The same without the error handler: one exchange of several that a call is made of.
int execute_silently(InnerCommunicator& inner, Exchange& exchange, const Selected& selected,
                     CallRecord& record);

} // namespace nodeaware
