#include "strategies/device_copies.hpp"

#include "strategies/forecast.hpp"
#include "strategies/piece_layout.hpp"

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
        if (is_wanted && !slab.readers.empty()) { owners_.push_back({&slab, 0, 0, 0}); }
    }
}

void DeviceCopies::begin_pair() {
    for (Owner& owner : owners_) {
        owner.of_other_pairs += owner.of_pair;
        owner.of_pair = 0;
    }
}

void DeviceCopies::begin_window() {
    for (Owner& owner : owners_) { owner.of_window = 0; }
}

DeviceCopies::Owner* DeviceCopies::owner_of(const Block& block) {
    for (Owner& owner : owners_) {
        if (owner.slab->owner == block.source) {
            return block.bytes > owner.slab->above ? &owner : nullptr;
        }
    }
    return nullptr;
}

/// The owner, unless another one is behind it by more than this; so ranks that have as much to copy
/// each do so without a slab.
DeviceCopies::Part DeviceCopies::part_of(const Block& block, uint64_t bytes) {
    Owner* const owner = owner_of(block);
    if (owner == nullptr) { return {block.source, 0}; }
    const auto& readers = owner->slab->readers;
    const int reader = *std::min_element(readers.begin(), readers.end(),
                                         [&](int a, int b) { return load_of(a) < load_of(b); });
    const uint64_t place = owner->of_other_pairs + owner->of_window;
    const bool has_room = place <= owner->slab->bytes && bytes <= owner->slab->bytes - place;
    if (!has_room || load_of(reader) + bytes >= load_of(block.source)) { return {block.source, 0}; }
    load_of(block.source) -= bytes;
    load_of(reader) += bytes;
    owner->of_window += aligned_slot(bytes);
    owner->of_pair = std::max(owner->of_pair, owner->of_window);
    return {reader, place};
}

} // namespace nodeaware
