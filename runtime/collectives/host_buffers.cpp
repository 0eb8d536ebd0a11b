#include "runtime/collectives/host_buffers.hpp"

#include "runtime/communicators/self_communicator.hpp"
#include "runtime/memory/device_copy.hpp"

#include <algorithm>

namespace nodeaware {

namespace {

device::Span span_of(const UserMemory& memory) { return span_of(memory, inspect(memory.type)); }

} // namespace

HostBuffers::Copy::Copy(void* buffer, const std::vector<UserMemory>& memories) : buffer_(buffer) {
    uint64_t end = 0;
    for (const UserMemory& memory : memories) {
        if (!memory.place.is_on_device) { return; }
        const device::Span span = span_of(memory);
        if (end == 0 || span.begin < span_.begin) { span_.begin = span.begin; }
        end = std::max(end, span.begin + span.bytes);
    }
    span_.bytes = end - span_.begin;
    if (memories.empty() || !memories.front().place.holds(span_)) { return; }
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(span_.bytes);
    buffer_ = at(reinterpret_cast<uintptr_t>(buffer));
}

void HostBuffers::Copy::load(const std::vector<UserMemory>& memories) {
    device::copy_to_host(memories.front().place, bytes_.get(), span_.begin, span_.bytes);
}

/// Nothing but the bytes of the messages.
void HostBuffers::Copy::store(const std::vector<UserMemory>& memories) {
    for (const UserMemory& memory : memories) {
        UserMemory here = memory;
        here.address = at(reinterpret_cast<uintptr_t>(memory.address));
        here.place = {};
        here.dense_on_device = nullptr;
        std::vector<std::byte> packed(memory.bytes);
        pack_user_memory(here, packed.data(), self_communicator());
        unpack_user_memory(memory, packed.data(), self_communicator());
    }
}

HostBuffers::HostBuffers(const ExchangeArguments& arguments, const Exchange& exchange)
    : exchange_(exchange), sent_(const_cast<void*>(arguments.sent.buffer),
                                 exchange.in_place ? std::vector<UserMemory>() : exchange.outgoing),
      received_(const_cast<void*>(arguments.received.buffer), exchange.incoming) {
    try {
        if (sent_.is_used()) { sent_.load(exchange.outgoing); }
        if (exchange.in_place && received_.is_used()) { received_.load(exchange.outgoing); }
    } catch (const MpiError& failure) { error_ = failure.code; } // the others wait
}

int HostBuffers::finish(int code) {
    if (code != MPI_SUCCESS || !received_.is_used()) { return code != MPI_SUCCESS ? code : error_; }
    try {
        received_.store(exchange_.incoming);
    } catch (const MpiError& failure) { error_ = failure.code; }
    return error_;
}

} // namespace nodeaware
