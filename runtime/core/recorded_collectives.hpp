#pragma once

#include "interpose/abi.hpp"
#include "runtime/core/recorded_communicators.hpp"
#include "runtime/trace/contents.hpp"

#include <vector>

/// Collectives that are recorded and never rerouted: who gets how much, whatever way MPI takes.
namespace nodeaware::recorded_collectives {

struct Given {
    std::vector<trace::Block> blocks; ///< for others, and for this rank itself
    uint64_t type_bytes = 0;          ///< of their datatype; 0: there is none
};
/// What this rank gives to a call that MPI has accepted. Throws MpiError.
Given given_by(const abi::Passed& passed, const recorded_communicators::Known& known);

} // namespace nodeaware::recorded_collectives
