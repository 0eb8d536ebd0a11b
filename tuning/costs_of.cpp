#include "tuning/costs_of.hpp"

#include <algorithm>
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

using Protocols = std::array<ProtocolCosts, 3>;

Protocols protocols_of(const Path& path) {
    const Costs usual;
    Protocols all;
    // Sizes beyond those of the last protocol go by it, as in Path::protocol_of().
    size_t last = protocols.size() - 1;
    while (last > 0 && !path.by_protocol[last]) { --last; }
    const double limits[] = {path.short_limit, path.eager_limit};
    ProtocolCosts next = costs_of_protocol(path, last, usual.protocols[last]);
    for (size_t i = protocols.size(); i-- > 0;) {
        const bool present = path.by_protocol[i].has_value();
        if (present) { next = costs_of_protocol(path, i, usual.protocols[i]); }
        all[i] = next;
        all[i].limit = present && i < last ? whole_bytes(limits[i]) : 0;
        if (i >= last) { all[i].limit = std::numeric_limits<uint64_t>::max(); }
    }
    return all;
}

/// What a further copy costs is measured of one process; of several it is the same part of alpha.
double next_of(const ModelTable& table, const Copy& copy) {
    if (copy.next) { return *copy.next; }
    const Copy* const single = find_copy(table, copy.direction, 1, copy.host);
    if (single == nullptr || !single->next || single->postal.alpha <= 0) {
        return copy.postal.alpha;
    }
    return copy.postal.alpha * *single->next / single->postal.alpha;
}

void take_copies(const ModelTable& table, Direction direction, int processes, CopyCosts& costs) {
    const Copy* const copy = find_copy(table, direction, processes, HostMemory::arena);
    if (copy == nullptr) { return; }
    const Postal postal = copy_of(table, direction, processes, HostMemory::arena);
    costs = {postal.alpha, next_of(table, *copy), postal.beta};
}

void take_devices(const ModelTable& table, int ranks_per_device, Costs& costs) {
    DeviceCosts& devices = costs.devices;
    take_copies(table, Direction::device_to_host, ranks_per_device, devices.to_host);
    take_copies(table, Direction::host_to_device, ranks_per_device, devices.to_device);
    for (size_t i = 0; i < devices.to_host_by.size(); ++i) {
        take_copies(table, Direction::device_to_host, static_cast<int>(i) + 1,
                    devices.to_host_by[i]);
    }
    const Path& straight = table.path(Memory::device, Locality::network);
    devices.protocols = straight.empty() ? costs.protocols : protocols_of(straight);
    devices.node_per_byte = straight.empty()
                                ? costs.node_per_byte
                                : table.inverse_injection_rate[static_cast<size_t>(Memory::device)];
}

} // namespace

Costs costs_of(const ModelTable& table, int ranks_per_device) {
    Costs costs;
    costs.protocols = protocols_of(path_of(table, Memory::host, Locality::network));
    costs.node_per_byte = table.inverse_injection_rate[static_cast<size_t>(Memory::host)];
    if (table.shared_memory) {
        costs.copy_per_byte = 1 / table.shared_memory->copy_rate;
        costs.flag = table.shared_memory->flag_latency;
    } else {
        const Path& node = path_of(table, Memory::host, Locality::node);
        costs.copy_per_byte = node.postal_of(large_message).beta;
        costs.flag = node.postal_of(smallest_message).alpha;
    }
    take_devices(table, ranks_per_device, costs);
    return costs;
}

int ranks_per_device(const ModelTable& table, int ranks_per_node) {
    const int devices = table.fingerprint.gpus_per_node;
    return devices == 0 ? 1 : std::max(1, (ranks_per_node + devices - 1) / devices);
}

} // namespace nodeaware::tuning
