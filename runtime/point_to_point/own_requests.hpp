#pragma once

#include "runtime/point_to_point/batch_engine.hpp"

#include <memory>

/// The requests that the application gets of the library: generalized ones of MPI, whose functions
/// MPI calls when they are completed, freed or cancelled.
namespace nodeaware::transfers {

/// A request that is none of MPI's receives has been made.
void note_made(MPI_Request request);

// All throw MpiError.
MPI_Request make_send_request();
MPI_Request make_receive_request(const std::shared_ptr<Receive>& receive,
                                 const std::shared_ptr<BatchEngine>& engine);
/// Of a send that is complete, and of a receive that is complete with that status.
MPI_Request make_completed_request();
MPI_Request make_completed_request(const MPI_Status& status);

/// MPI_Cancel, of any request. Returns what that returns.
int cancel(MPI_Request* request);

/// Frees what ended requests have left: MPICH calls their functions with a lock of its own, and is
/// not to be called there, where threads may call it at the same time.
void free_ended();

} // namespace nodeaware::transfers
