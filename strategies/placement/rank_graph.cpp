#include "strategies/placement/rank_graph.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace nodeaware::place {

namespace {

struct Edge {
    int rank = 0;
    Peer peer;
};

/// Both ends of each message, by ranks.
std::vector<Edge> edges_of(const std::vector<Sent>& entries) {
    std::vector<Edge> edges;
    edges.reserve(2 * entries.size());
    for (const Sent& entry : entries) {
        if (entry.from == entry.to || entry.messages == 0) { continue; }
        edges.push_back({entry.from, {entry.to, entry.messages, 0, entry.bytes}});
        edges.push_back({entry.to, {entry.from, 0, entry.messages, 0}});
    }
    std::sort(edges.begin(), edges.end(), [](const Edge& one, const Edge& other) {
        return one.rank != other.rank ? one.rank < other.rank : one.peer.rank < other.peer.rank;
    });
    return edges;
}

int ranks_of_grid(const std::vector<int>& dimensions) {
    int64_t ranks = 1;
    for (const int size : dimensions) {
        ranks *= size;
        if (size < 1 || ranks > std::numeric_limits<int>::max()) {
            throw std::invalid_argument("a grid needs from 1 to 2147483647 ranks");
        }
    }
    return static_cast<int>(ranks);
}

} // namespace

RankGraph::RankGraph(int ranks, const std::vector<Sent>& entries)
    : begin_(static_cast<size_t>(ranks) + 1) {
    const std::vector<Edge> edges = edges_of(entries);
    for (size_t i = 0; i < edges.size(); ++i) {
        const auto& [rank, peer] = edges[i];
        if (i > 0 && edges[i - 1].rank == rank && edges[i - 1].peer.rank == peer.rank) {
            Peer& same = peers_.back();
            same.sent += peer.sent;
            same.received += peer.received;
            same.bytes += peer.bytes;
        } else {
            peers_.push_back(peer);
            ++begin_[static_cast<size_t>(rank) + 1];
        }
    }
    for (size_t rank = 0; rank + 1 < begin_.size(); ++rank) { begin_[rank + 1] += begin_[rank]; }
}

RankGraph grid_graph(const Grid& grid) {
    const int ranks = ranks_of_grid(grid.dimensions);
    std::vector<Sent> entries;
    int stride = ranks;
    for (size_t i = 0; i < grid.dimensions.size(); ++i) {
        const int size = grid.dimensions[i];
        const bool is_periodic = grid.is_periodic[i];
        stride /= size;
        for (int rank = 0; rank < ranks; ++rank) {
            const int position = rank / stride % size;
            const int last = (size - 1) * stride;
            if (position + 1 < size) {
                entries.push_back({rank, rank + stride, 1, 0});
            } else if (is_periodic) {
                entries.push_back({rank, rank - last, 1, 0});
            }
            if (position > 0) {
                entries.push_back({rank, rank - stride, 1, 0});
            } else if (is_periodic) {
                entries.push_back({rank, rank + last, 1, 0});
            }
        }
    }
    return {ranks, entries};
}

} // namespace nodeaware::place
