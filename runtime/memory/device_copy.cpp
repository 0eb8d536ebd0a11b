#include "runtime/memory/device_copy.hpp"

#include "runtime/device/host_memory.hpp"
#include "runtime/device/list_kernel.hpp"
#include "runtime/device/submission.hpp"
#include "runtime/job/ranges.hpp"
#include "runtime/memory/kept_runs.hpp"
#include "runtime/memory/type_parts.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace nodeaware {

namespace {

using Direction = device::Direction;

/// The same layout over memory of the host, `begin` being where the span begins.
UserMemory on_host(const UserMemory& memory, const device::Span& span, std::byte* begin) {
    UserMemory here = memory;
    const auto offset = reinterpret_cast<uintptr_t>(memory.address) - span.begin;
    here.address = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(begin) + offset);
    here.place = {};
    return here;
}

/// What is copied while the rank waits passes through pinned memory, so much at a time.
template <class Copy> void for_each_slice(uint64_t bytes, Copy copy) {
    constexpr uint64_t most = 32 << 20;
    for (uint64_t first = 0; first < bytes; first += most) {
        copy(first, std::min(most, bytes - first));
    }
}

/// Memory of the host that devices reach: the given one, or some in its place.
class Stage {
  public:
    Stage(const device::Place& place, const std::byte* bytes, uint64_t size)
        : given_(const_cast<std::byte*>(bytes)) {
        if (device::is_pinned(place, {reinterpret_cast<uintptr_t>(bytes), size})) { return; }
        own_ = device::HostMemory(size);
        own_.pin(place);
    }
    std::byte* data() const { return own_.data() != nullptr ? own_.data() : given_; }
    void copy_from(const std::byte* bytes, uint64_t size) const {
        if (data() != bytes) { std::copy_n(bytes, size, data()); }
    }
    void copy_to(std::byte* bytes, uint64_t size) const {
        if (data() != bytes) { std::copy_n(data(), size, bytes); }
    }

  private:
    std::byte* given_; ///< written to only where it is what was given to be
    device::HostMemory own_;
};

/// So many of them, from the `first`-th byte on, and waits.
void copy_runs(const device::Place& place, Direction direction, const device::Runs& runs,
               uint64_t first, std::byte* bytes, uint64_t size) {
    device::Copies copies(place);
    device::Submission submission;
    device::Runs::Reader reader(runs, first);
    for (uint64_t done = 0; done < size;) {
        const device::Span run = reader.peek(size - done);
        const auto here = reinterpret_cast<uintptr_t>(bytes + done);
        const bool is_to_host = direction == Direction::to_host;
        submission.add(copies,
                       {direction, is_to_host ? here : run.begin, is_to_host ? run.begin : here,
                        run.bytes, place.is_for_kernels, place.allocation.begin});
        reader.take(run.bytes);
        done += run.bytes;
    }
    submission.begin(copies);
    copies.finish();
    submission.end();
}

/// One element of a datatype: where its bytes are, from where it begins.
struct Element {
    MPI_Count extent = 0;
    uint64_t size = 0;
    device::Runs runs;
};

void add_elements(const Element& element, MPI_Count count, uint64_t address, device::Runs& runs) {
    const bool is_row =
        element.runs.count() == 1 && element.extent == static_cast<MPI_Count>(element.size);
    for (MPI_Count i = 0; i < (is_row ? 1 : count); ++i) {
        const uint64_t begin = address + static_cast<uint64_t>(i * element.extent);
        element.runs.for_each([&](uint64_t /*first*/, const device::Span& run) {
            runs.add(begin + run.begin, run.bytes * (is_row ? static_cast<uint64_t>(count) : 1));
        });
    }
}

