#pragma once

#include <cstdint>
#include <functional>

namespace nodeaware::device {

struct Place;

/// What tells contexts apart, also those that have the same address one after the other: no two of
/// a process have the same. 0: there is none, or the driver does not tell.
using ContextNumber = uint64_t;

/// While it lives, this thread may ask the driver for what would otherwise spoil what streams of
/// the application record. If the driver cannot be told, that goes without saying as long as none
/// does.
class RelaxedCapture {
  public:
    RelaxedCapture();
    ~RelaxedCapture();
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

  private:
    int mode_; ///< of this thread before
    bool is_set_;
};

/// Of the context that is current.
ContextNumber number_of_current_context();
/// Of the context of a place; without one, of the primary context of its device. The context is
/// there: the place has just been looked at.
ContextNumber number_of_context(const Place& place);
/// Of the primary context of a device. None is made.
ContextNumber number_of_primary_context(int ordinal);

/// The primary context of a device is there, because somebody uses the device.
bool is_in_use(int ordinal);

/// Calls `work` in the primary context of each device of which it is there: of others nobody knows
/// whether they are. Throws nothing that `work` does not.
void in_each_primary_context(const std::function<void(ContextNumber)>& work);

} // namespace nodeaware::device
