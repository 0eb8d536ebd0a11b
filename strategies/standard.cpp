#include "strategies/strategy.hpp"

namespace nodeaware {

Plan plan_standard(const PairTraffic& pair, const Parameters& /*parameters*/) {
    Plan plan;
    for (uint32_t i = 0; i < pair.messages.size(); ++i) { plan.send_directly(i); }
    return plan;
}

} // namespace nodeaware
