#pragma once

#include "strategies/costs.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace nodeaware {

/// What messages between nodes cost the ranks of one of these nodes: the one place where the
/// library adds up costs. T = alpha m + max(s_node / R_N, s beta) of the busiest rank (equation 4.3
/// of the node-aware strategies paper), where the node's message rate bounds alpha m from below.
class NodeLoad {
  public:
    NodeLoad(size_t ranks, const Costs& costs) : costs_(costs), latency_(ranks), transfer_(ranks) {}

    /// A message that rank `local` of the node sends or receives, or its share of one that several
    /// may send.
    void add_message(int local, uint64_t bytes, double share = 1) {
        add(local, bytes, share, costs_.of(bytes), costs_.node_per_byte);
    }
    /// One that goes straight from device to device.
    void add_device_message(int local, uint64_t bytes) {
        add(local, bytes, 1, costs_.of_devices(bytes), costs_.devices.node_per_byte);
    }

    /// Seconds if the node exchanges as much with each of `partners` nodes, and its ranks share
    /// that out as evenly as they can.
    double latency(int partners = 1) const {
        return std::max(busiest(latency_, partners), gaps_ * partners);
    }
    double transfer(int partners = 1) const {
        return std::max(busiest(transfer_, partners), injection_ * partners);
    }

  private:
    void add(int local, uint64_t bytes, double share, const ProtocolCosts& protocol,
             double node_per_byte) {
        const auto size = static_cast<double>(bytes);
        latency_[static_cast<size_t>(local)] += share * protocol.latency;
        transfer_[static_cast<size_t>(local)] += share * protocol.per_byte * size;
        gaps_ += share * protocol.gap;
        injection_ += share * size * node_per_byte;
    }

    static double busiest(const std::vector<double>& loads, int partners) {
        if (loads.empty()) { return 0; }
        const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
        return std::max(*std::max_element(loads.begin(), loads.end()),
                        sum * partners / static_cast<double>(loads.size()));
    }

    const Costs& costs_;
    std::vector<double> latency_;
    std::vector<double> transfer_;
    double gaps_ = 0;
    double injection_ = 0; ///< seconds
};

} // namespace nodeaware
