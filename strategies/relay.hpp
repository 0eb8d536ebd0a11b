#pragma once

#include "strategies/carrier.hpp"
#include "strategies/strategy.hpp"

#include <cstdint>
#include <vector>

namespace nodeaware {

/// All that one node has for another, on one of the hops of its way.
struct Bundle {
    static constexpr int32_t none = -1;
    int distance = 0; ///< from the node where it begins to that where it ends
    int behind = 0;   ///< of that, before this hop
    bool ends = false;
    int32_t before = none; ///< number of the carrier that it came with; none: it begins here
    uint32_t entry = 0;    ///< its position in that carrier
};

/// A message from every node to the one `hop` further.
struct Carrier {
    int digit = 0;
    int hop = 0;
    std::vector<Bundle> bundles;
};

/// Nodes are numbered around a circle. In round k of a relay with radix r every node sends, for
/// each digit z = 1 .. r-1, what has that digit at position k of the distance that it has to go to
/// the node z r^k further: (r-1) ceil(log_r N) messages at most, where N - 1 go from each node to
/// each. By rounds, then by digits, the same on all nodes.
std::vector<Carrier> carriers_of(int nodes, int radix);

/// How the ranks of a topology relay what is small: the same on all of them.
class Relay {
  public:
    /// Nothing is relayed.
    Relay() = default;
    Relay(const Topology& topology, const Parameters& parameters);

    bool is_used() const { return limit_ > 0; }
    int radix() const { return radix_; }
    /// Largest bundle (bytes): on its way it is sent sum(hops) times, which costs more than the
    /// messages saved if it is larger: alpha / (beta (hops - 1)). And there must be room for all
    /// that may come.
    uint64_t limit() const { return limit_; }
    bool carries(const PairTraffic& pair) const {
        const uint64_t bytes = pair.bytes();
        return bytes > 0 && bytes <= limit_;
    }
    /// Most bytes of a carrier with so many bundles.
    uint64_t capacity(size_t bundles) const {
        return carriers::table_end(bundles) + bundles * limit_;
    }
    /// Of a carrier with so many bundles.
    carriers::Cut cut(size_t bundles) const;
    /// Of the rank, among those of its node, that sends or receives carriers of that digit: of
    /// every round, so that it finds what it has to pass on itself, where its digit is the same.
    /// The last first: MPI's own trees have their roots, and programs their input, at the first.
    static int handler(int digit, int ranks_on_node) {
        return ranks_on_node - 1 - (digit - 1) % ranks_on_node;
    }

    /// For carriers, of the arena bytes for all that leaves a node, or enters it.
    static uint64_t share(uint64_t bytes) { return bytes / 2; }

  private:
    int radix_ = 0;
    uint64_t limit_ = 0;
    carriers::Cut cut_;
};

/// Whether every MPI relays such blocks of MPI_Alltoall itself, from rank to rank. As measured:
/// Open MPI 4.1 from 16 ranks on, blocks of more than 400 bytes, too; MPICH 4.0 from 10 on.
constexpr bool mpi_relays(int ranks, uint64_t block_bytes) {
    constexpr int many = 16;
    constexpr uint64_t small = 256;
    return ranks >= many && block_bytes <= small;
}

/// Messages of a node in one exchange, M, and bundles in them, B: sums over all its carriers.
struct RelayCounts {
    uint64_t messages = 0;
    uint64_t bundles = 0;
    uint64_t most_bundles = 0; ///< of one carrier
};
RelayCounts relay_counts(int nodes, int radix);

/// Seconds that a node needs where all nodes have `bytes` for each other and relay them.
double relay_seconds(const Topology& topology, int radix, bool cuts_carriers, double bytes,
                     const Costs& costs);

/// The radix with which that takes least; 0 where no node could pass on anything.
int best_radix(const Topology& topology, uint64_t bytes, const Costs& costs);

} // namespace nodeaware
