#include "strategies/strategy.hpp"

#include <numeric>

namespace nodeaware {

/// Section 2.3.3, Algorithm 1 of the node-aware strategies paper.
Plan plan_split(const PairTraffic& pair, const Parameters& parameters) {
    std::vector<uint32_t> all(pair.blocks.size());
    std::iota(all.begin(), all.end(), 0U);
    Plan plan;
    deal_pieces(pair, all, pieces_under_cap(pair, pair.bytes(), parameters.message_cap), plan);
    return plan;
}

} // namespace nodeaware
