// Which rank has which blocks of a triangular matrix, and what ranks send to each other.
#pragma once

#include "strategies/topology.hpp"
#include "supernodes.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace triangular {

// Block cyclic: L(I, K) is of the rank in row I mod `rows`, column K mod `columns`.
struct ProcessGrid {
    int rows = 1;
    int columns = 1;

    int owner(int row, int column) const { return row % rows * columns + column % columns; }
    std::string text() const { return std::to_string(rows) + "x" + std::to_string(columns); }
};

// P x 1 (only broadcasts), as square as it can be, 1 x P (only reductions); without repeats.
std::vector<ProcessGrid> usual_grids(int ranks);

// How a value gets from one rank to others, or a sum from these to it.
enum class TreeKind {
    flat,
    binary, // as in the paper
    node    // one message to each node, and trees in nodes
};

struct Edge {
    int parent = 0; // both are ranks
    int child = 0;
};

// A tree of `members`, the first of which is its root. Edges of a parent are in the order in which
// it sends: between nodes first.
std::vector<Edge> tree_edges(TreeKind kind, const std::vector<int>& members,
                             const nodeaware::Topology& topology);

struct MessageCounts {
    std::int64_t all = 0;
    std::int64_t between_nodes = 0;
};

// Trees of all supernodes: x(K) goes down that of its column, sums of a row go up that of the row.
struct Distribution {
    ProcessGrid grid;
    std::vector<std::vector<Edge>> broadcasts; // by column K
    std::vector<std::vector<Edge>> reductions; // by row I
};

Distribution distribute(const Supernodes& supernodes, const ProcessGrid& grid, TreeKind kind,
                        const nodeaware::Topology& topology);

// Of one solve.
MessageCounts count_messages(const Distribution& distribution, const nodeaware::Topology& topology);

} // namespace triangular
