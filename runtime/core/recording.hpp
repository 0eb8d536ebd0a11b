#pragma once

#include "interpose/abi.hpp"

/// Records what the application calls, if the options ask for a trace.
namespace nodeaware::recording {

/// The hooks of `plain`, which are called by these, and the functions that point-to-point messages
/// and requests go through where `plain` does not want to see them. To be called once, while there
/// is a recorder; `caller` is that of abi::Core::start. Throws MpiError.
const abi::Core& around(const abi::Core& plain, const void* (*caller)());

} // namespace nodeaware::recording
