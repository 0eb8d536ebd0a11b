#pragma once

#include <functional>
#include <optional>

namespace nodeaware::device {

/// Of a context: no two of a process have the same, though they may have the same address, one
/// after the other.
using ContextNumber = unsigned long long;

/// Of the context that is current; nothing: there is none, or the driver has no numbers.
std::optional<ContextNumber> number_of_current_context();

/// Calls `work` in the primary context of each device of which it is there: of others nobody knows
/// whether they are. Throws nothing that `work` does not.
void in_each_primary_context(const std::function<void(ContextNumber)>& work);

} // namespace nodeaware::device
