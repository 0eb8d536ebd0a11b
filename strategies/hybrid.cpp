#include "strategies/strategy.hpp"

namespace nodeaware {

/// A large message gains nothing from being gathered: its own cost per byte outweighs a latency
/// saved, and going straight saves two copies. A large block for several ranks of the node
/// (allgather) still crosses the network only once.
Plan plan_hybrid(const PairTraffic& pair, const Parameters& parameters) {
    Plan plan;
    std::vector<uint32_t> small;
    uint64_t small_bytes = 0;
    for (uint32_t i = 0; i < pair.blocks.size(); ++i) {
        const Block& block = pair.blocks[i];
        if (block.messages == 1 && block.bytes > parameters.direct_bytes) {
            plan.send_directly(block.first_message);
        } else {
            small.push_back(i);
            small_bytes += block.bytes;
        }
    }
    if (small.size() == 1 && pair.blocks[small.front()].messages == 1) {
        plan.send_directly(pair.blocks[small.front()].first_message); // nothing to gather it with
        return plan;
    }
    deal_pieces(pair, small, pieces_under_cap(pair, small_bytes, parameters.message_cap), plan);
    return plan;
}

} // namespace nodeaware
