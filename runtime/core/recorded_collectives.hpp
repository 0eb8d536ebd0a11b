#pragma once

#include "interpose/abi.hpp"
#include "runtime/core/recorded_communicators.hpp"
#include "runtime/trace/contents.hpp"

#include <vector>

/// Collectives that are recorded and never rerouted: who gets how much, whatever way MPI takes.
namespace nodeaware::recorded_collectives {

/// What a call that MPI has accepted passes from this rank to others, and to itself. Throws
/// MpiError.
std::vector<trace::Block> blocks_of(const abi::Passed& passed,
                                    const recorded_communicators::Known& known);

} // namespace nodeaware::recorded_collectives
