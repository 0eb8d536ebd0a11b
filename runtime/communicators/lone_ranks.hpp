#pragma once

#include "runtime/job/operation.hpp"
#include "runtime/job/options.hpp"
#include "runtime/job/reason.hpp"
#include "strategies/topology.hpp"

#include <cstdint>
#include <optional>

namespace nodeaware {

struct World;

/// A communicator with one rank on each node, as programs have that run threads on the rest of the
/// node: there is nothing to gather, but nodes can still relay. Only in blocking exchanges of all
/// with all, for the others are of strategies that gather. What that needs is prepared late, for
/// programs make many communicators (the rows of a grid) and exchange a few times, or too much to
/// be relayed.
class LoneRanks {
  public:
    static bool may_relay(const Topology& topology) { return topology.nodes() > 2; }
    static bool may_relay(Operation operation);
    static bool may_relay(Operation operation, const Choice& choice);

    /// Another exchange by `auto`, as of Communicator::relays(): whether it may be relayed, though
    /// that has to be prepared. The same on all ranks.
    bool want(uint64_t uniform_bytes, const Topology& topology, const World& world);

    /// That these exchanges have; others have that there is one rank on each node.
    Reason obstacle = Reason::not_prepared;

  private:
    int exchanges_ = 0;
    std::optional<uint64_t> largest_; ///< block (bytes) that is thought to be relayed faster
};

} // namespace nodeaware
