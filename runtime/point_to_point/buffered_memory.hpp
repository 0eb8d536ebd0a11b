#pragma once

#include "runtime/point_to_point/arguments.hpp"
#include "runtime/point_to_point/message_layer.hpp"

namespace nodeaware::transfers {

/// What MPI says of a buffered message of so many bytes, for which the application has to attach
/// memory; no error handler is called. Throws MpiError.
int check_buffered(MessageLayer& layer, const Message& message, uint64_t bytes);

} // namespace nodeaware::transfers
