// The part of MpiTransport that moves bytes of the application's memory: on the host at once, of
// devices later.

#include "runtime/collectives/mpi_transport.hpp"
#include "runtime/device/host_memory.hpp"
#include "runtime/device/list_kernel.hpp"
#include "runtime/device/sharing.hpp"
#include "runtime/device/slabs.hpp"
#include "runtime/memory/device_copy.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace nodeaware {

namespace {

/// Whether so many bytes are to go from a device to itself by this memory; false, too, where there
/// is none that is pinned.
bool takes_stage(uint64_t bytes, device::HostMemory& stage) {
    if (!device::is_faster_by_host(bytes)) { return false; }
    try {
        stage = device::HostMemory(bytes);
        return stage.can_be_pinned();
    } catch (const std::bad_alloc&) { return false; }
}

using Copy = device::LateCopies::Copy;
using Direction = device::LateCopies::Direction;

uint64_t address_of(const std::byte* bytes) { return reinterpret_cast<uintptr_t>(bytes); }

} // namespace

bool MpiTransport::pack(uint32_t item, uint64_t offset, uint64_t bytes, std::byte* to,
                        uint32_t step) {
    const UserMemory& memory = exchange_.outgoing[item];
    bool is_over = true;
    guarded([&] {
        if (memory.dense_on_device != nullptr) {
            copy_later(memory,
                       {Direction::to_host, address_of(to),
                        address_of(memory.dense_on_device) + offset, bytes, memory_.pinned()},
                       step);
            is_over = false;
            return;
        }
        if (copy_in_runs(
                memory,
                {Direction::to_host, address_of(to), 0, bytes, memory_.pinned(), nullptr, offset},
                step)) {
            is_over = false;
            return;
        }
        if (copy_from(memory, offset, bytes, to)) { return; }
        if (bytes == memory.bytes) { return pack_user_memory(memory, to, comm_); }
        Staged& staged = staged_outgoing_[item];
        if (staged.bytes.empty()) {
            staged.bytes.resize(memory.bytes);
            pack_user_memory(memory, staged.bytes.data(), comm_);
        }
        std::copy_n(staged.bytes.data() + offset, bytes, to);
        staged.done += bytes;
        if (staged.done == memory.bytes) { staged_outgoing_.erase(item); }
    });
    return is_over;
}

bool MpiTransport::unpack(uint32_t item, uint64_t offset, uint64_t bytes, const std::byte* from,
                          uint32_t step) {
    const UserMemory& memory = exchange_.incoming[item];
    bool is_over = true;
    guarded([&] {
        if (memory.dense_on_device != nullptr) {
            copy_later(memory,
                       {Direction::to_device, address_of(memory.dense_on_device) + offset,
                        address_of(from), bytes, memory_.pinned()},
                       step);
            is_over = false;
            return;
        }
        if (copy_in_runs(memory,
                         {Direction::to_device, 0, address_of(from), bytes, memory_.pinned(),
                          nullptr, offset},
                         step)) {
            is_over = false;
            return;
        }
        if (copy_to(memory, offset, bytes, from)) { return; }
        if (bytes == memory.bytes) { return unpack_user_memory(memory, from, comm_); }
        Staged& staged = staged_incoming_[item];
        if (staged.bytes.empty()) { staged.bytes.resize(memory.bytes); }
        std::copy_n(from, bytes, staged.bytes.data() + offset);
        staged.done += bytes;
        if (staged.done == memory.bytes) {
            unpack_user_memory(memory, staged.bytes.data(), comm_);
            staged_incoming_.erase(item);
        }
    });
    return is_over;
}

bool MpiTransport::stage(uint32_t item, uint64_t offset, uint64_t bytes, uint64_t slab,
                         uint32_t step) {
    bool is_over = true;
    guarded([&] {
        const UserMemory& memory = exchange_.outgoing[item];
        const uint64_t own = device::slabs().address(exchange_.traffic.slab);
        if (own == 0 || memory.dense_on_device == nullptr) { return fail(MPI_ERR_OTHER); }
        copy_later(memory,
                   {Direction::within_device, own + slab,
                    address_of(memory.dense_on_device) + offset, bytes, nullptr},
                   step);
        is_over = false;
    });
    return is_over;
}

bool MpiTransport::fetch(int peer, uint64_t slab, uint64_t bytes, std::byte* to, uint32_t step) {
    bool is_over = true;
    guarded([&] {
        const auto local = static_cast<size_t>(topology_.local_of(peer));
        const auto* const import = device::imports().find(slabs_->at(local));
        if (import == nullptr) { return fail(MPI_ERR_OTHER); }
        copies_.add(
            import->place,
            {Direction::to_host, address_of(to), import->address + slab, bytes, memory_.pinned()},
            step);
        is_over = false;
    });
    return is_over;
}

void MpiTransport::pack_now(uint32_t item, std::byte* to) {
    guarded([&] { pack_user_memory(exchange_.outgoing[item], to, comm_); });
}

void MpiTransport::unpack_now(uint32_t item, const std::byte* from) {
    guarded([&] { unpack_user_memory(exchange_.incoming[item], from, comm_); });
}

