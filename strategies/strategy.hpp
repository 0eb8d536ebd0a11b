#pragma once

#include "strategies/costs.hpp"
#include "strategies/plan.hpp"

#include <string_view>
#include <vector>

namespace nodeaware {

/// Who copies large messages of devices into the pieces that leave a node.
enum class DeviceCopy : uint8_t {
    automatic, ///< as is thought cheaper
    md,        ///< their owner, once, to where any rank of the node sends them from
    dd         ///< several ranks, parts of what the owner has copied within the device
};

/// What strategies may depend on beside the traffic of the pair; the same on all ranks of the job.
struct Parameters {
    /// Largest message that `split` and `hybrid` form from several blocks (bytes).
    uint64_t message_cap = 0;
    /// `hybrid`: messages above this go straight from user memory to user memory (bytes).
    uint64_t direct_bytes = 0;
    /// On-node messages above this go through MPI instead of the arena (bytes).
    uint64_t local_direct_bytes = 0;
    /// Arena memory of one node for one operation (bytes).
    uint64_t arena_bytes = 0;
    /// `model`: what the candidates are compared by.
    Costs costs;
    DeviceCopy device_copy = DeviceCopy::md;
    /// dd: most memory that a rank takes of a device for it (bytes).
    uint64_t device_slab_bytes = 0;
    /// `radix`: base of the digits by which nodes relay what they have for each other; below 2:
    /// they do not. Predictions take 0 for what is best for the traffic.
    int radix = 2;
    /// `radix`: what MPI does not send at once is cut, where that is thought faster.
    bool cuts_carriers = true;
};

/// One way to move the traffic of a node pair. Pure: the plan depends on the arguments alone, and
/// both nodes of the pair pass the same ones.
struct Strategy {
    std::string_view name;
    std::string_view doc;
    Plan (*plan)(const PairTraffic& pair, const Parameters& parameters);

    /// Nodes relay what others have for each other, and all of them take part.
    bool relays() const;
};

#define STRATEGY(name, doc) Plan plan_##name(const PairTraffic& pair, const Parameters& parameters);
#include "strategies/strategies.def"

/// Every strategy, in the order in which they are listed to users.
const std::vector<Strategy>& strategies();

/// The strategy of that name, or nullptr.
const Strategy* find_strategy(std::string_view name);

} // namespace nodeaware
