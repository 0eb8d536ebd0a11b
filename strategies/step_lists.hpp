#pragma once

#include "strategies/relay.hpp"
#include "strategies/schedule.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace nodeaware {

/// A schedule while it is compiled: its steps by what they are for, and what it has used so far of
/// the memory and the counters of its node. All ranks of the node use the same.
struct StepLists {
    Schedule schedule;
    std::vector<Step> receives;
    std::vector<Step> passes; ///< what came and goes on
    std::vector<Step> sends;
    std::vector<Step> stages; ///< others wait for them
    std::vector<Step> rest;
    uint64_t next_slot = 0;

    int32_t new_counter() { return static_cast<int32_t>(schedule.counters++); }
    uint64_t new_slot(uint64_t bytes) { return std::exchange(next_slot, next_slot + bytes); }
};

/// The part of rank `rank` in relaying what the traffic of its node has for others.
void add_carriers(const Topology& topology, const NodeTraffic& traffic, const Relay& relay,
                  int rank, StepLists& lists);

} // namespace nodeaware
