#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace nodeaware {

/// The operations that can be rerouted. Options, reports and traces know them by these names.
enum class Operation {
    alltoall,
    alltoallv,
    alltoallw,
    neighbor_alltoall,
    neighbor_alltoallv,
    neighbor_alltoallw,
    neighbor_allgather,
    neighbor_allgatherv,
    allreduce,
    ialltoall, ///< nonblocking or persistent, like those that follow
    ialltoallv,
    ialltoallw,
    ineighbor_alltoall,
    ineighbor_alltoallv,
    ineighbor_alltoallw,
    ineighbor_allgather,
    ineighbor_allgatherv,
    point_to_point,
    dist_graph_create, ///< by a sparse exchange, whatever strategy is named
};

inline constexpr std::array<std::string_view, 19> operation_names = {
    "alltoall",
    "alltoallv",
    "alltoallw",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "allreduce",
    "ialltoall",
    "ialltoallv",
    "ialltoallw",
    "ineighbor_alltoall",
    "ineighbor_alltoallv",
    "ineighbor_alltoallw",
    "ineighbor_allgather",
    "ineighbor_allgatherv",
    "p2p",
    "dist_graph_create",
};

inline constexpr size_t operation_count = operation_names.size();

constexpr std::string_view name_of(Operation operation) {
    return operation_names[static_cast<size_t>(operation)];
}

constexpr bool is_nonblocking(Operation operation) {
    return operation >= Operation::ialltoall && operation < Operation::point_to_point;
}

constexpr bool is_with_neighbors(Operation operation) {
    return name_of(operation).find("neighbor") != std::string_view::npos;
}

} // namespace nodeaware
