#pragma once

#include "runtime/point_to_point/message_layer.hpp"

/// Persistent requests are made by MPI and remembered, to be started by whoever moves messages
/// then.
namespace nodeaware::persistent {

/// A persistent request has been made. Throws MpiError.
void made(MessageLayer& layer, MPI_Request request, const PersistentRequest& persistent);
/// Does what MPI_Startall does. Throws MpiError.
int start(MessageLayer& layer, int count, MPI_Request* requests);

} // namespace nodeaware::persistent
