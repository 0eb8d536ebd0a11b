#pragma once

#include "strategies/placement/tilings.hpp"

#include <array>
#include <functional>
#include <vector>

/// Who sends to whom in the halo exchange of a 27-point stencil, [K] 5.3.
namespace nodeaware::tuning {

/// What the messages of a kind carry: faces, edges or corners of the local grid.
inline constexpr size_t halo_kinds = 3;

struct HaloCounts {
    struct Kind {
        double on_node = 0;
        double off_node = 0;
        bool operator==(const Kind&) const = default;
    };
    using Process = std::array<Kind, halo_kinds>; ///< messages that it sends
    Process average{};                            ///< of all processes
    /// Of the process that sends most faces to other nodes; of equals most edges, then corners,
    /// then messages on its node.
    Process worst{};
    std::vector<Process> by_node; ///< messages of all processes of each node
    double hops = 0;              ///< mean of all messages between nodes; 0 where none is sent
};

/// Most ranks that are counted.
inline constexpr int most_halo_ranks = 1 << 20;

/// Three dimensions that are as equal as can be, none greater than the one before, as
/// MPI_Dims_create chooses them.
place::Grid balanced_grid(int ranks);

/// Messages of ranks that form a three-dimensional grid to all of up to 26 neighbours. `hops`
/// between two nodes; empty: none.
HaloCounts count_halo(const place::Grid& grid, const place::Placement& placement,
                      const std::function<double(int, int)>& hops);

/// Ranks of a grid on nodes of `ppn`: in the order of their numbers, as MPI_Cart_create mostly
/// leaves them, or in boxes where these have fewer faces between nodes.
enum class HaloPlacement { block, boxes };
place::Placement place_halo(const place::Grid& grid, int nodes, int ppn, HaloPlacement how);

} // namespace nodeaware::tuning
