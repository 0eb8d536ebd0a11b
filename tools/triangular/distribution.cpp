#include "distribution.hpp"

#include "indices.hpp"

#include <algorithm>
#include <cmath>

namespace triangular {
namespace {

// Each but the first hangs on the one at half its place.
void add_binary(std::vector<Edge>& edges, const std::vector<int>& members) {
    for (std::size_t i = 1; i < members.size(); ++i)
        edges.push_back({members[(i - 1) / 2], members[i]});
}

// Members of each node, those of the root's node first.
std::vector<std::vector<int>> by_nodes(const std::vector<int>& members,
                                       const nodeaware::Topology& topology) {
    std::vector<std::vector<int>> groups;
    for (const int rank : members) {
        const auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
            return topology.node_of(group.front()) == topology.node_of(rank);
        });
        if (found == groups.end()) {
            groups.push_back({rank});
        } else {
            found->push_back(rank);
        }
    }
    return groups;
}

// The root, and the others as they follow it round the ranks: so trees of many roots have their
// inner ranks in many places.
std::vector<int> members_from(int root, std::vector<int> others, int ranks) {
    const auto distance = [&](int rank) { return (rank - root + ranks) % ranks; };
    others.push_back(root);
    std::sort(others.begin(), others.end(),
              [&](int a, int b) { return distance(a) < distance(b); });
    others.erase(std::unique(others.begin(), others.end()), others.end());
    return others;
}

} // namespace

std::vector<ProcessGrid> usual_grids(int ranks) {
    int rows = static_cast<int>(std::sqrt(static_cast<double>(ranks)));
    while (ranks % rows != 0) --rows;
    std::vector<ProcessGrid> grids = {{ranks, 1}};
    if (rows > 1) grids.push_back({ranks / rows, rows});
    if (ranks > 1) grids.push_back({1, ranks});
    return grids;
}

std::vector<Edge> tree_edges(TreeKind kind, const std::vector<int>& members,
                             const nodeaware::Topology& topology) {
    std::vector<Edge> edges;
    if (kind == TreeKind::flat) {
        for (std::size_t i = 1; i < members.size(); ++i)
            edges.push_back({members.front(), members[i]});
    } else if (kind == TreeKind::binary) {
        add_binary(edges, members);
    } else {
        const auto groups = by_nodes(members, topology);
        std::vector<int> leaders;
        leaders.reserve(groups.size());
        for (const auto& group : groups) leaders.push_back(group.front());
        add_binary(edges, leaders);
        for (const auto& group : groups) add_binary(edges, group);
    }
    return edges;
}

Distribution distribute(const Supernodes& supernodes, const ProcessGrid& grid, TreeKind kind,
                        const nodeaware::Topology& topology) {
    const int count = supernodes.count();
    std::vector<std::vector<int>> of_column(at(count));
    std::vector<std::vector<int>> of_row(at(count));
    for (const Block& block : supernodes.blocks) {
        const int owner = grid.owner(block.row, block.column);
        of_column[at(block.column)].push_back(owner);
        of_row[at(block.row)].push_back(owner);
    }
    Distribution result;
    result.grid = grid;
    for (int k = 0; k < count; ++k) {
        const int root = grid.owner(k, k);
        const auto edges = [&](std::vector<int>& owners) {
            return tree_edges(kind, members_from(root, std::move(owners), topology.ranks()),
                              topology);
        };
        result.broadcasts.push_back(edges(of_column[at(k)]));
        result.reductions.push_back(edges(of_row[at(k)]));
    }
    return result;
}

MessageCounts count_messages(const Distribution& distribution,
                             const nodeaware::Topology& topology) {
    MessageCounts counts;
    for (const auto* trees : {&distribution.broadcasts, &distribution.reductions}) {
        for (const std::vector<Edge>& edges : *trees) {
            for (const Edge& edge : edges) {
                ++counts.all;
                if (topology.node_of(edge.parent) != topology.node_of(edge.child))
                    ++counts.between_nodes;
            }
        }
    }
    return counts;
}

} // namespace triangular