bool MpiTransport::copy(uint32_t item, uint32_t other_item, uint64_t bytes, uint32_t step) {
    const UserMemory& from = exchange_.outgoing[item];
    const UserMemory& to = exchange_.incoming[other_item];
    bool is_over = true;
    guarded([&] {
        if (!from.place.is_on_device && !to.place.is_on_device) {
            return copy_on_host(item, other_item, bytes);
        }
        const bool are_dense = from.dense_on_device != nullptr && to.dense_on_device != nullptr;
        const bool is_within = are_dense && device::are_on_one_device(from.place, to.place);
        device::HostMemory stage;
        if (is_within && !takes_stage(from.bytes, stage)) {
            copy_later(from,
                       {Direction::within_device, address_of(to.dense_on_device),
                        address_of(from.dense_on_device), bytes, nullptr},
                       step);
            is_over = false;
            return;
        }
        ByHost& held = by_host_[step];
        held.bytes = is_within ? std::move(stage) : device::HostMemory(from.bytes);
        held.bytes.pin(from.place.is_on_device ? from.place : to.place);
        held.to = &to;
        held.size = bytes;
        is_over = fetch(from, held, step) && deliver(held, step);
        if (is_over) { by_host_.erase(step); }
    });
    return is_over;
}

void MpiTransport::copy_on_host(uint32_t item, uint32_t other_item, uint64_t bytes) {
    const UserMemory& from = exchange_.outgoing[item];
    const UserMemory& to = exchange_.incoming[other_item];
    if (from.dense != nullptr) {
        unpack(other_item, 0, bytes, from.dense, Step::not_listed);
    } else if (to.dense != nullptr) {
        pack(item, 0, bytes, to.dense, Step::not_listed);
    } else {
        std::vector<std::byte> buffer(from.bytes);
        pack_user_memory(from, buffer.data(), comm_);
        unpack(other_item, 0, bytes, buffer.data(), Step::not_listed);
    }
}

void MpiTransport::copy_later(const UserMemory& memory, const Copy& copy, uint32_t step) {
    copies_.add(memory.place, copy, step);
    packing_ += step == Step::not_listed ? 1 : 0;
}

/// Memory with gaps, where devices reach that of the host. False: the rank has to wait for it. One
/// by one its runs are not copied from the device: MPI finds them in a copy of all that it spans.
bool MpiTransport::copy_in_runs(const UserMemory& memory, Copy copy, uint32_t step) {
    if (!memory.place.is_on_device || memory.dense_on_device != nullptr) { return false; }
    const uint64_t host = copy.direction == Direction::to_host ? copy.to : copy.from;
    if (copy.mapping == nullptr && !device::is_pinned(memory.place, {host, copy.bytes})) {
        return false;
    }
    if (copy.direction == Direction::to_host && !device::list_kernel::is_usable(memory.place)) {
        return false;
    }
    auto found = runs_.find(&memory);
    if (found == runs_.end()) { found = runs_.emplace(&memory, runs_of(memory, comm_)).first; }
    copy.runs = &found->second;
    copy_later(memory, copy, step);
    return true;
}

/// Copies a message to memory on the host; false: end_copy() tells when it is there.
bool MpiTransport::fetch(const UserMemory& memory, ByHost& held, uint32_t step) {
    if (copy_in_runs(memory, {Direction::to_host, address_of(held.bytes.data()), 0, memory.bytes},
                     step)) {
        return false;
    }
    if (memory.dense_on_device == nullptr) {
        pack_user_memory(memory, held.bytes.data(), comm_);
        held.are_here = true;
        return true;
    }
    copy_later(memory,
               {Direction::to_host, address_of(held.bytes.data()),
                address_of(memory.dense_on_device), memory.bytes, nullptr},
               step);
    return false;
}

/// And from there to where it goes.
bool MpiTransport::deliver(ByHost& held, uint32_t step) {
    held.are_here = true;
    if (held.size == 0) { return true; }
    if (copy_in_runs(*held.to, {Direction::to_device, 0, address_of(held.bytes.data()), held.size},
                     step)) {
        return false;
    }
    if (held.to->dense_on_device == nullptr) {
        unpack_part(*held.to, held.bytes.data(), held.size, comm_);
        return true;
    }
    copy_later(*held.to,
               {Direction::to_device, address_of(held.to->dense_on_device),
                address_of(held.bytes.data()), held.size, nullptr},
               step);
    return false;
}

void MpiTransport::finish_copies() {
    copies_.finish();
    end_copies();
}

void MpiTransport::end_copies() {
    copies_.poll([this](uint32_t step) { end_copy(step); });
    if (copies_.error() != MPI_SUCCESS) { fail(copies_.error()); }
    begin_held_sends();
}

void MpiTransport::end_copy(uint32_t step) {
    if (step == Step::not_listed) {
        --packing_;
        return;
    }
    uint64_t bytes = 0; // of a message that came
    const auto found = by_host_.find(step);
    if (found != by_host_.end()) {
        ByHost& held = found->second;
        const bool were_here = std::exchange(held.are_here, true);
        if (held.to == nullptr) { return; } // begin_held_sends() sends it
        bool is_over = true;
        if (!were_here) {
            guarded([&] { is_over = deliver(held, step); });
        }
        if (!is_over) { return; }
        bytes = held.size;
        by_host_.erase(found);
    }
    untold_.push_back({step, bytes, false});
}

} // namespace nodeaware
