#pragma once

#include <functional>

/// Requests of the simulation, in place of SMPI's own: these cannot be asked whether they are over
/// (MPI_Request_get_status), lose messages when they are cancelled, and take a time that goes with
/// the square of their number to wait for several.
namespace nodeaware::simulation {

/// Calls `add` with the name of each function of MPI that makes, begins or completes them.
void add_request_functions(const std::function<void(const char* name, void* function)>& add);

} // namespace nodeaware::simulation
