#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace nodeaware::place {

/// What one rank sends to another one.
struct Sent {
    int from = 0;
    int to = 0;
    uint64_t messages = 0;
    uint64_t bytes = 0;
};

/// Another rank, as one rank sees it.
struct Peer {
    int rank = 0;
    uint64_t sent = 0; ///< messages to it
    uint64_t received = 0;
    uint64_t bytes = 0; ///< to it

    uint64_t messages() const { return sent + received; }
};

/// Who sends how many messages to whom. What a rank sends to itself is left out.
class RankGraph {
  public:
    /// Ends are from 0 to ranks - 1; several entries of the same two ends add up.
    RankGraph(int ranks, const std::vector<Sent>& entries);

    int ranks() const { return static_cast<int>(begin_.size()) - 1; }
    std::span<const Peer> peers(int rank) const {
        const size_t begin = begin_[static_cast<size_t>(rank)];
        return {peers_.data() + begin, begin_[static_cast<size_t>(rank) + 1] - begin};
    }

  private:
    std::vector<Peer> peers_; ///< of rank 0, of rank 1, ..., each ascending
    std::vector<size_t> begin_;
};

/// The grid that ranks form, numbered as MPI_Cart_create does, the last dimension fastest; without
/// dimensions: none.
struct Grid {
    std::vector<int> dimensions;
    std::vector<bool> is_periodic; ///< in each dimension

    Grid() = default;
    Grid(std::vector<int> sizes, std::vector<bool> is_closed)
        : dimensions(std::move(sizes)), is_periodic(std::move(is_closed)) {}
    /// Alike in each dimension.
    Grid(std::vector<int> sizes, bool is_closed)
        : dimensions(std::move(sizes)), is_periodic(dimensions.size(), is_closed) {}
};

/// Each rank sends a message to the neighbours at its faces, two in each dimension. Throws
/// std::invalid_argument where that are too many ranks for an int.
RankGraph grid_graph(const Grid& grid);

} // namespace nodeaware::place
