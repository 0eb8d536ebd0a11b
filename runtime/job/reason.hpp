#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace nodeaware {

/// Why a call stays with MPI. Reports count calls by these.
enum class Reason {
    none,
    not_prepared,
    chosen,
    intercommunicator,
    foreign_ranks,
    one_node,
    one_rank_per_node,
    no_resources,
    no_neighbors,
    native_is_faster,
    one_machine,
    invalid_arguments,
    nothing_to_move,
    order_matters,
    may_be_renumbered,
};

inline constexpr std::array<std::string_view, 15> reason_texts = {
    "rerouted",
    "nonblocking, and no blocking collective call before in which to prepare",
    "the configuration says native",
    "intercommunicator",
    "ranks from outside MPI_COMM_WORLD",
    "all ranks on one node",
    "one rank on each node",
    "no private communicator or shared memory",
    "a rank without neighbours, which need not take part",
    "thought or measured to be faster so",
    "nonblocking, and one machine has all nodes",
    "arguments that MPI will refuse",
    "nothing to move",
    "numbers whose order matters (NaN, -0), or memory of a device",
    "a graph that MPI may renumber",
};

inline constexpr size_t reason_count = reason_texts.size();

constexpr std::string_view text_of(Reason reason) {
    return reason_texts[static_cast<size_t>(reason)];
}

} // namespace nodeaware
