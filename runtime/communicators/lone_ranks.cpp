#include "runtime/communicators/lone_ranks.hpp"

#include "runtime/communicators/inner_communicator.hpp"
#include "strategies/forecast.hpp"
#include "strategies/relay.hpp"

namespace nodeaware {

namespace {

constexpr int few_exchanges = 3;

bool is_relayed_faster(const Topology& topology, uint64_t bytes, const Parameters& usual,
                       int radix_of_user) {
    static const Strategy* const relaying = find_strategy("radix");
    Parameters parameters = usual;
    if (radix_of_user == 0) { parameters.radix = best_radix(topology, bytes, usual.costs); }
    if (Relay(topology, parameters).limit() < bytes) { return false; }
    return predicted_uniform_seconds(topology, bytes, relaying, parameters) <
           predicted_uniform_seconds(topology, bytes, nullptr, parameters);
}

/// By powers of two; 0: none.
uint64_t largest_relayed(const Topology& topology, const World& world) {
    const Parameters parameters = parameters_of(world, topology).front();
    uint64_t largest = 0;
    for (uint64_t bytes = 1; bytes <= largest_piece; bytes *= 2) {
        if (!is_relayed_faster(topology, bytes, parameters, world.options.radix)) { break; }
        largest = bytes;
    }
    return largest;
}

} // namespace

bool LoneRanks::may_relay(Operation operation) {
    return operation == Operation::alltoall || operation == Operation::alltoallv ||
           operation == Operation::alltoallw;
}

bool LoneRanks::may_relay(Operation operation, const Choice& choice) {
    const bool may_choose = choice.kind == Choice::Kind::automatic;
    const bool is_asked_for = choice.kind == Choice::Kind::fixed && choice.strategy->relays();
    return may_relay(operation) && (may_choose || is_asked_for);
}

/// Nothing is computed for communicators of few exchanges.
bool LoneRanks::want(uint64_t uniform_bytes, const Topology& topology, const World& world) {
    if (obstacle == Reason::not_prepared && ++exchanges_ < few_exchanges) { return false; }
    if (!largest_) { largest_ = largest_relayed(topology, world); }
    return *largest_ > 0 && uniform_bytes < 2 * *largest_;
}

} // namespace nodeaware
