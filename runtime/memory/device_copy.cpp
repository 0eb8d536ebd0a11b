#include "runtime/memory/device_copy.hpp"

#include "runtime/device/host_memory.hpp"

#include <vector>

namespace nodeaware {

namespace {

/// The same layout over memory of the host, `begin` being where the span begins.
UserMemory on_host(const UserMemory& memory, const device::Span& span, std::byte* begin) {
    UserMemory here = memory;
    const auto offset = reinterpret_cast<uintptr_t>(memory.address) - span.begin;
    here.address = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(begin) + offset);
    here.place = {};
    return here;
}

} // namespace

device::Span span_of(const UserMemory& memory, const Datatype& type) {
    const MPI_Count last = (memory.count - 1) * type.extent;
    const MPI_Count begin = std::min<MPI_Count>(0, last) + type.true_lower_bound;
    const MPI_Count bytes = std::max(last, -last) + type.true_extent;
    return {reinterpret_cast<uintptr_t>(memory.address) + static_cast<uint64_t>(begin),
            static_cast<uint64_t>(bytes)};
}

void pack_from_device(const UserMemory& memory, std::byte* bytes, MPI_Comm comm) {
    const device::Span span = span_of(memory, inspect(memory.type));
    const device::HostMemory values(span.bytes);
    values.pin(memory.place);
    device::copy_to_host(memory.place, values.data(), span.begin, span.bytes);
    pack_user_memory(on_host(memory, span, values.data()), bytes, comm);
}

void unpack_to_device(const UserMemory& memory, const std::byte* bytes, uint64_t size,
                      MPI_Comm comm) {
    const device::Span span = span_of(memory, inspect(memory.type));
    const device::HostMemory values(span.bytes);
    unpack_part(on_host(memory, span, values.data()), bytes, size, comm);
    std::vector<std::byte> marks(span.bytes);
    const std::vector<std::byte> ones(size, std::byte{0xff});
    unpack_part(on_host(memory, span, marks.data()), ones.data(), size, comm);
    device::Copies copies(memory.place);
    values.pin(copies);
    for_each_run(marks, [&](uint64_t begin, uint64_t length) {
        copies.to_device(span.begin + begin, values.data() + begin, length);
    });
    copies.finish();
}

} // namespace nodeaware
