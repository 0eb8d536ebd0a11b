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
    bool are_shared() const { return !owners_.empty(); }

    /// Slabs have memory for the windows of a pair one after the other, and for all pairs.
    void begin_pair();
    void begin_window();

    struct Part {
        int copier = 0;
        uint64_t slab = 0; ///< offset there, if the copier is not the owner
    };
    Part part_of(const Block& block, uint64_t bytes);

    /// Ranks that copy from one device at a time: of more the papers have measured no benefit.
    static constexpr int most_copiers = 4;

  private:
    struct Owner {
        const SharedSlab* slab = nullptr;
        uint64_t of_other_pairs = 0; ///< bytes of the slab
        uint64_t of_pair = 0;        ///< of the largest of its windows
        uint64_t of_window = 0;
    };

    Owner* owner_of(const Block& block);
    uint64_t& load_of(int rank) { return loads_[static_cast<size_t>(topology_->local_of(rank))]; }

    const Topology* topology_ = nullptr;
    std::vector<Owner> owners_;
    std::vector<uint64_t> loads_; ///< bytes that each rank of the node is to copy
};

} // namespace nodeaware
