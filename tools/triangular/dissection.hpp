// Orders in which a sparse symmetric matrix fills in little.
#pragma once

#include <cstdint>
#include <vector>

namespace triangular {

// Of each vertex the others that it shares an edge with; both ends have it.
using Graph = std::vector<std::vector<int>>;

// Vertices in the order in which they are eliminated: nested dissection (George 1973) with
// separators out of the middle of a breadth-first search. What a separator divides comes before it.
std::vector<int> nested_dissection(const Graph& graph);

// The elimination tree of a graph whose vertices are eliminated as `order` says, by places in that
// order: the parent of each, -1 of roots (Liu 1990).
std::vector<int> elimination_tree(const Graph& graph, const std::vector<int>& order);

// Entries of the factor, with the diagonal; where there are more than `most`, a number above that.
std::int64_t count_factor(const Graph& graph, const std::vector<int>& order, std::int64_t most);

// Places of a forest so that all of a subtree come right before its root; children as they were.
std::vector<int> postorder(const std::vector<int>& parents);

} // namespace triangular
