#include "runtime/memory/device_copy.hpp"

#include <cstring>
#include <vector>

namespace nodeaware {

namespace {

/// What has the layout of a memory, on the host.
class Shadow {
  public:
    Shadow(const UserMemory& memory, const device::Span& span, std::byte filled)
        : bytes_(span.bytes, filled), like_(memory) {
        const auto begin = reinterpret_cast<uintptr_t>(bytes_.data());
        const auto address = reinterpret_cast<uintptr_t>(memory.address);
        like_.address = reinterpret_cast<void*>(begin + (address - span.begin));
        like_.place = {};
    }
    Shadow(const Shadow&) = delete;
    Shadow& operator=(const Shadow&) = delete;

    std::vector<std::byte>& bytes() { return bytes_; }
    const UserMemory& memory() const { return like_; }

  private:
    std::vector<std::byte> bytes_;
    UserMemory like_;
};

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
    Shadow shadow(memory, span, std::byte{0});
    device::copy_to_host(memory.place, shadow.bytes().data(), span.begin, span.bytes);
    pack_user_memory(shadow.memory(), bytes, comm);
}

bool copy_within_device(const UserMemory& from, const UserMemory& to, uint64_t bytes) {
    const bool are_dense = from.dense_on_device != nullptr && to.dense_on_device != nullptr;
    if (!are_dense || !device::are_on_one_device(from.place, to.place)) { return false; }
    device::Copies copies(from.place);
    copies.within_device(reinterpret_cast<uintptr_t>(to.dense_on_device),
                         reinterpret_cast<uintptr_t>(from.dense_on_device), bytes);
    copies.finish();
    return true;
}

void unpack_to_device(const UserMemory& memory, const std::byte* bytes, uint64_t size,
                      MPI_Comm comm) {
    const device::Span span = span_of(memory, inspect(memory.type));
    Shadow values(memory, span, std::byte{0});
    unpack_part(values.memory(), bytes, size, comm);
    Shadow marks(memory, span, std::byte{0});
    const std::vector<std::byte> ones(size, std::byte{0xff});
    unpack_part(marks.memory(), ones.data(), size, comm);
    device::Copies copies(memory.place);
    for_each_run(marks.bytes(), [&](uint64_t begin, uint64_t length) {
        copies.to_device(span.begin + begin, values.bytes().data() + begin, length);
    });
    copies.finish();
}

} // namespace nodeaware
