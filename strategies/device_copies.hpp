#pragma once

#include "strategies/strategy.hpp"
#include "strategies/traffic.hpp"

#include <cstdint>
#include <vector>

namespace nodeaware {

/// True if bytes of a device that one rank has are thought to be on the host earlier when it copies
/// them within the device, to where `readers` others help it to copy them from: T_copy of "split +
/// DD" against that of "split + MD" in table 6 of the node-aware strategies paper. The copy within
/// the device counts with its latency alone; tables know no more of it.
bool sharing_pays(uint64_t bytes, int readers, const Costs& costs);
/// For some number of bytes, whoever helps.
bool sharing_may_pay(const Costs& costs);

/// Who copies what from devices into the pieces that leave a node: the owner of the memory or, as
/// far as its slab has room, another rank that has less to copy. Asked for all segments of a node
/// in one order, it tells all its ranks the same.
class DeviceCopies {
  public:
    DeviceCopies() = default;
    DeviceCopies(const NodeTraffic& traffic, const Parameters& parameters);

    /// Some segments may be another's to copy.
    bool are_shared() const { return !slabs_.empty(); }

    /// The rank that copies `bytes` of the block to `place` in the arena; if that is not the owner,
    /// from the same place in the owner's slab, which so is used again when that in the arena is.
    int copier_of(const Block& block, uint64_t bytes, uint64_t place);

    /// Ranks that copy from one device at a time: of more the papers have measured no benefit.
    static constexpr int most_copiers = 4;

  private:
    const SharedSlab* slab_of(const Block& block) const;
    uint64_t& load_of(int rank) { return loads_[static_cast<size_t>(topology_->local_of(rank))]; }

    const Topology* topology_ = nullptr;
    std::vector<const SharedSlab*> slabs_;
    std::vector<uint64_t> loads_; ///< bytes that each rank of the node is to copy
};

} // namespace nodeaware
