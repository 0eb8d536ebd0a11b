#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

/// What ranks tell each other of a distributed graph, of which each of them knows any edges.
namespace nodeaware::graph {

/// An edge, as the rank at one of its ends is told of it.
struct Edge {
    static constexpr int nobody = -1;

    int other = nobody;  ///< rank at the other end
    bool leaves = false; ///< it goes to `other`, or comes from there
    bool has_weight = false;
    int weight = 0;
    bool operator==(const Edge&) const = default;
};

/// Adds an edge to what the rank `sender` tells. One without weight between it and who is told
/// takes a byte.
void append_edge(std::vector<std::byte>& told, const Edge& edge, int sender);

/// What `sender` has told, in its order; nothing if it is no list of edges, or names ranks that a
/// communicator of `ranks` has not. Throws std::bad_alloc.
std::optional<std::vector<Edge>> read_edges(std::span<const std::byte> told, int sender, int ranks);

} // namespace nodeaware::graph