/// As MPI has it: it puts the numbers of the bytes in their places.
void add_as_unpacked(MPI_Datatype handle, const Datatype& type, MPI_Comm comm, device::Runs& runs) {
    MPI_Datatype kept = keep_datatype(handle); // it need not be committed
    const auto extent = static_cast<size_t>(type.true_extent);
    std::vector<uint64_t> numbers(extent); // from 1 on, by place
    std::vector<std::byte> packed(type.size);
    std::vector<std::byte> places(extent);
    try {
        for (unsigned shift = 0; shift < 64 && (type.size >> shift) > 0; shift += 8) {
            for (size_t i = 0; i < packed.size(); ++i) {
                packed[i] = static_cast<std::byte>((i + 1) >> shift);
            }
            std::fill(places.begin(), places.end(), std::byte{0});
            void* const begin = reinterpret_cast<void*>(reinterpret_cast<intptr_t>(places.data()) -
                                                        type.true_lower_bound);
            unpack_user_memory({begin, 1, kept, type.size}, packed.data(), comm);
            for (size_t i = 0; i < extent; ++i) {
                numbers[i] |= static_cast<uint64_t>(places[i]) << shift;
            }
        }
    } catch (...) {
        mpi.Type_free(&kept);
        throw;
    }
    mpi.Type_free(&kept);
    std::vector<uint64_t> place_of(type.size);
    for (size_t i = 0; i < extent; ++i) {
        if (numbers[i] > 0) { place_of[numbers[i] - 1] = i; }
    }
    for (const uint64_t place : place_of) {
        runs.add(static_cast<uint64_t>(type.true_lower_bound) + place, 1);
    }
}

Element element_of(MPI_Datatype handle, MPI_Comm comm) {
    const Datatype type = inspect(handle);
    Element element{type.extent, type.size, {}};
    if (type.size == 0) { return element; }
    if (type.dense_element) {
        element.runs.add(static_cast<uint64_t>(type.true_lower_bound), type.size);
        return element;
    }
    std::map<MPI_Datatype, Element> elements; // of parts, which are often all alike
    const bool is_known =
        visit_parts(handle, [&](MPI_Datatype part, MPI_Count count, MPI_Count offset) {
            if (count == 0) { return true; } // the datatype may be anything
            auto found = elements.find(part);
            if (found == elements.end()) {
                found = elements.emplace(part, element_of(part, comm)).first;
            }
            add_elements(found->second, count, static_cast<uint64_t>(offset), element.runs);
            return true;
        });
    if (!is_known) { add_as_unpacked(handle, type, comm, element.runs); }
    return element;
}

} // namespace

device::Runs runs_of(const UserMemory& memory, MPI_Comm comm) {
    const auto make = [&] {
        const ranges::Range range("list", "the bytes of a datatype", memory.bytes);
        device::Runs runs;
        add_elements(element_of(memory.type, comm), memory.count, 0, runs);
        return runs;
    };
    const auto address = reinterpret_cast<uintptr_t>(memory.address);
    return kept_runs(memory.type, memory.count, make).at(address);
}

device::Span span_of(const UserMemory& memory, const Datatype& type) {
    const MPI_Count last = (memory.count - 1) * type.extent;
    const MPI_Count begin = std::min<MPI_Count>(0, last) + type.true_lower_bound;
    const MPI_Count bytes = std::max(last, -last) + type.true_extent;
    return {reinterpret_cast<uintptr_t>(memory.address) + static_cast<uint64_t>(begin),
            static_cast<uint64_t>(bytes)};
}

void pack_from_device(const UserMemory& memory, std::byte* bytes, MPI_Comm comm) {
    // One by one they would take longer than all that lies between.
    if (device::list_kernel::is_usable(memory.place)) {
        const device::Runs runs = runs_of(memory, comm);
        return for_each_slice(memory.bytes, [&](uint64_t first, uint64_t size) {
            const Stage stage(memory.place, bytes + first, size);
            copy_runs(memory.place, Direction::to_host, runs, first, stage.data(), size);
            stage.copy_to(bytes + first, size);
        });
    }
    const device::Span span = span_of(memory, inspect(memory.type));
    const device::HostMemory values(span.bytes);
    values.pin(memory.place);
    device::copy_to_host(memory.place, values.data(), span.begin, span.bytes);
    pack_user_memory(on_host(memory, span, values.data()), bytes, comm);
}

void unpack_to_device(const UserMemory& memory, const std::byte* bytes, uint64_t size,
                      MPI_Comm comm) {
    const device::Runs runs = runs_of(memory, comm);
    for_each_slice(size, [&](uint64_t first, uint64_t slice) {
        const Stage stage(memory.place, bytes + first, slice);
        stage.copy_from(bytes + first, slice);
        copy_runs(memory.place, Direction::to_device, runs, first, stage.data(), slice);
    });
}

} // namespace nodeaware
