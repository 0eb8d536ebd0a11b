#include "strategies/strategy.hpp"

#include <algorithm>

namespace nodeaware {

const std::vector<Strategy>& strategies() {
    static const std::vector<Strategy> list = {
#define STRATEGY(name, doc) {#name, doc, plan_##name},
#include "strategies/strategies.def"
    };
    return list;
}

bool Strategy::relays() const { return plan == plan_radix; }

const Strategy* find_strategy(std::string_view name) {
    const auto& list = strategies();
    const auto found = std::find_if(
        list.begin(), list.end(), [&](const Strategy& strategy) { return strategy.name == name; });
    return found == list.end() ? nullptr : &*found;
}

} // namespace nodeaware
