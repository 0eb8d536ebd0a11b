#pragma once

#include "tuning/model_table.hpp"

namespace nodeaware::tuning {

/// A table of round numbers, from which times can be computed in the head. Sizes up to 100 bytes
/// are short, up to 1000 eager.
inline ModelTable toy_table() {
    ModelTable table;
    table.name = "toy";
    const auto host = [&](Locality where, Postal brief, Postal eager, Postal rendezvous) {
        table.path(Memory::host, where) = {{brief, eager, rendezvous}, 100, 1000};
    };
    host(Locality::socket, {1, 0.01}, {2, 0.02}, {4, 0.001});
    host(Locality::node, {3, 0.03}, {5, 0.05}, {8, 0.002});
    host(Locality::network, {10, 0.1}, {20, 0.2}, {40, 0.004});
    const auto device = [&](Locality where, Postal eager, Postal rendezvous) {
        table.path(Memory::device, where) = {{std::nullopt, eager, rendezvous}, 0, 1000};
    };
    device(Locality::socket, {6, 0.06}, {9, 0.003});
    device(Locality::node, {7, 0.07}, {12, 0.005});
    device(Locality::network, {30, 0.3}, {50, 0.006});
    table.inverse_injection_rate = {0.001, 0};
    table.copies = {{Direction::host_to_device, true, 1, {100, 0.01}},
                    {Direction::device_to_host, true, 1, {200, 0.02}},
                    {Direction::host_to_device, true, 4, {110, 0.03}},
                    {Direction::device_to_host, true, 4, {220, 0.04}},
                    {Direction::device_to_host, false, 1, {999, 0.99}}};
    table.shared_memory = SharedMemory{100, 2};
    table.network = Network{0.5, 0.1, {{"X", 0.25, {}}}};
    return table;
}

} // namespace nodeaware::tuning
