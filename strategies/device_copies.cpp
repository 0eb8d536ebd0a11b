#include "strategies/device_copies.hpp"

#include "strategies/forecast.hpp"

#include <algorithm>

namespace nodeaware {

bool sharing_pays(uint64_t bytes, int readers, const Costs& costs) {
    const auto copiers = static_cast<size_t>(std::min(readers + 1, DeviceCopies::most_copiers));
    const CopyCosts& alone = costs.devices.to_host_by.front();
    const CopyCosts& shared = costs.devices.to_host_by[copiers - 1];
    const double size = static_cast<double>(bytes);
    const double by_owner = alone.latency + size * alone.per_byte;
    const double by_several = alone.latency + costs.flag + shared.latency +
                              size / static_cast<double>(copiers) * shared.per_byte;
    return copiers > 1 && by_several * trusted_difference < by_owner;
}

bool sharing_may_pay(const Costs& costs) {
    constexpr uint64_t very_many = uint64_t{1} << 40U;
    for (int readers = 1; readers < DeviceCopies::most_copiers; ++readers) {
        if (sharing_pays(very_many, readers, costs)) { return true; }
    }
    return false;
}

DeviceCopies::DeviceCopies(const NodeTraffic& traffic, const Parameters& parameters) {
    const bool is_by_owner = parameters.device_copy == DeviceCopy::md;
    if (is_by_owner || traffic.slabs.empty() || traffic.outgoing.empty()) { return; }
    topology_ = traffic.outgoing.front().topology;
    loads_.resize(static_cast<size_t>(topology_->ranks_on(traffic.node)));
    for (const PairTraffic& pair : traffic.outgoing) {
        for (const Block& block : pair.blocks) {
            // Those of a host count, too: whose they are has something to do.
            if (block.bytes > traffic.slabs.front().above) { load_of(block.source) += block.bytes; }
        }
    }
    for (const SharedSlab& slab : traffic.slabs) {
        const bool is_wanted =
            parameters.device_copy == DeviceCopy::dd ||
            sharing_pays(load_of(slab.owner), static_cast<int>(slab.readers.size()),
                         parameters.costs);
        if (is_wanted && !slab.readers.empty()) { slabs_.push_back(&slab); }
    }
}

const SharedSlab* DeviceCopies::slab_of(const Block& block) const {
    for (const SharedSlab* const slab : slabs_) {
        if (slab->owner == block.source) { return block.bytes > slab->above ? slab : nullptr; }
    }
    return nullptr;
}

/// The owner, unless another one is behind it by more than this; so ranks that have as much to copy
/// each do so without a slab.
int DeviceCopies::copier_of(const Block& block, uint64_t bytes, uint64_t place) {
    const SharedSlab* const slab = slab_of(block);
    if (slab == nullptr) { return block.source; }
    const int reader = *std::min_element(slab->readers.begin(), slab->readers.end(),
                                         [&](int a, int b) { return load_of(a) < load_of(b); });
    const bool has_room = place <= slab->bytes && bytes <= slab->bytes - place;
    if (!has_room || load_of(reader) + bytes >= load_of(block.source)) { return block.source; }
    load_of(block.source) -= bytes;
    load_of(reader) += bytes;
    return reader;
}

} // namespace nodeaware
