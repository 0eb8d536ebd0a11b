#pragma once

#include "strategies/schedule.hpp"

#include <cstdint>
#include <random>
#include <vector>

namespace nodeaware::test {

using Random = std::mt19937_64;

/// A random number from low to high, both included.
uint64_t draw(Random& random, uint64_t low, uint64_t high);

/// A random exchange on a random cluster: everything that the ranks of a job would pass to the
/// library.
struct RandomCase {
    Topology topology;
    Parameters parameters;
    Sharing sharing = Sharing::sender;
    std::vector<RankTraffic> traffic; ///< by rank
    std::vector<SharedSlab> slabs;

    explicit RandomCase(uint64_t seed);

  private:
    void draw_topology(Random& random);
    void draw_traffic(Random& random);
    void draw_allgather(Random& random);
    void list_incoming(Random& random);
    void draw_costs(Random& random);
    void draw_parameters(Random& random);
    void draw_slabs(Random& random);
};

} // namespace nodeaware::test
