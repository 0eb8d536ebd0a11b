#pragma once

#include "strategies/costs.hpp"
#include "strategies/plan.hpp"
#include "strategies/strategy.hpp"

#include <functional>
#include <string>
#include <vector>

namespace nodeaware {

/// One way to move the traffic of a node pair, and what it is thought to cost.
struct Candidate {
    enum class Kind { pieces, two_step };
    Kind kind = Kind::pieces;
    /// Blocks above this (that only one rank wants) go straight to their destination.
    uint64_t direct_above = 0;
    /// Messages that the other blocks are gathered into; kind two_step: one for each source.
    uint64_t pieces = 0;
    double seconds = 0;
    uint64_t messages = 0; ///< between the nodes
};

/// "standard", "two_step", "three_step", "split" or "hybrid": the strategy that the candidate is a
/// case of.
std::string name_of(const Candidate& candidate);

/// Seconds for all exchanges of a node if its exchange with each other node is like this pair's:
/// T = alpha m + max(s_node / R_N, s beta) of the busiest rank (equation 4.3 of the node-aware
/// strategies paper), where the node's message rate bounds alpha m from below, and the library's
/// own copies into and out of shared memory. Where devices are used (Costs::devices), all memory
/// counts as theirs, and of T_copy (4.5) for what is staged the first copy at one end and the last
/// at the other are added, while the others and the network go on at the same time; what goes
/// straight from device to device costs T_off-DA (4.4): the rows of table 6 of that paper, as far
/// as the library moves messages in these ways (see PairCost). What other pairs really carry is not
/// known to both ends. Predictions are not better than `trusted_difference`, so of those within it
/// of the cheapest the one with the fewest messages comes first. The others follow by their
/// seconds; standard, three_step and two_step are always among them.
inline constexpr double trusted_difference = 1.2;
std::vector<Candidate> forecast(const PairTraffic& pair, const Costs& costs);

/// Seconds that the exchange of a node is thought to take by a strategy: the larger of what it
/// sends and what it receives, from the forecasts of its pairs. nullptr: every message by itself,
/// as MPI would send them.
double predicted_seconds(const NodeTraffic& traffic, const Strategy* strategy,
                         const Parameters& parameters);

/// The same in any other way. `seconds_of`: all exchanges of a node if each is like this pair's.
double predicted_seconds(const NodeTraffic& traffic,
                         const std::function<double(const PairTraffic&)>& seconds_of);

/// Messages of `bytes` from every rank of the first node to every rank of the second one.
PairTraffic uniform_pair(const Topology& topology, uint64_t bytes);

/// The same for messages of `bytes` between all ranks, from the first two nodes: before any traffic
/// is known.
double predicted_uniform_seconds(const Topology& topology, uint64_t bytes, const Strategy* strategy,
                                 const Parameters& parameters);

/// True if gathering pays for messages of `bytes` between all ranks of the first two nodes: a
/// choice before any traffic is known.
bool gathering_pays(const Topology& topology, uint64_t bytes, const Costs& costs);

/// The plan of a candidate.
Plan plan_of(const PairTraffic& pair, const Candidate& candidate);

} // namespace nodeaware
