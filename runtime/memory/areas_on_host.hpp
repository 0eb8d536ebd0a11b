#pragma once

#include "runtime/device/host_memory.hpp"
#include "runtime/memory/datatype.hpp"

#include <vector>

namespace nodeaware {

/// Messages whose memory is a device's, on the host for a while: what lies near each other in one
/// allocation is an area, and is copied at once.
class AreasOnHost {
  public:
    struct Limits {
        uint64_t message; ///< bytes of one
        uint64_t near;    ///< bytes between two that are copied as well, instead of a copy more
        uint64_t room;    ///< bytes of all areas
    };
    /// A copy costs as much as some 100 KB more of it do (node_aware_strategies_heterogeneous,
    /// Table 5).
    static constexpr Limits small = {128 << 10, 16 << 10, 64 << 20};

    AreasOnHost() = default;
    /// Copies nothing. Where memory runs out there are none: a rank that cannot have them goes on
    /// without, for others wait for it.
    AreasOnHost(const std::vector<UserMemory>& memories, const Limits& limits);

    /// Copies all areas here. Throws MpiError.
    void load() const;
    /// Copies the messages back, and nothing that lies between. Throws MpiError, std::bad_alloc.
    void store(MPI_Comm comm) const;
    /// Puts the memory here in the place of that of the device.
    void replace(std::vector<UserMemory>& memories) const;

  private:
    /// Some messages of one allocation, and where they are on the host.
    struct Area {
        device::Place place;
        device::Span span;
        std::vector<size_t> messages; ///< of the list
        uint64_t bytes = 0;           ///< of them
        uint64_t offset = 0;          ///< in the memory of all areas
    };

    void make(const std::vector<UserMemory>& memories, const Limits& limits);
    void find(const std::vector<UserMemory>& memories, const Limits& limits);
    std::byte* at(const Area& area) const { return memory_.data() + area.offset; }
    UserMemory on_host(const Area& area, size_t message, std::byte* begin) const;
    std::vector<device::Span> runs_of(const Area& area, MPI_Comm comm) const;

    std::vector<Area> areas_;
    std::vector<UserMemory> on_device_; ///< the list as it was
    device::HostMemory memory_;
};

} // namespace nodeaware
