#pragma once

#include "runtime/device/kernels/list_copy.hpp"
#include "runtime/device/memory.hpp"

namespace nodeaware::device::list_kernel {

/// Whether it may be used at all, as the configuration says.
void allow(bool is_allowed);

/// Allowed, and the driver has what it takes.
bool is_possible();

/// Whether the kernel works in the context that is current. The first time in a context it is
/// loaded there, and has to show on a small list that it copies what it should; waits for that. One
/// that does not is never tried again there, and what it was wanted for is copied otherwise.
bool is_usable(Copies& copies);
bool is_usable(const Place& place);

/// Begins the copies of a list, behind the copies so far. What the list says must be right: a
/// kernel that goes wrong takes all of the context with it. False: nothing has begun, and never
/// will there.
bool launch(Copies& copies, const CopyList& list);

/// Nothing is under way any more: gives back what was loaded in contexts that are there still.
void unload();

} // namespace nodeaware::device::list_kernel
