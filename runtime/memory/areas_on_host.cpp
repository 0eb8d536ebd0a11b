#include "runtime/memory/areas_on_host.hpp"

#include "runtime/device/driver.hpp"
#include "runtime/device/submission.hpp"
#include "runtime/memory/device_copy.hpp"

#include <algorithm>
#include <new>

namespace nodeaware {

namespace {

device::Span span_of(const UserMemory& memory) {
    if (memory.dense_on_device != nullptr) {
        return {reinterpret_cast<uintptr_t>(memory.dense_on_device), memory.bytes};
    }
    return span_of(memory, inspect(memory.type));
}

uint64_t end_of(const device::Span& span) { return span.begin + span.bytes; }

struct Found {
    size_t message;
    device::Span span;
};

/// Messages that are small enough, in the order of their addresses.
std::vector<Found> find_messages(const std::vector<UserMemory>& memories, uint64_t most) {
    std::vector<Found> found;
    for (size_t i = 0; i < memories.size(); ++i) {
        const UserMemory& memory = memories[i];
        if (!memory.place.is_on_device || memory.bytes == 0 || memory.bytes > most) { continue; }
        const device::Span span = span_of(memory);
        if (memory.place.holds(span)) { found.push_back({i, span}); }
    }
    std::sort(found.begin(), found.end(), [](const Found& one, const Found& other) {
        return one.span.begin < other.span.begin;
    });
    return found;
}

} // namespace

AreasOnHost::AreasOnHost(const std::vector<UserMemory>& memories, const Limits& limits) {
    if (device::driver() == nullptr) { return; }
    try {
        make(memories, limits);
    } catch (const std::bad_alloc&) { areas_.clear(); } catch (const MpiError&) {
        areas_.clear(); // datatypes of which MPI does not tell
    }
}

void AreasOnHost::make(const std::vector<UserMemory>& memories, const Limits& limits) {
    find(memories, limits);
    if (areas_.empty()) { return; }
    on_device_ = memories;
    memory_ = device::HostMemory(areas_.back().offset + areas_.back().span.bytes);
}

void AreasOnHost::find(const std::vector<UserMemory>& memories, const Limits& limits) {
    for (const auto& [message, span] : find_messages(memories, limits.message)) {
        const UserMemory& memory = memories[message];
        const bool is_next =
            !areas_.empty() && device::are_in_one_allocation(areas_.back().place, memory.place) &&
            span.begin - std::min(span.begin, end_of(areas_.back().span)) <= limits.near;
        if (!is_next) { areas_.push_back({memory.place, span, {}}); }
        Area& area = areas_.back();
        area.span.bytes = std::max(end_of(area.span), end_of(span)) - area.span.begin;
        area.messages.push_back(message);
        area.bytes += memory.bytes;
    }
    constexpr uint64_t alignment = 64;
    uint64_t used = 0;
    std::erase_if(areas_, [&](Area& area) {
        const bool is_mostly_theirs = area.span.bytes <= 4 * area.bytes + limits.near;
        used = (used + alignment - 1) / alignment * alignment;
        if (!is_mostly_theirs || area.span.bytes + used > limits.room) { return true; }
        area.offset = used;
        used += area.span.bytes;
        return false;
    });
}

/// The message, if the bytes of the area began there.
UserMemory AreasOnHost::on_host(const Area& area, size_t message, std::byte* begin) const {
    const auto moved = [&](const void* address) {
        const auto offset = reinterpret_cast<uintptr_t>(address) - area.span.begin;
        return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(begin) + offset);
    };
    UserMemory here = on_device_[message];
    here.address = moved(here.address);
    if (here.dense_on_device != nullptr) { here.dense = moved(here.dense_on_device); }
    here.dense_on_device = nullptr;
    here.place = {};
    return here;
}

void AreasOnHost::replace(std::vector<UserMemory>& memories) const {
    for (const Area& area : areas_) {
        for (const size_t message : area.messages) {
            memories[message] = on_host(area, message, at(area));
        }
    }
}

void AreasOnHost::load() const {
    for (const Area& area : areas_) {
        device::Copies copies(area.place);
        memory_.pin(copies, area.place);
        copies.to_host(at(area), area.span.begin, area.span.bytes);
        copies.finish();
    }
}

/// The bytes of messages, in as few runs as possible.
std::vector<device::Span> AreasOnHost::runs_of(const Area& area, MPI_Comm comm) const {
    std::vector<device::Span> all;
    for (const size_t message : area.messages) {
        const UserMemory& memory = on_device_[message];
        if (memory.dense_on_device != nullptr) {
            all.push_back(span_of(memory));
            continue;
        }
        nodeaware::runs_of(memory, comm).for_each([&](uint64_t /*first*/, const device::Span& run) {
            all.push_back(run);
        });
    }
    std::sort(all.begin(), all.end(), [](const device::Span& one, const device::Span& other) {
        return one.begin < other.begin;
    });
    std::vector<device::Span> runs;
    for (const device::Span& run : all) {
        const bool goes_on = !runs.empty() && end_of(runs.back()) >= run.begin;
        if (!goes_on) { runs.push_back(run); }
        runs.back().bytes = std::max(end_of(runs.back()), end_of(run)) - runs.back().begin;
    }
    return runs;
}

void AreasOnHost::store(MPI_Comm comm) const {
    for (const Area& area : areas_) {
        const std::vector<device::Span> runs = runs_of(area, comm);
        device::Copies copies(area.place);
        device::Submission submission;
        memory_.pin(copies, area.place);
        for (const device::Span& run : runs) {
            const auto from = reinterpret_cast<uintptr_t>(at(area)) + (run.begin - area.span.begin);
            submission.add(copies, {device::Direction::to_device, run.begin, from, run.bytes,
                                    area.place.is_for_kernels, area.place.allocation.begin});
        }
        submission.begin(copies);
        copies.finish();
        submission.end();
    }
}

} // namespace nodeaware
