#include "runtime/device/slabs.hpp"

#include "runtime/device/contexts.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/job/log.hpp"
#include "runtime/mpi/mpi.hpp"

#include <algorithm>
#include <chrono>
#include <unistd.h>

namespace nodeaware::device {

namespace {

constexpr unsigned lazy_peer_access = 1; // which must be said

/// What the driver calls the memory at an address, and nothing after it; 0: nothing.
uint64_t buffer_at(uint64_t address) {
    uint64_t buffer = 0;
    int attribute = attribute_buffer_id;
    void* value = &buffer;
    const int code = driver()->attributes_of(1, &attribute, &value, address);
    return code == 0 ? buffer : 0;
}

bool succeeds(int code, const char* function) {
    if (code != 0) { log(LogLevel::info, "{}", driver()->text_of(code, function)); }
    return code == 0;
}

std::array<char, 32> pci_id_of(int ordinal) {
    std::array<char, 32> text{};
    int device = 0;
    const bool is_known =
        driver()->device_get(&device, ordinal) == 0 &&
        driver()->device_pci_id(text.data(), static_cast<int>(text.size()) - 1, device) == 0;
    return is_known ? text : std::array<char, 32>{};
}

/// What this process calls the device, if it is in use; else -1.
int ordinal_of(const std::array<char, 32>& pci_id) {
    int devices = 0;
    if (driver()->device_count(&devices) != 0) { return -1; }
    for (int ordinal = 0; ordinal < devices; ++ordinal) {
        if (pci_id_of(ordinal) == pci_id) { return is_in_use(ordinal) ? ordinal : -1; }
    }
    return -1;
}

uint64_t new_id() {
    static uint64_t last = 0;
    const auto time = std::chrono::steady_clock::now().time_since_epoch().count();
    if (last == 0) { last = static_cast<uint64_t>(getpid()) << 40U ^ static_cast<uint64_t>(time); }
    return ++last;
}

/// Runs `work` in the context of a place; false if that cannot be entered.
template <class Work> bool in_context_of(const Place& place, Work work) {
    try {
        const Copies context(place);
        return work();
    } catch (const MpiError&) { return false; }
}

} // namespace

uint64_t Slabs::id_in(const Place& place, uint64_t most_bytes) {
    if (!driver()->can_share()) { return 0; }
    const auto found = std::find_if(slabs_.begin(), slabs_.end(), [&](const Slab& slab) {
        return slab.place.context == place.context && slab.place.ordinal == place.ordinal;
    });
    if (found != slabs_.end()) {
        if (found->is_refused) { return 0; }
        if (found->address == 0 || buffer_at(found->address) == found->buffer) {
            return found->offer.id;
        }
        slabs_.erase(found);
    }
    Slab slab;
    slab.place = place;
    slab.offer.id = new_id();
    slab.offer.bytes = most_bytes;
    slab.offer.process = static_cast<uint64_t>(getpid());
    slab.offer.context = reinterpret_cast<uintptr_t>(place.context);
    slab.offer.device = pci_id_of(place.ordinal);
    slabs_.push_back(slab);
    return slab.offer.id;
}

Slabs::Slab* Slabs::find(uint64_t id) {
    const auto found = std::find_if(slabs_.begin(), slabs_.end(),
                                    [id](const Slab& slab) { return slab.offer.id == id; });
    return found == slabs_.end() ? nullptr : &*found;
}

bool Slabs::make(Slab& slab) {
    return in_context_of(slab.place, [&] {
        if (!succeeds(driver()->allocate(&slab.address, slab.offer.bytes), "cuMemAlloc")) {
            slab.address = 0;
            return false;
        }
        slab.buffer = buffer_at(slab.address);
        if (slab.buffer != 0 && succeeds(driver()->export_memory(&slab.offer.handle, slab.address),
                                         "cuIpcGetMemHandle")) {
            return true;
        }
        driver()->free(slab.address);
        slab.address = 0;
        return false;
    });
}

SlabOffer Slabs::offer(uint64_t id) {
    Slab* const slab = find(id);
    if (slab == nullptr) { return {}; }
    slab->is_refused = slab->offer.device.front() == 0 || (slab->address == 0 && !make(*slab));
    return slab->is_refused ? SlabOffer{} : slab->offer;
}

uint64_t Slabs::address(uint64_t id) const {
    for (const Slab& slab : slabs_) {
        if (slab.offer.id == id) { return slab.address; }
    }
    return 0;
}

/// What is gone is not freed: something else may lie there.
void Slabs::close() {
    for (const Slab& slab : slabs_) {
        if (slab.address == 0 || buffer_at(slab.address) != slab.buffer) { continue; }
        in_context_of(slab.place, [&] { return driver()->free(slab.address) == 0; });
    }
    slabs_.clear();
}

bool Imports::try_to_open(const SlabOffer& offer, int ordinal, Opened& opened) {
    opened.offer = offer;
    opened.import.place.is_on_device = true;
    opened.import.place.ordinal = ordinal;
    return in_context_of(opened.import.place, [&] {
        uint64_t& address = opened.import.address;
        if (!succeeds(driver()->open_memory(&address, offer.handle, lazy_peer_access),
                      "cuIpcOpenMemHandle")) {
            return false;
        }
        opened.import.place.allocation = {address, offer.bytes};
        opened.buffer = buffer_at(address);
        if (opened.buffer == 0) { driver()->close_memory(address); }
        return opened.buffer != 0;
    });
}

bool Imports::open(const SlabOffer& offer) {
    if (opened_.contains(offer.id)) { return true; }
    if (driver() == nullptr || !driver()->can_share() || refused_.contains(offer.id)) {
        return false;
    }
    std::erase_if(opened_, [&](const auto& entry) {
        const SlabOffer& other = entry.second.offer;
        const bool is_replaced = other.process == offer.process && other.context == offer.context &&
                                 other.device == offer.device;
        if (is_replaced) { close(entry.second); }
        return is_replaced;
    });
    const int ordinal = ordinal_of(offer.device);
    if (ordinal < 0) { return false; } // it may have a context there another time
    Opened opened;
    if (!try_to_open(offer, ordinal, opened)) {
        refused_.insert(offer.id);
        return false;
    }
    opened_.emplace(offer.id, opened);
    return true;
}

const Imports::Import* Imports::find(uint64_t id) const {
    const auto found = opened_.find(id);
    return found == opened_.end() ? nullptr : &found->second.import;
}

uint64_t Imports::lost() {
    lost_ += std::erase_if(opened_, [](const auto& entry) {
        const Opened& opened = entry.second;
        return buffer_at(opened.import.address) != opened.buffer;
    });
    return lost_;
}

bool Imports::close(const Opened& opened) {
    const Import& import = opened.import;
    const bool is_there =
        buffer_at(import.address) == opened.buffer && is_in_use(import.place.ordinal);
    if (!is_there) { return true; } // it is gone with its context
    return in_context_of(import.place, [&] {
        return succeeds(driver()->close_memory(import.address), "cuIpcCloseMemHandle");
    });
}

bool Imports::close() {
    bool are_all = true;
    for (const auto& [id, opened] : opened_) { are_all = close(opened) && are_all; }
    opened_.clear();
    return are_all;
}

Slabs& slabs() {
    static auto* const all = new Slabs;
    return *all;
}

Imports& imports() {
    static auto* const all = new Imports;
    return *all;
}

} // namespace nodeaware::device
