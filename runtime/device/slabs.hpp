#pragma once

#include "runtime/device/driver.hpp"
#include "runtime/device/memory.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace nodeaware::device {

/// What a process tells others of its machine of a slab, for them to open it.
struct SlabOffer {
    uint64_t id = 0; ///< never again on the machine; 0: there is none
    uint64_t bytes = 0;
    uint64_t process = 0;
    uint64_t context = 0;          ///< of the process: where it has one slab at a time
    std::array<char, 32> device{}; ///< PCI id
    MemoryHandle handle{};
};

/// Memory of devices that is this library's, one for each context in which the process has sent
/// large messages: others of the node read there what it has copied for them. Memory of the
/// application is never exported, for what becomes of it is the application's affair. A slab is
/// kept until close(), after which nobody has it open any more; where the application has reset the
/// device before, it is forgotten. Not for several threads at a time.
class Slabs {
  public:
    /// The id of the slab in the context of that place, whether or not it has been made; 0: it
    /// cannot be had. `most_bytes`: of a slab.
    uint64_t id_in(const Place& place, uint64_t most_bytes);
    /// The slab of that id, which is made if need be. Without an id if it cannot be had.
    SlabOffer offer(uint64_t id);
    /// 0: there is none.
    uint64_t address(uint64_t id) const;
    /// Gives all of them back.
    void close();

  private:
    struct Slab {
        Place place;
        SlabOffer offer;
        uint64_t address = 0; ///< 0: not made
        uint64_t buffer = 0;  ///< what the driver calls it
        bool is_refused = false;
    };
    Slab* find(uint64_t id);
    static bool make(Slab& slab);

    std::vector<Slab> slabs_;
};

/// Slabs of other processes that this one has opened, in contexts that it had anyhow. Each is kept
/// open until close(), or until its owner offers another one for the same context.
class Imports {
  public:
    struct Import {
        Place place; ///< in this process
        uint64_t address = 0;
    };

    /// Opens a slab, unless it is open. What is refused once is not tried again.
    bool open(const SlabOffer& offer);
    /// nullptr: it is not open.
    const Import* find(uint64_t id) const;
    /// Of those that were open, how many are no more, for the application has reset the device.
    uint64_t lost();
    /// False: some stay open.
    bool close();

  private:
    struct Opened {
        Import import;
        SlabOffer offer;
        uint64_t buffer = 0;
    };
    static bool try_to_open(const SlabOffer& offer, int ordinal, Opened& opened);
    static bool close(const Opened& opened);

    std::map<uint64_t, Opened> opened_; ///< by id
    std::set<uint64_t> refused_;
    uint64_t lost_ = 0;
};

/// Those of this process; never destroyed.
Slabs& slabs();
Imports& imports();

} // namespace nodeaware::device
