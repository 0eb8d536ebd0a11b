#include "strategies/strategy.hpp"

namespace nodeaware {

/// Section 2.3.2 of the node-aware strategies paper. The blocks are sorted by source, so those of
/// one rank are neighbours.
Plan plan_two_step(const PairTraffic& pair, const Parameters& /*parameters*/) {
    Plan plan;
    const auto& partners = pair.topology->ranks_of(pair.destination_node);
    int sender = -1;
    for (uint32_t i = 0; i < pair.blocks.size(); ++i) {
        const Block& block = pair.blocks[i];
        if (block.source != sender) {
            sender = block.source;
            const auto local = static_cast<size_t>(pair.topology->local_of(sender));
            plan.begin_piece(sender, partners[local % partners.size()]);
        }
        plan.append({i, 0, block.bytes});
    }
    return plan;
}

} // namespace nodeaware
