#include "strategies/strategy.hpp"

#include <numeric>

namespace nodeaware {

/// Section 2.3.1 of the node-aware strategies paper.
Plan plan_three_step(const PairTraffic& pair, const Parameters& /*parameters*/) {
    std::vector<uint32_t> all(pair.blocks.size());
    std::iota(all.begin(), all.end(), 0U);
    Plan plan;
    deal_pieces(pair, all, 1, plan);
    return plan;
}

} // namespace nodeaware
