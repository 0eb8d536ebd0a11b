#include "strategies/strategy.hpp"

#include <algorithm>

namespace nodeaware {

const std::vector<Strategy>& strategies() {
    static const std::vector<Strategy> list = {
        {"standard", "every message goes straight to its destination", plan_standard},
        {"two_step",
         "each rank sends one message per destination node to its partner there, which hands it "
         "out",
         plan_two_step},
        {"three_step",
         "one message per node pair, gathered on the sending node and handed out on the receiving "
         "one",
         plan_three_step},
        {"gathered",
         "each rank gets one message from each node that has something for it; nonblocking "
         "operations always travel so",
         plan_gathered},
        {"split",
         "the bytes of a node pair in messages of up to message_cap bytes, dealt out over the "
         "ranks",
         plan_split},
        {"hybrid", "large messages straight to their destination, all others like split",
         plan_hybrid},
        {"model", "for each node pair the cheapest of the above, by the model of this machine",
         plan_modelled},
    };
    return list;
}

const Strategy* find_strategy(std::string_view name) {
    const auto& list = strategies();
    const auto found = std::find_if(
        list.begin(), list.end(), [&](const Strategy& strategy) { return strategy.name == name; });
    return found == list.end() ? nullptr : &*found;
}

} // namespace nodeaware
