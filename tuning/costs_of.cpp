#include "tuning/costs_of.hpp"

#include <cmath>

namespace nodeaware::tuning {

namespace {

constexpr double smallest_message = 1;
constexpr double large_message = 1 << 20;

uint64_t whole_bytes(double limit) {
    // Beyond 2^63 a double need not fit; no message is that large.
    constexpr double most = 9e18;
    return limit >= most ? std::numeric_limits<uint64_t>::max()
                         : static_cast<uint64_t>(std::floor(limit));
}

ProtocolCosts costs_of_protocol(const Path& path, size_t protocol, const ProtocolCosts& usual) {
    const Postal& postal = *path.by_protocol[protocol];
    const double part = usual.gap / usual.latency;
    return {0, postal.alpha, postal.beta, path.gaps[protocol].value_or(postal.alpha * part)};
}

void take_protocols(const Path& path, Costs& costs) {
    const Costs usual;
    // Sizes beyond those of the last protocol go by it, as in Path::protocol_of().
    size_t last = protocols.size() - 1;
    while (last > 0 && !path.by_protocol[last]) { --last; }
    const double limits[] = {path.short_limit, path.eager_limit};
    ProtocolCosts next = costs_of_protocol(path, last, usual.protocols[last]);
    for (size_t i = protocols.size(); i-- > 0;) {
        const bool present = path.by_protocol[i].has_value();
        if (present) { next = costs_of_protocol(path, i, usual.protocols[i]); }
        costs.protocols[i] = next;
        costs.protocols[i].limit = present && i < last ? whole_bytes(limits[i]) : 0;
        if (i >= last) { costs.protocols[i].limit = std::numeric_limits<uint64_t>::max(); }
    }
}

} // namespace

Costs costs_of(const ModelTable& table) {
    Costs costs;
    take_protocols(path_of(table, Memory::host, Locality::network), costs);
    costs.node_per_byte = table.inverse_injection_rate[static_cast<size_t>(Memory::host)];
    if (table.shared_memory) {
        costs.copy_per_byte = 1 / table.shared_memory->copy_rate;
        costs.flag = table.shared_memory->flag_latency;
    } else {
        const Path& node = path_of(table, Memory::host, Locality::node);
        costs.copy_per_byte = node.postal_of(large_message).beta;
        costs.flag = node.postal_of(smallest_message).alpha;
    }
    return costs;
}

} // namespace nodeaware::tuning
