#pragma once

#include <cstdint>

namespace nodeaware::device {

struct Place;

// What tells contexts apart, also those that have the same address one after the other: no two of a
// process have the same number. 0: there is none, or the driver does not tell.

/// Of the context of a place; without one, of the primary context of its device. The context is
/// there: the place has just been looked at.
uint64_t number_of_context(const Place& place);

/// Of the context that is current.
uint64_t number_of_current_context();

/// Has the process a primary context of a device? None is made here.
bool is_in_use(int ordinal);
/// Of that.
uint64_t number_of_primary_context(int ordinal);

} // namespace nodeaware::device
