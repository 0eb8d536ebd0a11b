#pragma once

#include "runtime/device/memory.hpp"

namespace nodeaware::device::own_streams {

/// The library's own in the context that is current: one for copies to the device and one for all
/// others, for a device copies both ways at once, and a stream does not. They wait for no stream of
/// the application. Made when they are first asked for; nullptr: there is none, and never will be.
void* find(Direction direction);

/// Nothing is under way any more: gives back those in contexts that are there still.
void close();

} // namespace nodeaware::device::own_streams
